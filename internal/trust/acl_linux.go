package trust

import "syscall"

// accessList is the access list of a file, in the kernel's form; nothing where it
// has none, or its file system knows none.
func accessList(path string) []byte {
	const attribute = "system.posix_acl_access"
	var list []byte
	n, err := syscall.Getxattr(path, attribute, nil)
	if err == nil {
		list = make([]byte, n)
		n, err = syscall.Getxattr(path, attribute, list)
	}
	switch err {
	case nil:
		return list[:n]
	case syscall.ENODATA, syscall.ENOTSUP, syscall.ENOSYS:
		return nil
	}
	return []byte{0} // one that can't be read
}
