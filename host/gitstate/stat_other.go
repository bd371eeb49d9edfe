//go:build !linux

package gitstate

import "io/fs"

// statOf knows nothing: contents are compared.
func statOf(fs.FileInfo) (stat [statFields]uint32, ok bool) { return stat, false }
