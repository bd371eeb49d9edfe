package trust_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/trust"
)

func TestReason(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look := func() fs.FileInfo {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if r := trust.Reason(name, look()); r != "" {
		t.Errorf("a file of our own: %s", r)
	}
	if !trust.SameFileSystem(look(), look()) {
		t.Error("a file lies on another file system than itself")
	}
	if err := os.Chmod(name, 0o602); err != nil {
		t.Fatal(err)
	}
	if r := trust.Reason(name, look()); !strings.Contains(r, "everyone may write") {
		t.Errorf("a file that everyone may write to: %q", r)
	}
	if err := os.Chmod(name, 0o660); err != nil {
		t.Fatal(err)
	}
	if r := trust.Reason(name, look()); r != "" {
		t.Errorf("a file that our own group may write to: %s", r)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(name, -1, 12345); err != nil {
			t.Fatal(err)
		}
		if r := trust.Reason(name, look()); !strings.Contains(r, "gid 12345") {
			t.Errorf("a file that another group may write to: %q", r)
		}
		if err := os.Chmod(name, 0o640); err != nil {
			t.Fatal(err)
		}
		if r := trust.Reason(name, look()); r != "" {
			t.Errorf("a file that another group may read: %s", r)
		}
		if err := os.Chown(name, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if r := trust.Reason(name, look()); !strings.Contains(r, "uid 12345") {
			t.Errorf("another user's file: %q", r)
		}
	}
}
