package subject

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is when the file system last saw a change of a file. It is not the time
// of its content, which whoever writes it may set.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
