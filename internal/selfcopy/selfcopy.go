// Package selfcopy starts the running executable once more, as a process that
// does one thing for it.
//
// What such a copy does is in a package of its own, which asks [Is] in its init
// function and does not return. The program that starts copies then need not
// import, and initialise, what only they use.
package selfcopy

import (
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// variable holds what the last argument of a copy is, so that nobody becomes one
// by chance.
const variable = "CHANT_ACP_COPY"

// Command is a copy of the given name, which people see in ps. It is to be the
// leader of a process group; environ is its whole environment.
func Command(name string, environ []string) *exec.Cmd {
	nonce := rand.Text()
	return &exec.Cmd{
		Path:        "/proc/self/exe", // even where the file was replaced since
		Args:        []string{name, nonce},
		Env:         append(environ[:len(environ):len(environ)], variable+"="+nonce),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
}

// Any says whether this process is a copy.
func Any() bool {
	return len(os.Args) == 2 && os.Args[1] != "" && os.Getenv(variable) == os.Args[1]
}

// Is says whether this process is a copy of that name.
func Is(name string) bool { return Any() && os.Args[0] == name }

// Environ is the environment without what makes a process a copy.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, variable+"=") })
}
