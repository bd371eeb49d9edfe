package configcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/google/shlex"
	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/runtime/config"
)

func newConfigEdit(std console.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "edit",
		Short: "Open the configuration in your editor",
		Long: `Edit opens a copy of the file with $VISUAL, else $EDITOR, else vi. The variable is
split into words like a command line, without a shell. When the editor has ended
well and the result can be used, it takes the place of the file. Else the file
stays as it was, and the copy stays, too, and is named.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path, err := writablePath()
			if err == nil {
				err = editConfig(std, path)
			}
			return err
		},
	}
}

func editConfig(std console.Streams, path string) error {
	editor, err := editorCommand()
	if err != nil {
		return console.Exit(console.Usage, err)
	}
	before, err := os.ReadFile(path) // also a broken file: this command is how it is repaired
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return console.Exit(console.Failed, fmt.Errorf("the configuration can't be read: %w", err))
	}
	e := edit{path: path, before: before, start: before}
	if len(bytes.TrimSpace(before)) == 0 {
		e.start = []byte("{\n  \"version\": 1\n}\n")
	}
	if err := e.copyOut(); err != nil {
		return console.Exit(console.Failed, err)
	}
	if err := runEditor(std, append(editor, e.copy)); err != nil {
		return console.Exit(console.Failed, e.kept(fmt.Errorf("the editor %s failed: %w", command.Quote(editor), err)))
	}
	if err := e.takeOver(std); err != nil {
		return console.Exit(console.Failed, err)
	}
	return nil
}

// editorCommand is the program and the arguments that the user's variables name.
func editorCommand() ([]string, error) {
	for _, variable := range []string{"VISUAL", "EDITOR"} {
		text := os.Getenv(variable)
		if text == "" {
			continue
		}
		words, err := shlex.Split(text)
		if err != nil {
			return nil, fmt.Errorf("%s can't be split into a program and its arguments: %w", variable, err)
		}
		if len(words) > 0 {
			return words, nil
		}
	}
	return []string{"vi"}, nil
}

// edit is a copy of the configuration that a person edits.
type edit struct {
	path, copy    string
	before, start []byte // of the file, and of the copy
}

// copyOut makes the copy, beside the file and named like it, so that the editor
// takes it for what it is.
func (e *edit) copyOut() error {
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return fmt.Errorf("making the folder of the configuration: %w", err)
	}
	ext := filepath.Ext(e.path)
	e.copy = fmt.Sprintf("%s.edit-%08x%s", e.path[:len(e.path)-len(ext)], rand.Uint32(), ext)
	f, err := os.OpenFile(e.copy, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making a copy to edit: %w", err)
	}
	_, err = f.Write(e.start)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(e.copy)
		return fmt.Errorf("making a copy to edit: %w", err)
	}
	return nil
}

// kept says that the copy stays, where it is worth keeping.
func (e *edit) kept(why error) error {
	if now, err := os.ReadFile(e.copy); err == nil && bytes.Equal(now, e.start) {
		_ = os.Remove(e.copy)
		return fmt.Errorf("%w\nNothing was changed", why)
	}
	return fmt.Errorf("%w\n%s was not changed; the edit is in %s", why, e.path, e.copy)
}

// takeOver puts the edited copy in the file's place, if it can be used.
func (e *edit) takeOver(std console.Streams) error {
	text, err := os.ReadFile(e.copy)
	if err != nil {
		return fmt.Errorf("the edit can't be read, and nothing was changed: %w", err)
	}
	if bytes.Equal(text, e.start) {
		_ = os.Remove(e.copy)
		fmt.Fprintln(std.Out, "Nothing was changed.")
		return nil
	}
	d, err := config.Parse(e.copy, text)
	if err != nil {
		return e.kept(err)
	}
	var wrong []error
	for _, p := range d.Check() {
		if p.Advice {
			fmt.Fprintln(std.Err, "chant-acp: warning:", console.Printable(p.String()))
		} else {
			wrong = append(wrong, errors.New(p.String()))
		}
	}
	if len(wrong) > 0 {
		return e.kept(errors.Join(wrong...))
	}
	if err := config.Replace(e.path, e.before, text); err != nil {
		return e.kept(err)
	}
	_ = os.Remove(e.copy)
	fmt.Fprintln(std.Out, "Saved", e.path)
	return nil
}

// runEditor runs the editor on this process's terminal. An interrupt is the
// editor's: it is caught here, and not ignored, which the editor would inherit.
func runEditor(std console.Streams, argv []string) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(interrupts)
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = std.In, std.Out.File, std.Err
	return c.Run()
}
