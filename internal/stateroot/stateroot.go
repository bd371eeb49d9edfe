// Package stateroot says where this user's state is kept: sessions, runs and
// the logs of turns.
//
// [Dir] is that folder, [Check] says why it can't be used, and [Make] makes it.
package stateroot

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Dir returns the state root for an environment, as an absolute path that may
// not exist yet: $CHANT_ACP_STATE, else $XDG_STATE_HOME/chant-acp, else
// ~/.local/state/chant-acp, else a folder of this user's below the temporary
// folder. Relative values are ignored: what they mean depends on where one
// stands.
func Dir(getenv func(string) string) string {
	if dir := getenv("CHANT_ACP_STATE"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "chant-acp")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "chant-acp")
	}
	temp := os.TempDir()
	if _, err := os.Stat(temp); err != nil {
		temp = "/tmp" // a TMPDIR that is not there is not made
	}
	return filepath.Join(temp, fmt.Sprintf("chant-acp-%d", os.Getuid()))
}

// Check says what is wrong with a state root that was asked for. Another in its
// place would not be what was asked for.
func Check(getenv func(string) string) error {
	if dir := getenv("CHANT_ACP_STATE"); dir != "" && !filepath.IsAbs(dir) {
		return fmt.Errorf("CHANT_ACP_STATE is %q: give the state folder as an absolute path", dir)
	}
	return nil
}

// Make creates dir and the folders above it with mode 0700 and checks that dir
// is a real folder of this user that nobody else may enter, and that nobody else
// can exchange a folder above it: below a shared temporary folder somebody else
// may have made it first.
func Make(dir string) error {
	if err := checkAbove(dir); err != nil { // before anything is made behind somebody's link
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the state folder %s: %w", dir, err)
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("checking the state folder: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("the state folder %s is not a real folder: remove it, or set CHANT_ACP_STATE", dir)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("the state folder %s belongs to another user: set CHANT_ACP_STATE to a folder of your own", dir)
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("the state folder %s can be entered by others: %w", dir, err)
		}
	}
	return nil
}

// checkAbove looks at the folders above dir that are there, links followed: each
// has to be this user's or root's, and not open to others, unless it is one like
// /tmp, where nobody can exchange what is somebody else's.
func checkAbove(dir string) error {
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		for _, look := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
			st, err := look(at)
			if err != nil {
				break // not there yet
			}
			sys, ok := st.Sys().(*syscall.Stat_t)
			if ok && sys.Uid != 0 && int(sys.Uid) != os.Getuid() {
				return fmt.Errorf("the state folder %s lies in %s, which belongs to another user: set CHANT_ACP_STATE to a folder of your own", dir, at)
			}
			if !st.IsDir() || st.Mode()&os.ModeSticky != 0 {
				continue
			}
			if st.Mode().Perm()&0o002 != 0 {
				return fmt.Errorf("the state folder %s lies in %s, which everyone may write to: set CHANT_ACP_STATE to a folder of your own", dir, at)
			}
			if ok && st.Mode().Perm()&0o020 != 0 && sys.Gid != 0 && int(sys.Gid) != os.Getegid() {
				return fmt.Errorf("the state folder %s lies in %s, which another group than yours (gid %d) may write to: set CHANT_ACP_STATE to a folder of your own", dir, at, sys.Gid)
			}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
