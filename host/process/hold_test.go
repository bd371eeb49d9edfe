package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/internal/testenv"
)

// awaitLock waits until nobody holds the lock.
func awaitLock(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan error, 1)
	go func() {
		defer f.Close()
		_, err := retry(func() (int, error) { return 0, unix.Flock(int(f.Fd()), unix.LOCK_EX) })
		free <- err
	}()
	select {
	case err := <-free:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(testenv.Hang):
		t.Fatal("somebody holds the lock still")
	}
}

// A lock that the guard holds too ends after the last program, not with the process that took it.
func TestHeldUntilNothingIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	t.Setenv(holdVar, path)
	mark := tree(t)
	a := startAgent(t, mark, "trap '' TERM; setsid sleep 999 & echo up; while :; do sleep 999; done", 1)
	a.end(killOne)
	awaitLock(t, path)
	if left := alive(mark); len(left) > 0 {
		left.release()
		t.Errorf("the lock is free and %d processes live", len(left))
	}
}

func TestHeldByANewGuardToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	t.Setenv(holdVar, path)
	mark := tree(t)
	a := startAgent(t, mark, "echo up; exec sleep 999\nlater:trap '' TERM; echo second; while :; do sleep 998; done", 1)
	killGuard(t, guardPID(t, a.cmd.Process.Pid))
	if _, err := a.stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	a.out.await(t, "second")
	a.end(killOne)
	awaitLock(t, path)
	if left := alive(mark); len(left) > 0 {
		left.release()
		t.Errorf("the lock is free and %d processes live", len(left))
	}
}

func TestReleaseClosesTheGuardsCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	release, err := Hold(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	release()
	release()
	f.Close()
	awaitLock(t, path)
}

func TestErrorsHaveAPipeOfTheirOwn(t *testing.T) {
	spec, errs := shell("echo out; echo err >&2; head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 4"), 0
	out := 0
	spec.Output = func(p []byte) { out += len(p) }
	spec.Errors = func(p []byte) { errs += len(p) }
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if x := p.Wait(); x.Code != 4 || x.Err != nil || x.HeldOutput || out != 3000004 || errs != 2000004 {
		t.Errorf("%+v with %d and %d bytes", x, out, errs)
	}
}

func TestAPanicOverErrorsEndsTheProgram(t *testing.T) {
	spec := shell("echo err >&2; exec sleep 999")
	spec.Output, spec.Errors = func([]byte) {}, func([]byte) { panic("no") }
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if x := p.Wait(); x.Cause != Aborted || x.Err == nil {
		t.Errorf("%+v", x)
	}
}
