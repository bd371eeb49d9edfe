package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host/process"
)

// treeWait bounds how long git may look at the tree: what it says is recorded and
// decides nothing.
const treeWait = 2 * time.Second

// lookAtTree asks git for the commit, and whether the tree holds more than that.
// The function that it returns waits for the answer; "" and nil are for no
// repository, no git, and one that takes too long.
func (rt *Runtime) lookAtTree(ctx context.Context) func() (commit string, clean *bool) {
	if !inRepository(rt.o.Root) {
		return func() (string, *bool) { return "", nil }
	}
	env := newEnviron(rt.o.Environ(false))
	env.add("GIT_OPTIONAL_LOCKS=0") // to look changes nothing
	path, err := process.LookPath("git", rt.o.Root, env.list)
	if err != nil {
		return func() (string, *bool) { return "", nil }
	}
	var out capture
	git, err := process.Start(ctx, process.Spec{
		Path: path, Argv: []string{"git", "status", "--porcelain=v2", "--branch"}, Dir: rt.o.Root, Env: env.list,
		Timeout: treeWait, Output: func(b []byte) { _, _ = out.Write(b) },
	})
	if err != nil {
		return func() (string, *bool) { return "", nil }
	}
	untold := whenDone(ctx, func() { git.Stop(process.Cancelled) })
	return func() (commit string, clean *bool) {
		defer untold()
		if exit := git.Wait(); exit.Code != 0 {
			return "", nil
		}
		return parseStatus(out.String())
	}
}

func parseStatus(text string) (commit string, clean *bool) {
	nothing := true
	for line := range strings.Lines(text) {
		if oid, ok := strings.CutPrefix(strings.TrimSpace(line), "# branch.oid "); ok && oid != "(initial)" {
			commit = oid
		}
		nothing = nothing && strings.HasPrefix(line, "#")
	}
	return commit, &nothing
}

func inRepository(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
