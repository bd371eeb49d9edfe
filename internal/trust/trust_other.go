//go:build !unix

package trust

import "io/fs"

// OpenNonblock is nothing here.
const OpenNonblock = 0

// Reason finds none: owners and modes mean nothing here; the file system's access lists decide.
func Reason(string, fs.FileInfo) string { return "" }

// SameFileSystem cannot tell, and says yes.
func SameFileSystem(fs.FileInfo, fs.FileInfo) bool { return true }
