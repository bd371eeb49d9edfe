package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stripped starts a process that has cleared its environment, left its session, lost its parent,
// and kept no descriptor, and prints its number and "up".
func stripped(setting string) string {
	return "x=$(env -i setsid /bin/sh -c '" + setting + " /bin/sleep 999 </dev/null >/dev/null 2>&1 & echo $!'); echo $x up; "
}

const (
	strippedDaemon = "env -i setsid: a daemon"
	strippedDeaf   = "env -i setsid: a daemon, deaf"
)

var strippers = map[string]string{strippedDaemon: stripped(""), strippedDeaf: stripped(`trap "" TERM HUP INT;`)}

// holdNamed takes hold of the process whose number stands before " up" in text, and ends it with
// the test.
func holdNamed(t *testing.T, text string) member {
	t.Helper()
	number, _, _ := strings.Cut(text, " up")
	pid, err := strconv.Atoi(number[strings.LastIndexByte(number, '\n')+1:])
	if err != nil {
		t.Fatalf("no number in %q", text)
	}
	m, ok := hold(pid, func() bool { return true })
	if !ok {
		t.Fatalf("there is no process %d", pid)
	}
	t.Cleanup(func() {
		m.signal(unix.SIGKILL)
		m.release()
	})
	return m
}

// launchStripped starts a program that leaves such a process behind, and goes on with rest.
func launchStripped(t *testing.T, kind, rest string, change func(*Spec)) (*Process, member) {
	t.Helper()
	out := new(printed)
	spec := shell(strippers[kind] + rest)
	spec.Output = out.take
	change(&spec)
	p, _ := launch(t, spec)
	out.await(t, "up")
	return p, holdNamed(t, out.String())
}

func TestStopFindsWhatClearedItsEnvironment(t *testing.T) {
	tests := []struct {
		name   string
		kind   string
		change func(*Spec)
		stops  []Cause
		cause  Cause
		killed bool
	}{
		{"cancel", strippedDaemon, func(*Spec) {}, []Cause{Cancelled}, Cancelled, false},
		{"cancel, deaf", strippedDeaf, func(s *Spec) { s.Grace = brief }, []Cause{Cancelled}, Cancelled, true},
		{"second cancel, deaf", strippedDeaf, func(s *Spec) { s.Grace = time.Hour }, []Cause{Cancelled, Cancelled}, Cancelled, true},
		{"timeout", strippedDaemon, func(s *Spec) { s.Timeout = time.Second }, nil, TimedOut, false},
		{"timeout, deaf", strippedDeaf, func(s *Spec) { s.Timeout, s.Grace = time.Second, brief }, nil, TimedOut, true},
		{"leaving", strippedDaemon, func(*Spec) {}, []Cause{Leaving}, Leaving, false},
		{"leaving, deaf", strippedDeaf, func(*Spec) {}, []Cause{Leaving}, Leaving, true},
		{"terminal", strippedDaemon, func(s *Spec) { s.TTY = true }, []Cause{Cancelled}, Cancelled, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, m := launchStripped(t, test.kind, "exec sleep 998", test.change)
			for _, why := range test.stops {
				p.Stop(why)
			}
			x := p.Wait()
			if x.Cause != test.cause || x.Leftovers != 1 || x.Killed != test.killed || x.Err != nil {
				t.Errorf("exit %+v", x)
			}
			if test.cause == Leaving {
				awaitEndOf(t, m) // a busy machine may need longer than there is time to wait
			} else if st, there := readStat(m.pid); there && st.alive() && st.start == m.start {
				t.Errorf("process %d survived", m.pid)
			}
		})
	}
}

// A program may leave its session and clear its environment because it is told to end.
func TestStopFindsWhatLeavesAtSIGTERM(t *testing.T) {
	for range 5 {
		out := new(printed)
		spec := shell("leave() { " + strippers[strippedDaemon] + "exit 5; }; trap leave TERM; echo ready; while :; do sleep 0.01; done")
		spec.Grace, spec.Output = time.Hour, out.take
		p, _ := launch(t, spec)
		out.await(t, "ready")
		p.Stop(Cancelled)
		if x := p.Wait(); x.Code != 5 || x.Leftovers != 1 || x.Killed || x.Err != nil {
			t.Errorf("exit %+v", x)
		}
		if !strings.Contains(out.String(), " up\n") {
			t.Errorf("nothing has left: %q", out)
		}
	}
}

// What has left the group of a program that ended by itself runs on, as [TestHeldOutput] has it,
// and a later program's end does not touch it.
func TestEndOfAnotherProgramSparesDaemons(t *testing.T) {
	p, m := launchStripped(t, strippedDaemon, "exit 3", func(*Spec) {})
	if x := p.Wait(); x.Code != 3 || x.Leftovers != 0 {
		t.Errorf("exit %+v", x)
	}
	q, n := launchStripped(t, strippedDaemon, "exec sleep 998", func(*Spec) {})
	q.Stop(Cancelled)
	if x := q.Wait(); x.Leftovers != 1 {
		t.Errorf("exit %+v", x)
	}
	awaitEndOf(t, n)
	if st, there := readStat(m.pid); !there || !st.alive() || st.start != m.start {
		t.Error("the first program's daemon was ended with the second program")
	}
}

// No process of these shows a mark of the test, so that their ends are looked for by number.
func TestNoSurvivorsWithoutToken(t *testing.T) {
	scripts := map[string]string{
		"member of the group":                  "env -i sleep 999 & echo $! up; exec sleep 998",
		strippedDaemon:                         strippers[strippedDaemon] + "exec sleep 998",
		strippedDeaf:                           strippers[strippedDeaf] + "exec sleep 998",
		"terminal":                             "tty:" + strippers[strippedDeaf] + "exec sleep 998",
		"of a program that is over":            strippers[strippedDaemon],
		"of a program that is over, and deaf":  strippers[strippedDeaf],
		"of a program that left, in its group": "exec env -i setsid -w /bin/sh -c '/bin/sleep 999 & echo $! up; wait'",
	}
	for name, script := range scripts {
		for way, kill := range map[string]func(int){"pid": killOne, "group": killGroup, "descendants": killDescendants} {
			t.Run(way+"/"+name, func(t *testing.T) {
				a := startAgent(t, tree(t), script, 1)
				m := holdNamed(t, a.out.String())
				killed := time.Now()
				a.end(kill)
				awaitEndOf(t, m)
				t.Logf("gone %v after the kill", time.Since(killed))
			})
		}
	}
}

// A child that other code of the calling process starts while Start forks has the mark too. It is
// in our session, where no program is.
func TestMarkSparesOtherChildren(t *testing.T) {
	p, _ := launch(t, shell("")) // to have a mark
	p.Wait()
	const serial = 1<<serialBits - 1
	other, own := exec.Command("/bin/sleep", "999"), exec.Command("/bin/sleep", "999")
	own.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	for _, cmd := range []*exec.Cmd{other, own} {
		if err := ourGuard.tags.withMark(serial, cmd.Start); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		if limit, ok := lockLimit(cmd.Process.Pid); !ok || limit != ourGuard.tags.mark|serial {
			t.Errorf("limit %x, %t", limit, ok)
		}
	}
	g := group{id: own.Process.Pid}
	found, unsure := g.strays(ourGuard.tags, strconv.Itoa(serial))
	defer found.release()
	defer unsure.release()
	if len(found) != 1 || found[0].pid != own.Process.Pid {
		t.Errorf("found %v, want %d alone", found, own.Process.Pid)
	}
	later := group{start: found[0].start + 1}
	older, unsure := later.strays(ourGuard.tags, strconv.Itoa(serial))
	older.release()
	unsure.release()
	if len(older) != 0 {
		t.Errorf("%v is older than the program", older)
	}
}

// Start leaves the limit of the calling process as it is, whether the program starts or not.
func TestMarkDoesNotStay(t *testing.T) {
	before, _ := lockLimit(os.Getpid())
	p, _ := launch(t, shell(""))
	p.Wait()
	if _, err := Start(t.Context(), Spec{Path: "/nope", Dir: "/"}); err == nil {
		t.Error("a missing program was started")
	}
	if after, _ := lockLimit(os.Getpid()); after != before {
		t.Errorf("limit %d, %d before", after, before)
	}
}

// The guard of an agent that is itself a program of ours is not a stray of that program: it has its
// own programs to end.
func TestGuardShedsTheMark(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := new(printed)
	p, _ := launch(t, Spec{Path: self, Dir: "/", Env: append(os.Environ(), agentVar+"="+strippers[strippedDeaf]+"exec sleep 998"), Output: out.take})
	out.await(t, "up")
	m := holdNamed(t, out.String())
	guard := guardPID(t, p.PID())
	if serial, ours := ourGuard.tags.marked(guard); ours {
		t.Errorf("the guard is marked as of program %s", serial)
	}
	p.Stop(Cancelled)
	p.Wait()
	awaitEndOf(t, m)
}

// Where the mark can't be set, programs start without.
func TestNoMark(t *testing.T) {
	a := startAgent(t, tree(t), "limited:echo $$ up; exec sleep 998", 1)
	m := holdNamed(t, a.out.String())
	if limit, ok := lockLimit(m.pid); !ok || limit != lowLimit {
		t.Errorf("limit %d, %t", limit, ok)
	}
	a.end(killOne)
	awaitEndOf(t, m)
}

func TestParseLockLimit(t *testing.T) {
	tests := []struct {
		text string
		want uint64
		ok   bool
	}{
		{"Limit                     Soft Limit           Hard Limit           Units     \nMax file locks            4611686018427387999  unlimited            locks     \n", 4611686018427387999, true},
		{"Max locked memory         8388608              8388608              bytes     \nMax file locks            5                    7                    locks     \nMax pending signals       1 1 signals\n", 5, true},
		{"Max file locks            unlimited            unlimited            locks     \n", 0, false},
		{"Max file locks            \n", 0, false},
		{"Max file locks", 0, false},
		{"", 0, false},
	}
	for _, test := range tests {
		if got, ok := parseLockLimit([]byte(test.text)); got != test.want || ok != test.ok {
			t.Errorf("%q: %d, %t", test.text, got, ok)
		}
	}
}

func TestSigns(t *testing.T) {
	a, b := newTags("00112233445566778899aabbccddeeff", 7), newTags("ffeeddccbbaa99887766554433221100", 7)
	for _, s := range []tags{a, b} {
		if s.mark>>62 != 1 || s.mark&(1<<serialBits-1) != 0 {
			t.Errorf("mark %x", s.mark)
		}
	}
	if a.mark == b.mark {
		t.Errorf("both marks are %x", a.mark)
	}
	for _, prefix := range []string{"", "prefix", "0011", strings.Repeat("x", 32)} {
		if s := newTags(prefix, 7); s.mark != 0 {
			t.Errorf("%q makes the mark %x", prefix, s.mark)
		}
	}
}

// A member that leaves the group after the look that found it there is out of reach of a signal to
// the group.
func TestSignalReachesMembersThatLeft(t *testing.T) {
	leader := exec.Command("/bin/sleep", "999")
	left := exec.Command("/bin/sleep", "999")
	for _, cmd := range []*exec.Cmd{leader, left} {
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // each in a group of its own
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
	}
	m, ok := hold(left.Process.Pid, func() bool { return true })
	if !ok {
		t.Fatal("it is not there")
	}
	defer m.release()
	s := &supervisor{group: group{id: leader.Process.Pid}, members: members{m}}
	s.signal(unix.SIGKILL)
	awaitEndOf(t, m)
}

// What programs left behind that are over can be ended later, and nothing else with it.
func TestEndLeft(t *testing.T) {
	for _, kind := range []string{strippedDaemon, strippedDeaf} {
		t.Run(kind, func(t *testing.T) {
			other, spared := launchStripped(t, strippedDaemon, "exit 0", func(*Spec) {})
			quiet, _ := launch(t, shell("exit 0"))
			p, m := launchStripped(t, kind, "exit 3", func(s *Spec) { s.Grace = brief })
			runs, n := launchStripped(t, strippedDaemon, "exec sleep 998", func(*Spec) {})
			if ended, err := EndLeft([]Remnant{quiet.Remnant(), p.Remnant()}); ended != 1 || err != nil {
				t.Errorf("%d were ended, %v", ended, err)
			}
			if st, there := readStat(m.pid); there && st.alive() && st.start == m.start {
				t.Errorf("process %d survived", m.pid)
			}
			for _, m := range []member{spared, n} {
				if st, there := readStat(m.pid); !there || !st.alive() || st.start != m.start {
					t.Errorf("process %d was ended, too", m.pid)
				}
			}
			if ended, err := EndLeft([]Remnant{quiet.Remnant(), p.Remnant(), other.Remnant()}); ended != 1 || err != nil {
				t.Errorf("%d were ended, %v", ended, err)
			}
			runs.Stop(Cancelled)
			runs.Wait()
		})
	}
}
