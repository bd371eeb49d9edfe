package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/just"
	"github.com/chant-acp/chant-acp/host/process"
)

const (
	// dumpTime is how long just may take to print what is in its file.
	dumpTime = 10 * time.Second
	// maxDump bounds what it prints, in bytes.
	maxDump = 64 << 20
)

func listJust(ctx context.Context, r *reader, file string, _ []string) (*source.Listing, error) {
	if err := r.justfile(file); err != nil {
		return nil, err
	}
	dump, err := r.dump(ctx)
	if err != nil {
		return nil, err
	}
	return just.Parse(dump, file)
}

// justfile reads a justfile and all that it takes in, so that they are known.
func (r *reader) justfile(name string) error {
	text, err := r.read(name)
	if err != nil {
		return err
	}
	if len(r.files) > maxIncluded {
		return fmt.Errorf("it consists of more than %d files", maxIncluded)
	}
	included, err := just.Includes(text)
	if err != nil {
		return err
	}
	for _, inc := range included {
		next, err := r.locate(path.Dir(name), inc)
		if err != nil {
			return err
		}
		if next == "" || slices.Contains(r.files, path.Clean(next)) {
			continue
		}
		if err := r.justfile(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// locate finds the file that an import or a module names; "" where there is none yet.
// just looks for the module foo as foo.just, foo/mod.just, foo/justfile and
// foo/.justfile, and in a folder that is named as a module's path likewise ("Modules"
// in just's manual).
func (r *reader) locate(dir string, inc just.Include) (string, error) {
	name := path.Join(dir, inc.Path)
	if path.IsAbs(inc.Path) {
		return "", fmt.Errorf("it takes in a file outside of the project: %s", inc.Path)
	}
	if inc.Module == "" {
		return name, nil
	}
	if inc.Path == "" {
		name = path.Join(dir, inc.Module)
		if file := name + ".just"; r.exists(file) {
			return file, nil
		}
		r.watch(path.Clean(dir)) // where <module>.just may come to be
	}
	if !r.isFolder(name) {
		r.watch(name)
		return name, nil
	}
	r.watch(name)
	entries, err := os.ReadDir(filepath.Join(r.root, filepath.FromSlash(name)))
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", name, err)
	}
	for _, want := range append([]string{"mod.just"}, just.Files...) {
		for _, e := range entries {
			if e.Name() == want || want != "mod.just" && strings.EqualFold(e.Name(), want) {
				return path.Join(name, e.Name()), nil
			}
		}
	}
	return "", nil
}

func (r *reader) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(r.root, filepath.FromSlash(name)))
	return filepath.IsLocal(filepath.FromSlash(name)) && err == nil
}

// dump asks just what is in the file of the root.
func (r *reader) dump(ctx context.Context) ([]byte, error) {
	program, err := process.LookPath("just", r.root, r.env)
	if err != nil {
		return nil, errors.New("just, which reads it, is not installed")
	}
	if below, err := filepath.Rel(r.root, program); err == nil && filepath.IsLocal(below) {
		return nil, fmt.Errorf("%s is a program of the project itself, which would run before it is allowed", below)
	}
	var out, stderr bytes.Buffer
	bounded := func(b *bytes.Buffer, most int) func([]byte) {
		return func(p []byte) { b.Write(p[:min(len(p), max(0, most-b.Len()))]) }
	}
	p, err := process.Start(ctx, process.Spec{
		Path: program, Argv: append([]string{"just"}, just.DumpArgs...), Dir: filepath.Join(r.root, filepath.FromSlash(r.dir)), Env: r.env, Timeout: dumpTime,
		Output: bounded(&out, maxDump+1), Errors: bounded(&stderr, 4<<10),
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { p.Stop(process.Cancelled) })
	defer stop()
	exit := p.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case exit.Cause == process.TimedOut:
		return nil, fmt.Errorf("just did not print what is in it within %s", dumpTime)
	case exit.Err != nil:
		return nil, exit.Err
	case exit.Code != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("just can't read it: %s", first)
	case out.Len() > maxDump:
		return nil, fmt.Errorf("just prints more than %d MiB of it", maxDump>>20)
	}
	return out.Bytes(), nil
}
