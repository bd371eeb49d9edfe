package acpd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Task is what chant-acpd does for chant-acp as a child.
type Task struct {
	word string // on its command line
	does string // for people who do not have it
}

// The tasks. What goes over standard input and output, the packages that ask for
// them say: host/op/eval, host/local/httpask and runtime/person.
var (
	Evaluate = Task{"evaluate", "evaluates *.op.ts"}
	Request  = Task{"request", "makes the requests of HTTP steps"}
	Vouch    = Task{"vouch", "vouches for the agents of a person's gateway"}
)

// The first arguments of a chant-acpd that chant-acp starts: the version that is
// wanted, and the path of the chant-acp that becomes it.
const (
	flagFor = "--for="
	flagBy  = "--by="
)

// Command is chant-acpd for one task, as the leader of a process group. environ is
// its whole environment. The error is a [*MissingError].
func Command(t Task, environ []string) (*exec.Cmd, error) {
	path, err := find(t.does)
	if err != nil {
		return nil, err
	}
	environ = slices.Clip(environ)
	if endsAtOnce != "" {
		environ = append(environ, endsAtOnce)
	}
	return &exec.Cmd{
		Path:        path,
		Args:        []string{path, flagFor + Version, t.word},
		Env:         environ,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, nil
}

// Become makes this process chant-acpd with these arguments. command is the one of
// them that only chant-acpd has. It returns only where that fails.
func Become(command string, args []string) error {
	path, err := find("has the command " + command)
	if err != nil {
		return err
	}
	self, err := called()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	err = syscall.Exec(path, slices.Concat([]string{path, flagFor + Version, flagBy + self}, args), os.Environ())
	return fmt.Errorf("%s can't be started: %w", path, err)
}

// called is the absolute path of this program, under the name by which it was
// called: that of a link stays good when what it leads to is replaced.
func called() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return filepath.Abs(path)
	}
	return os.Executable()
}

// A Call is what a chant-acpd was started for.
type Call struct {
	Args []string // the arguments, without those that are between the two
	by   string   // the chant-acp that became it
}

// Called reads the command line of a chant-acpd, os.Args[1:]. The error is that
// another version of chant-acp started it.
func Called(args []string) (Call, error) {
	c := Call{Args: args}
	version, ok := c.take(flagFor)
	if ok && version != Version {
		self, _ := os.Executable() // "" leaves a sentence that is good enough
		return c, fmt.Errorf("chant-acp %s started chant-acpd %s (%s): both have to be of one version; to get both: %s. A chant-acp that runs has to be started anew", version, Version, self, install())
	}
	c.by, _ = c.take(flagBy)
	return c, nil
}

// take removes the first argument, should it be this flag.
func (c *Call) take(flag string) (value string, ok bool) {
	if len(c.Args) == 0 || !strings.HasPrefix(c.Args[0], flag) {
		return "", false
	}
	value = strings.TrimPrefix(c.Args[0], flag)
	c.Args = c.Args[1:]
	return value, true
}

// Is says whether this is a call for a task.
func (c Call) Is(t Task) bool { return len(c.Args) == 1 && c.Args[0] == t.word }

// ByAgent says whether chant-acp became this process, so that the person who waits
// for it knows it by that name.
func (c Call) ByAgent() bool { return c.by != "" }

// WrongVersion is the exit code of a chant-acpd that another version of chant-acp
// started. The reason is on its standard error.
const WrongVersion = 5

// Environ is this process's environment without what [Command] added.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return endsAtOnce != "" && v == endsAtOnce })
}
