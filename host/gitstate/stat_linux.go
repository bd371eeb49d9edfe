package gitstate

import (
	"io/fs"
	"syscall"
)

// statOf is what the index would hold of a file.
func statOf(info fs.FileInfo) (stat [statFields]uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat, false
	}
	csec, cnsec := st.Ctim.Unix()
	msec, mnsec := st.Mtim.Unix()
	stat[ctimeSeconds], stat[ctimeNanoseconds] = uint32(csec), uint32(cnsec)
	stat[mtimeSeconds], stat[mtimeNanoseconds] = uint32(msec), uint32(mnsec)
	stat[device], stat[inode] = uint32(st.Dev), uint32(st.Ino)
	stat[user], stat[group], stat[size] = st.Uid, st.Gid, uint32(st.Size)
	return stat, true
}
