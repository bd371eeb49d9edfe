package trust

import (
	"encoding/binary"
	"fmt"
	"os"
)

// The form of an access list as the kernel gives it (acl(5); the attribute
// system.posix_acl_access, linux/posix_acl_xattr.h): a version of four bytes, then
// entries of a tag and permissions, two bytes each, and an id of four.
const (
	aclVersion  = 2
	aclUser     = 0x02 // a user who is named
	aclGroup    = 0x08 // a group that is named
	aclMayWrite = 2
)

// writerNamed is a user or group that an access list names and lets write, other
// than this process's and root; "" for none.
func writerNamed(list []byte) string {
	if len(list) == 0 {
		return ""
	}
	if len(list) < 4 || binary.LittleEndian.Uint32(list) != aclVersion || len(list)%8 != 4 {
		return "it can't be read who"
	}
	for entry := list[4:]; len(entry) > 0; entry = entry[8:] {
		tag, may, id := binary.LittleEndian.Uint16(entry), binary.LittleEndian.Uint16(entry[2:]), binary.LittleEndian.Uint32(entry[4:])
		switch {
		case may&aclMayWrite == 0:
		case tag == aclUser && id != 0 && id != uint32(os.Geteuid()):
			return fmt.Sprintf("uid %d", id)
		case tag == aclGroup && id != uint32(os.Getegid()):
			return fmt.Sprintf("gid %d", id)
		}
	}
	return ""
}
