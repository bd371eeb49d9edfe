//go:build !linux

package subject

import (
	"io/fs"
	"time"
)

// changed is the time of a file's content.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
