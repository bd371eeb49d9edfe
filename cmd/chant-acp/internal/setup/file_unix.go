//go:build unix

package setup

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/chant-acp/chant-acp/internal/durable"
)

// copyOwner gives a new version the owner of the old one where we may: it
// matters when root runs setup for someone else.
func copyOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// syncDir makes a rename outlast a loss of power. The rename itself is done
// when it runs, and some file systems cannot do it, so nothing hangs on it.
func syncDir(dir string) { _ = durable.SyncDir(dir) }
