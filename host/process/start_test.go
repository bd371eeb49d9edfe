package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func write(t *testing.T, path, text string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name string
		spec Spec
		is   error
		says []string
	}{
		{"missing program", Spec{Path: dir + "/nope", Dir: dir}, fs.ErrNotExist, []string{dir + "/nope", "not found"}},
		{"not executable", Spec{Path: write(t, dir+"/plain", "#!/bin/sh\n", 0o644), Dir: dir}, syscall.EACCES, []string{"chmod +x"}},
		{"directory", Spec{Path: dir, Dir: dir}, syscall.EACCES, []string{"is a directory"}},
		{"not a program", Spec{Path: write(t, dir+"/text", "hello\n", 0o755), Dir: dir}, syscall.ENOEXEC, []string{"#!"}},
		{"interpreter missing", Spec{Path: write(t, dir+"/script", "#!/nope/interpreter\n", 0o755), Dir: dir}, syscall.ENOENT, []string{"interpreter"}},
		{"directory missing", Spec{Path: "/bin/true", Dir: dir + "/gone"}, syscall.ENOENT, []string{dir + "/gone", "directory"}},
		{"directory is a file", Spec{Path: "/bin/true", Dir: dir + "/plain"}, syscall.ENOTDIR, []string{dir + "/plain"}},
		{"too many arguments", Spec{Path: "/bin/true", Dir: dir, Argv: []string{"true", strings.Repeat("x", 1<<20)}}, syscall.E2BIG, []string{"1048"}},
		{"NUL in an argument", Spec{Path: "/bin/true", Dir: dir, Argv: []string{"true", "a\x00b"}}, syscall.EINVAL, []string{"NUL"}},
		{"relative path", Spec{Path: "true", Dir: dir}, nil, []string{"not absolute"}},
		{"relative directory", Spec{Path: "/bin/true", Dir: "x"}, nil, []string{"absolute"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Start(t.Context(), test.spec)
			if err == nil {
				p.Wait()
				t.Fatal("it was started")
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"a", "b", "work/tool", "b/folder"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir+"/b/tool", "#!/bin/sh\n", 0o755)
	write(t, dir+"/a/tool", "text", 0o644)
	write(t, dir+"/a/locked", "text", 0o644)
	write(t, dir+"/work/here", "#!/bin/sh\n", 0o755)
	path := "PATH=" + dir + "/a:" + dir + "/b"
	tests := []struct {
		name, program string
		env           []string
		want          string // empty: an error
		says          string
	}{
		{"first that can be executed", "tool", []string{path}, dir + "/b/tool", ""},
		{"last PATH counts", "tool", []string{"PATH=/nope", path}, dir + "/b/tool", ""},
		{"relative to the directory", "./here", nil, dir + "/work/here", ""},
		{"relative, up", "../b/tool", nil, dir + "/b/tool", ""},
		{"absolute", dir + "/b/tool", nil, dir + "/b/tool", ""},
		{"not in PATH", "nope", []string{path}, "", dir + "/a:" + dir + "/b"},
		{"no PATH", "tool", nil, "", "PATH is not set"},
		{"empty PATH", "tool", []string{"PATH="}, "", "PATH is empty"},
		{"permission", "locked", []string{path}, "", "chmod +x"},
		{"relative entry", "here", []string{"PATH=.:/nope"}, "", "relative PATH entry"},
		{"empty entry", "here", []string{"PATH=:/nope"}, "", "relative PATH entry"},
		{"folder in PATH is no program", "folder", []string{path}, "", "not found in PATH"},
		{"entry that is a file", "tool", []string{"PATH=" + dir + "/a/tool"}, "", "not found in PATH"},
		{"file missing", "./nope", nil, "", dir + "/work/nope"},
		{"file is a folder", "./tool", nil, "", "not an executable file"},
		{"no name", "", []string{path}, "", "not found"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := LookPath(test.program, dir+"/work", test.env)
			if got != test.want {
				t.Errorf("found %q, want %q (%v)", got, test.want, err)
			}
			if test.want != "" {
				return
			}
			var notFound *NotFoundError
			if !errors.As(err, &notFound) {
				t.Fatalf("error %v", err)
			}
			if notFound.Name != test.program || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%q does not say %q", err, test.says)
			}
			if denied := len(notFound.Denied) > 0; denied != errors.Is(err, fs.ErrPermission) || denied == errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is of the wrong kind", err)
			}
		})
	}
}

// Programs that start at the same moment inherit nothing of each other, not even until they have
// closed it: no output seems to be held.
func TestOutputsOfManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	var held atomic.Int32
	for range 500 {
		all.Go(func() {
			p, err := Start(t.Context(), Spec{Path: "/bin/echo", Argv: []string{"echo", "x"}, Dir: "/", Env: os.Environ()})
			if err != nil {
				t.Error(err)
				return
			}
			if p.Wait().HeldOutput {
				held.Add(1)
			}
		})
	}
	all.Wait()
	if n := held.Load(); n > 0 {
		t.Errorf("%d outputs are said to be held", n)
	}
}

// A limit on descriptors is named as what it is, whichever of the things that need one comes first.
func TestNoDescriptorLeft(t *testing.T) {
	for _, scripts := range []string{"few:echo up", "echo up\nfew:echo up"} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), agentVar+"="+scripts)
		out, err := cmd.Output()
		if err == nil {
			t.Error("it ended well")
		}
		if said := string(out); !strings.Contains(said, "descriptors open; raise that limit (ulimit -n)") || strings.Contains(said, "/proc mounted") {
			t.Errorf("%q: it said %q", scripts, said)
		}
	}
}

// A program has one token, its own: readers of an environment differ in which of two they take.
func TestAnInheritedTokenIsStripped(t *testing.T) {
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	out := new(printed)
	p, _ := launch(t, Spec{Path: env, Dir: "/", Env: []string{TokenVar + "=theirs.1", "A=1", TokenVar + "=", TokenVar + "X=2"}, Output: out.take})
	p.Wait()
	if want := "A=1\n" + TokenVar + "X=2\n" + TokenVar + "=" + p.token() + "\n"; out.String() != want {
		t.Errorf("it got %q, want %q", out, want)
	}
}
