package trust_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/internal/trust"
)

// Tags of entries, see acl(5).
const (
	owner, user, ownerGroup, group, mask, others = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
	none                                         = 1<<32 - 1 // the id of an entry that names nobody
)

// acl is an access list in the kernel's form: of tags, permissions and ids.
func acl(entries ...[3]uint32) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

func TestReasonOfAccessLists(t *testing.T) {
	const rw, r, stranger = 6, 4, 12345
	for name, c := range map[string]struct {
		list []byte
		says string
	}{
		"a user":            {acl([3]uint32{owner, rw, none}, [3]uint32{user, rw, stranger}, [3]uint32{ownerGroup, r, none}, [3]uint32{mask, rw, none}, [3]uint32{others, r, none}), "uid 12345"},
		"a group":           {acl([3]uint32{owner, rw, none}, [3]uint32{ownerGroup, r, none}, [3]uint32{group, rw, stranger}, [3]uint32{mask, rw, none}, [3]uint32{others, r, none}), "gid 12345"},
		"a masked user":     {acl([3]uint32{owner, rw, none}, [3]uint32{user, rw, stranger}, [3]uint32{ownerGroup, r, none}, [3]uint32{mask, r, none}, [3]uint32{others, r, none}), ""},
		"a user who reads":  {acl([3]uint32{owner, rw, none}, [3]uint32{user, r, stranger}, [3]uint32{ownerGroup, rw, none}, [3]uint32{mask, rw, none}, [3]uint32{others, r, none}), ""},
		"oneself, and root": {acl([3]uint32{owner, rw, none}, [3]uint32{user, rw, 0}, [3]uint32{ownerGroup, r, none}, [3]uint32{group, rw, uint32(os.Getegid())}, [3]uint32{mask, rw, none}, [3]uint32{others, r, none}), ""},
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setxattr(file, "system.posix_acl_access", c.list, 0); err != nil {
			t.Skip("no access lists here: ", err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := trust.Reason(file, info); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
