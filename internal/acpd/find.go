package acpd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
)

// Version is the version of this source, and of both executables.
const Version = "0.1.0"

const (
	name  = "chant-acpd"
	agent = "chant-acp"

	// Variable is the variable of the environment that may hold the path of
	// chant-acpd.
	Variable = "CHANT_ACPD"
)

// MissingError says that chant-acpd was not found.
type MissingError struct {
	does string // the task that needs chant-acpd
	why  error  // what is wrong with CHANT_ACPD; nil where it is not set
}

// Error is one line: what is missing, where it was looked for, how to get it.
func (e *MissingError) Error() string {
	where := "it is neither beside chant-acp, nor named by " + Variable + ", nor on PATH"
	if e.why != nil {
		where = fmt.Sprintf("it is not beside chant-acp, and what %s names can't be started: %v", Variable, e.why)
	}
	return fmt.Sprintf("%s, which %s, is missing: %s; to get it: %s", name, e.does, where, install())
}

// install is the command that installs both executables.
func install() string {
	const module = "github.com/chant-acp/chant-acp"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == module && info.Main.Version == "v"+Version {
		return "go install " + module + "/cmd/...@v" + Version
	}
	return "go install ./cmd/... in a clone of " + module
}

// find returns the path of chant-acpd: beside this executable, else what CHANT_ACPD
// says, else on PATH. does is what it is wanted for.
func find(does string) (string, error) {
	if path, ok := beside(name); ok {
		return path, nil
	}
	if path := os.Getenv(Variable); path != "" {
		err := executable(path)
		if err == nil && !filepath.IsAbs(path) {
			err = fmt.Errorf("%s is no absolute path", path)
		}
		if err != nil {
			return "", &MissingError{does, err}
		}
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil || !filepath.IsAbs(path) {
		return "", &MissingError{does: does}
	}
	return path, nil
}

// beside looks for an executable in the folder of this one.
func beside(name string) (path string, ok bool) {
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	path = filepath.Join(filepath.Dir(self), name)
	return path, executable(path) == nil
}

func executable(path string) error {
	st, err := os.Stat(path)
	if err == nil && (!st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0) {
		err = fmt.Errorf("%s is no program", path)
	}
	return err
}

// Agent returns the path of chant-acp: the one that became this process, else the
// one beside it, else on PATH.
func (c Call) Agent() (string, error) {
	if c.by != "" {
		return c.by, nil
	}
	if path, ok := beside(agent); ok {
		return path, nil
	}
	path, err := exec.LookPath(agent)
	if err != nil || !filepath.IsAbs(path) {
		return "", errors.New("chant-acp is neither beside chant-acpd nor on PATH; to get it: " + install())
	}
	return path, nil
}
