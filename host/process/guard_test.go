package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/internal/testenv"
)

// daemon starts a process that has left the group, and lost its parent, when it prints "up": the
// substitution ends when the daemon has closed its output.
const daemon = "x=$(setsid sh -c 'sleep 999 >/dev/null 2>&1 &'); echo up; "

// trees are programs of every kind that must not outlive the agent. Each prints "up", once for
// every process that is to be ready.
var trees = []struct {
	name   string
	script string
	ups    int
}{
	{"obeying", "sleep 999 & echo up; exec sleep 998", 1},
	{"deaf", "trap '' TERM HUP INT; sleep 999 & echo up; sleep 998", 1},
	{"left the group", "setsid sh -c 'echo up; exec sleep 999' & echo up; exec sleep 998", 2},
	{"left the group, deaf", "setsid sh -c \"trap '' TERM HUP INT; echo up; exec sleep 999\" & echo up; exec sleep 998", 2},
	{"daemon", daemon + "exec sleep 998", 1},
	{"daemon of a program that is over", daemon, 1},
	{"stopped", "sh -c 'echo up; kill -STOP $$' & wait", 1},
	{"without the token", "env -i sleep 999 & echo up; exec sleep 998", 1},
	{"terminal", "tty:sleep 999 & echo up; exec sleep 998", 1},
	{"terminal, deaf", "tty:trap '' TERM HUP INT; sleep 999 & echo up; sleep 998", 1},
}

// agent is a process that runs programs and is then killed.
type agent struct {
	cmd   *exec.Cmd
	out   *printed
	stdin io.WriteCloser
	read  chan struct{}
}

// startAgent starts the test binary as an agent with the given scripts, and waits until they have
// printed "up" so many times.
func startAgent(t *testing.T, mark, scripts string, ups int) *agent {
	t.Helper()
	a := &agent{cmd: exec.Command("/proc/self/exe"), out: new(printed), read: make(chan struct{})}
	a.cmd.Env = append(os.Environ(), agentVar+"="+scripts, mark)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	// A pipe of our own: programs that outlive the agent hold it too, and Wait must not wait for
	// them.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a.cmd.Stdout = write
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill() }) // for a test that fails before it does
	write.Close()
	enough := make(chan struct{})
	go func() {
		defer close(a.read)
		defer read.Close()
		buf, seen := make([]byte, 4096), 0
		for {
			n, err := read.Read(buf)
			a.out.take(buf[:n])
			if now := strings.Count(a.out.String(), "up"); seen < ups && now >= ups {
				close(enough)
				seen = now
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case <-enough:
	case <-time.After(testenv.Hang):
		t.Fatalf("the agent's programs are not up: %q", a.out)
	}
	return a
}

// end kills the agent in the way that kill does and waits for it.
func (a *agent) end(kill func(pid int)) {
	kill(a.cmd.Process.Pid)
	_ = a.cmd.Wait()
	a.stdin.Close()
	<-a.read
}

func killOne(pid int)   { _ = unix.Kill(pid, unix.SIGKILL) }
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// killDescendants is what one client does: it walks /proc for all that descends from the agent,
// kills that, and then the agent's group.
func killDescendants(pid int) {
	for _, child := range descendants(pid) {
		_ = unix.Kill(child, unix.SIGKILL)
	}
	killGroup(pid)
}

func descendants(pid int) []int {
	parents := make(map[int]int)
	new(scanner).each(func(pid, _ int) {
		buf := make([]byte, 1024)
		line := buf[:readProc(pid, "stat", buf)]
		if fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:]); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(string(fields[1]))
		}
	})
	var found []int
	for child := range parents {
		for up := parents[child]; up > 1; up = parents[up] {
			if up == pid {
				found = append(found, child)
			}
		}
	}
	return found
}

func TestNoSurvivors(t *testing.T) {
	ways := []struct {
		name string
		kill func(pid int)
	}{{"pid", killOne}, {"group", killGroup}, {"descendants", killDescendants}}
	for _, way := range ways {
		for _, tree := range trees {
			t.Run(way.name+"/"+tree.name, func(t *testing.T) {
				noSurvivors(t, tree.script, tree.ups, way.kill)
			})
		}
		t.Run(way.name+"/all at once", func(t *testing.T) {
			var scripts []string
			ups := 0
			for _, tree := range trees {
				scripts = append(scripts, tree.script)
				ups += tree.ups
			}
			noSurvivors(t, strings.Join(scripts, "\n"), ups, way.kill)
		})
	}
}

func noSurvivors(t *testing.T, scripts string, ups int, kill func(pid int)) {
	t.Helper()
	mark := tree(t)
	a := startAgent(t, mark, scripts, ups)
	before := alive(mark)
	for began := time.Now(); len(before) < 2; before = alive(mark) { // a process in execve shows no environment
		before.release()
		if time.Since(began) > testenv.Hang {
			t.Fatalf("%d processes before the kill", len(before))
		}
	}
	before.release()
	killed := time.Now()
	a.end(kill)
	before = alive(mark)
	before.await(killed.Add(testenv.Hang), nil)
	before.release()
	t.Logf("the last of %d was gone %v after the kill", len(before), time.Since(killed))
	awaitNone(t, mark)
}

func awaitEndOf(t *testing.T, m member) {
	t.Helper()
	members{m}.await(time.Now().Add(testenv.Hang), nil)
	if st, there := readStat(m.pid); there && st.alive() && st.start == m.start {
		t.Errorf("process %d survived", m.pid)
	}
}

// What was handed to the guard gets its grace, after the agent is gone too; all else is ended.
func TestHandedSurvivesItsGrace(t *testing.T) {
	mark := tree(t)
	file := t.TempDir() + "/go"
	a := startAgent(t, mark, "grace:trap 'echo term' TERM; sleep 0.01; echo up; while [ ! -e "+file+" ]; do sleep 0.01; echo printing; done; echo >"+file+".done\n"+
		"trap '' TERM; echo up; sleep 999", 2)
	a.stdin.Close() // the agent leaves
	a.out.await(t, "handed true")
	a.end(killOne)
	if _, err := os.Stat(file + ".done"); err == nil {
		t.Fatal("it ended too early")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitNone(t, mark)
	if _, err := os.Stat(file + ".done"); err != nil {
		t.Errorf("it did not finish: %v", err)
	}
}

// guardPID finds the guard of a process by its command line.
func guardPID(t *testing.T, of int) int {
	t.Helper()
	found := guards(of)
	if len(found) != 1 {
		t.Fatalf("guards %v", found)
	}
	return found[0]
}

func guards(of int) (found []int) {
	want := fmt.Sprintf("%s\x00%s\x00%d-", guardName, stageWatch, of)
	new(scanner).each(func(pid, _ int) {
		buf := make([]byte, 4096)
		if bytes.HasPrefix(buf[:readProc(pid, "cmdline", buf)], []byte(want)) {
			found = append(found, pid)
		}
	})
	return found
}

// awaitGuard waits until the guard has read a message, which it does only when it is all set up.
func awaitGuard(t *testing.T) {
	t.Helper()
	if err := ourGuard.send("0 0", -1); err != nil {
		t.Fatal(err)
	}
	rc, err := ourGuard.conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for unread := 1; unread > 0; runtime.Gosched() {
		ctlErr := rc.Control(func(fd uintptr) { unread, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		if ctlErr != nil || err != nil {
			t.Fatal(ctlErr, err)
		}
	}
}

func TestGuardIsDetached(t *testing.T) {
	p, _ := launch(t, shell(""))
	p.Wait()
	awaitGuard(t)
	pid := guardPID(t, os.Getpid())
	dir := "/proc/" + strconv.Itoa(pid)
	if sid, _ := unix.Getsid(pid); sid != pid {
		t.Errorf("session %d", sid)
	}
	for _, child := range descendants(os.Getpid()) {
		if child == pid {
			t.Error("it is a descendant of ours")
		}
	}
	if os.Getuid() == 0 { // it is concealed from others, us included
		guardHoldsNothing(t, dir)
	}
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		_ = unix.Kill(pid, sig)
	}
	q, _ := launch(t, shell(""))
	q.Wait()
	if now := guardPID(t, os.Getpid()); now != pid {
		t.Errorf("a polite signal ended the guard")
	}
}

// guardHoldsNothing looks at what the guard has of us: dir is its folder of /proc.
func guardHoldsNothing(t *testing.T, dir string) {
	t.Helper()
	if cwd, _ := os.Readlink(dir + "/cwd"); cwd != "/" {
		t.Errorf("directory %s", cwd)
	}
	env, err := os.ReadFile(dir + "/environ")
	if err != nil || bytes.Contains(env, []byte("TOKEN")) || bytes.Contains(env, []byte("PATH=")) {
		t.Errorf("environment %q, %v", env, err)
	}
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		link, _ := os.Readlink(dir + "/fd/" + fd.Name())
		switch {
		case fd.Name() == "0" && strings.HasPrefix(link, "socket:"):
		case fd.Name() <= "2" && link == "/dev/null":
		case fd.Name() == "3" && strings.HasPrefix(link, "/memfd:"+guardName):
		case strings.HasPrefix(link, "anon_inode:"), strings.HasPrefix(link, "/sys/fs/cgroup/"): // the Go runtime's own
		default:
			t.Errorf("descriptor %s is %s", fd.Name(), link)
		}
	}
}

// What is left when the guard and then the agent are killed, with no program started in between: a
// guard that dies is replaced at once.
func TestGuardIsReplacedWhileIdle(t *testing.T) {
	mark := tree(t)
	a := startAgent(t, mark, "echo $$ up; exec env -i sleep 999", 1)
	m := holdNamed(t, a.out.String())
	for range 3 {
		old := guardPID(t, a.cmd.Process.Pid)
		killGuard(t, old)
		awaitNewGuard(t, a.cmd.Process.Pid, old)
	}
	a.end(killOne)
	awaitEndOf(t, m)
	awaitNone(t, mark)
}

// awaitNewGuard looks until a process has a guard other than the old one.
func awaitNewGuard(t *testing.T, of, old int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < testenv.Hang; runtime.Gosched() {
		if found := guards(of); len(found) == 1 && found[0] != old {
			return
		}
	}
	t.Fatalf("the guard %d was not replaced: %v", old, guards(of))
}

// A guard that exists is proof against polite signals from the moment at which the first program
// starts.
func TestGuardIsReadyBeforeTheFirstProgram(t *testing.T) {
	for range 10 {
		mark := tree(t)
		a := startAgent(t, mark, "pkill -TERM -f '^"+guardName+" "+stageWatch+" '$PPID- ; echo $$ up; exec env -i sleep 999", 1)
		m := holdNamed(t, a.out.String())
		if found := guards(a.cmd.Process.Pid); len(found) != 1 {
			t.Errorf("guards %v", found)
		}
		a.end(killOne)
		awaitEndOf(t, m)
		awaitNone(t, mark)
	}
}

// A guard that was killed is replaced before the next program, and the new one knows what ran
// before.
func TestGuardIsReplaced(t *testing.T) {
	p, _ := inTree(t, shell("echo up; exec sleep 999"))
	old := guardPID(t, os.Getpid())
	killGuard(t, old)
	q, _ := launch(t, shell("exit 6"))
	if x := q.Wait(); x.Code != 6 {
		t.Errorf("exit %+v", x)
	}
	if now := guardPID(t, os.Getpid()); now == old {
		t.Error("the old guard lives")
	}
	p.Stop(Cancelled)
	p.Wait()
}

func killGuard(t *testing.T, pid int) {
	t.Helper()
	m, ok := hold(pid, func() bool { return true })
	if !ok {
		t.Fatalf("there is no guard %d", pid)
	}
	defer m.release()
	m.signal(unix.SIGKILL)
	awaitEndOf(t, m)
}

// The new guard answers for what ran before it, by group where there is no token.
func TestNewGuardKnowsOldGroups(t *testing.T) {
	mark := tree(t)
	a := startAgent(t, mark, "echo $$ up; exec env -i sleep 999\nlater:echo second; exec sleep 998", 1)
	m := holdNamed(t, a.out.String())
	killGuard(t, guardPID(t, a.cmd.Process.Pid))
	if _, err := a.stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	a.out.await(t, "second")
	a.end(killOne)
	awaitEndOf(t, m)
	awaitNone(t, mark)
}
