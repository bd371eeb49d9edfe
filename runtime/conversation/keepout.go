package conversation

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chant-acp/chant-acp/internal/durable"
)

// KeepOut keeps what is in a workspace's own folder out of version control. What
// is there in place of our .gitignore came with the workspace, and does not count.
func KeepOut(dir string) error {
	const all = "*\n"
	path := filepath.Join(dir, ".gitignore")
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		if text, err := durable.Read(path, int64(len(all))); err == nil && string(text) == all {
			return nil
		}
	}
	if err := durable.Write(path, []byte(all)); err != nil {
		return fmt.Errorf("keeping the workspace's folder out of version control: %w", err)
	}
	return nil
}
