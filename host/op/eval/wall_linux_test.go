package eval_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/op/eval"
)

// wallVariable holds what a copy of this test binary tries to do behind the wall:
// a folder in which it may read, and one in which it may not.
const wallVariable = "CHANT_ACP_TEST_WALL"

// tryWall prints what can be done behind the wall, on several threads.
func tryWall(folders string) {
	inside, outside, _ := strings.Cut(folders, ":")
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		all.Go(func() {
			tries := map[string]error{}
			_, tries["read inside"] = os.ReadFile(filepath.Join(inside, "f"))
			_, tries["list inside"] = os.ReadDir(inside)
			_, tries["read outside"] = os.ReadFile(filepath.Join(outside, "f"))
			_, tries["list outside"] = os.ReadDir(outside)
			_, tries["read the password file"] = os.ReadFile("/etc/passwd")
			_, tries["read an environment"] = os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
			tries["write inside"] = os.WriteFile(filepath.Join(inside, "new"), nil, 0o600)
			tries["write a file inside"] = os.WriteFile(filepath.Join(inside, "f"), nil, 0o600)
			tries["remove inside"] = os.Remove(filepath.Join(inside, "f"))
			tries["run a program"] = exec.Command("/bin/true").Run()
			_, tries["connect"] = net.Dial("tcp", "127.0.0.1:9")
			tries["signal"] = unix.Kill(os.Getppid(), 0)
			mu.Lock()
			defer mu.Unlock()
			for what, err := range tries {
				fmt.Printf("%s: %v\n", what, err == nil)
			}
		})
	}
	all.Wait()
}

func TestWall(t *testing.T) {
	if !strings.HasPrefix(eval.Walls(), "files: Landlock") {
		t.Skipf("this kernel has no Landlock: %s", eval.Walls())
	}
	inside, outside := project(t, map[string]string{"f": "x"}), project(t, map[string]string{"f": "x"})
	cmd := exec.Command("/proc/self/exe")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Stdin = strings.NewReader("") // what is nil is opened by the thread that may not
	cmd.Env = []string{wallVariable + "=" + inside + ":" + outside}
	if err := eval.StartWalled(cmd, inside); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, out.String())
	}
	want := map[string]bool{
		"read inside": true, "list inside": true, "read outside": false, "list outside": false, "read the password file": false,
		"read an environment": false, "write inside": false, "write a file inside": false, "remove inside": false, "run a program": false,
	}
	got := make(map[string]int)
	for line := range strings.Lines(out.String()) {
		what, could, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if may, known := want[what]; known && could != fmt.Sprint(may) {
			t.Errorf("%s: %s, want %v", what, could, may)
		}
		got[what]++
	}
	for what := range want {
		if got[what] != 4 {
			t.Errorf("%s was tried %d times, want 4", what, got[what])
		}
	}
}

// TestThisProcessIsNotWalled holds that only the child is restricted.
func TestThisProcessIsNotWalled(t *testing.T) {
	load(t, project(t, map[string]string{"a.op.ts": good}), eval.Options{})
	for range 8 {
		done := make(chan error)
		go func() {
			_, err := os.ReadFile("/etc/passwd")
			done <- err
		}()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
