//go:build unix

package trust

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenNonblock opens without waiting, so that a pipe under the name of a file
// holds nobody.
const OpenNonblock = syscall.O_NONBLOCK

// Reason says why something in the file system must not decide what runs:
// another user could have put it there. "" means that it may. info is what path is
// after links.
func Reason(path string, info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "its owner cannot be told"
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("it belongs to another user (uid %d); take it over with chown if it is meant to be yours", st.Uid)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return "everyone may write to it; run chmod o-w on it if it is meant to be used"
	}
	if info.Mode().Perm()&0o020 == 0 {
		return "" // this is the mask of an access list, too: nobody whom it names may write
	}
	// Where each user has a group of their own, files are often writable by it.
	if int(st.Gid) != os.Getegid() {
		return fmt.Sprintf("another group than yours (gid %d) may write to it; run chmod g-w on it if it is meant to be used", st.Gid)
	}
	if other := writerNamed(accessList(path)); other != "" {
		return fmt.Sprintf("an access list lets another one (%s) write to it; run setfacl -b on it if it is meant to be used", other)
	}
	return ""
}

// SameFileSystem says whether both lie on one file system.
func SameFileSystem(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && x.Dev == y.Dev
}
