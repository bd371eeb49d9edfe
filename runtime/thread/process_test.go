package thread

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"golang.org/x/sys/unix"
)

// beChild is the other process. args[0] is the state root.
func beChild(mode string, args []string) int {
	s := New(args[0])
	var err error
	switch mode {
	case "append": // id, writer, number of events
		n, _ := strconv.Atoi(args[3])
		for i := 0; i < n && err == nil; i++ {
			err = s.Append(context.Background(), args[1], i%20 == 0, Event{Kind: EventSay, Turn: args[2], Text: fmt.Sprint(i)})
		}
	case "hold": // id; holds the lock until stdin ends, or for ever
		if _, err = s.Lock(context.Background(), args[1]); err == nil {
			fmt.Println("held")
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
	case "crash": // prefix; says what is kept, until it is killed
		err = beCrashing(s, args[1])
	case "full": // id; a file may not grow beyond so many bytes
		err = beFull(s, args[1], args[2])
	}
	if err := errors.Join(err, s.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func beCrashing(s *Store, prefix string) error {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, uint64(os.Getpid())))
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s%d", prefix, i)
		r := record(id)
		if err := s.Create(ctx, r); err != nil {
			return err
		}
		fmt.Println("session", id)
		release, err := s.Lock(ctx, id)
		if err != nil {
			return err
		}
		for n := range 8 {
			text := fmt.Sprintf("%d %s", n, strings.Repeat("x", rnd.IntN(20_000)))
			if err := s.Append(ctx, id, n == 4, Event{Kind: EventSay, Text: text}); err != nil {
				return err
			}
			fmt.Println("event", id, n)
		}
		r.Title = "title of " + id
		if err := s.Update(ctx, r); err != nil {
			return err
		}
		fmt.Println("title", id)
		release()
		if i%3 == 2 {
			fmt.Println("deleting", id)
			if err := s.Delete(ctx, id); err != nil {
				return err
			}
			fmt.Println("deleted", id)
		}
	}
}

func beFull(s *Store, id, limit string) error {
	ctx := context.Background()
	n, _ := strconv.ParseUint(limit, 10, 64)
	signal.Ignore(syscall.SIGXFSZ)
	old := syscall.Rlimit{}
	if err := syscall.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: old.Max}); err != nil {
		return err
	}
	if err := s.Append(ctx, id, false, say(2)); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("appending to a full disk: %v", err)
	}
	if raw, err := os.ReadFile(s.path(id)); err != nil || !strings.HasSuffix(string(raw), "}\n") {
		return fmt.Errorf("a part of a line was left: %.300q %v", raw, err)
	}
	if err := syscall.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	return s.Append(ctx, id, false, say(3))
}

func child(t *testing.T, mode string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, args...)
	c.Env = append(os.Environ(), envChild+"="+mode, "GORACE=atexit_sleep_ms=0")
	c.Stderr = os.Stderr
	return c
}

func TestTwoProcessesAppend(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, root)
	create(t, s, "s1")
	const each = 300
	var children []*exec.Cmd
	for w := range 2 {
		c := child(t, "append", root, "s1", fmt.Sprint(w), fmt.Sprint(each))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	// Read while they write: only whole events, each once, in order.
	var got []Event
	var at int64
	for i := range each {
		if err := s.Append(t.Context(), "s1", false, Event{Kind: EventSay, Turn: "2", Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		more, next := readAll(t, s, "s1", at)
		got, at = append(got, more...), next
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	more, _ := readAll(t, s, "s1", at)
	inOrder(t, append(got, more...), 3, each)
}

func TestTwoProcessesLock(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, root)
	create(t, s, "s1")
	for _, how := range []string{"ends", "is killed"} {
		c := child(t, "hold", root, "s1")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
			t.Fatalf("%q %v", line, err)
		}
		var held *agent.SessionHeldError
		if _, err := s.Lock(t.Context(), "s1"); !errors.As(err, &held) || held.PID != c.Process.Pid {
			t.Errorf("got %v, want that %d holds it", err, c.Process.Pid)
		}
		if removed, err := s.Prune(t.Context(), PruneOptions{OlderThan: 1}); err != nil || len(removed) != 0 {
			t.Errorf("a session in a turn was pruned: %v %v", removed, err)
		}
		if how == "ends" {
			_ = in.Close()
		} else if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		release, err := s.Lock(t.Context(), "s1")
		if err != nil {
			t.Fatalf("the holder %s: %v", how, err)
		}
		release()
	}
}

func TestRemovedByAnotherProcess(t *testing.T) {
	root := t.TempDir()
	a, b := openStore(t, root), openStore(t, root)
	create(t, a, "s1")
	if err := a.Append(t.Context(), "s1", false, say(1)); err != nil { // keeps the file open
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(t.Context(), "s1", false, say(2)); !errors.Is(err, agent.ErrUnknownSession) {
		t.Errorf("appending to what is gone: %v", err)
	}
	unknown(t, a, "s1")
	if entries := leftovers(t, a); len(entries) != 0 {
		t.Errorf("left on disk: %v", entries)
	}
	create(t, b, "s1")
	if _, err := a.Get(t.Context(), "s1"); err != nil {
		t.Error(err)
	}
}

// Who waits for the lock of a session that is removed meanwhile must not hold
// one that nobody else would meet.
func TestLockOfRemoved(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	release, err := s.lock(t.Context(), "s1", 0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.locks, "s1")
	got := make(chan func(), 1)
	go func() {
		release, err := s.lock(t.Context(), "s1", time.Minute)
		if err != nil {
			t.Error(err)
		}
		got <- release
	}()
	for opened(t, path) < 2 {
		runtime.Gosched()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	release()
	second := <-got
	defer second()
	var held *agent.SessionHeldError
	if _, err := s.lock(t.Context(), "s1", 0); !errors.As(err, &held) {
		t.Errorf("two hold the lock: %v", err)
	}
}

// opened is how many of this process's descriptors are of a file.
func opened(t *testing.T, path string) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc:", err)
	}
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && to == path {
			n++
		}
	}
	return n
}

// leftovers are the files below a store's folder.
func leftovers(t *testing.T, s *Store) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A disk that fills up in the middle of a line leaves no half of it.
func TestFullDisk(t *testing.T) {
	for extra := range 3 {
		root := t.TempDir()
		s := openStore(t, root)
		create(t, s, "s1")
		if err := s.Append(t.Context(), "s1", false, say(1)); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(s.path("s1"))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := child(t, "full", root, "s1", fmt.Sprint(st.Size()+int64(20*extra))).Output(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		got, _ := readAll(t, s, "s1", 0)
		if len(got) != 2 || got[0].Text != say(1).Text || got[1].Text != say(3).Text {
			t.Errorf("got %v, want the first and the third", got)
		}
	}
}

// A process is killed at a random moment: each session it had been told of is
// there and whole, with every event whose Append had returned.
func TestKilled(t *testing.T) {
	kills := 30
	if testenv.Long() {
		kills = 120
	}
	root := t.TempDir()
	sessions := map[string]*fate{}
	made := 0
	for i := range kills {
		runAndKill(t, root, fmt.Sprintf("k%d_", i), sessions)
		if i%10 == 9 || i == kills-1 {
			made += len(sessions)
			s := openStore(t, root)
			checkFates(t, s, sessions)
			for id := range sessions {
				if err := s.Delete(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
			clear(sessions)
		}
	}
	t.Logf("%d sessions of %d killed processes", made, kills)
	if made < kills/2 {
		t.Error("the processes died too early to show anything")
	}
}

// fate is what a killed process said of a session.
type fate struct {
	events            int
	title             bool
	deleting, deleted bool
}

func runAndKill(t *testing.T, root, prefix string, sessions map[string]*fate) {
	t.Helper()
	c := child(t, "crash", root, prefix)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := rand.IntN(60); n > 0 && lines.Scan(); n-- {
		note(lines.Text(), sessions)
	}
	// Somewhere in what follows that line.
	for n := rand.IntN(1 << 16); n > 0; n-- {
		unix.Getpid()
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		note(lines.Text(), sessions)
	}
	_ = c.Wait()
}

func note(line string, sessions map[string]*fate) {
	words := strings.Fields(line)
	id := words[1]
	if words[0] == "session" {
		sessions[id] = &fate{}
	}
	switch f := sessions[id]; words[0] {
	case "event":
		f.events++
	case "title":
		f.title = true
	case "deleting":
		f.deleting = true
	case "deleted":
		f.deleted = true
	}
}

func checkFates(t *testing.T, s *Store, sessions map[string]*fate) {
	t.Helper()
	listed := map[string]bool{}
	all, _ := pages(t, s, "")
	for _, id := range all {
		listed[id] = true
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Errorf("a listed session does not load: %v", err)
		}
	}
	for id, f := range sessions {
		r, err := s.Get(t.Context(), id)
		if f.deleting && errors.Is(err, agent.ErrUnknownSession) {
			continue
		}
		if f.deleted || err != nil {
			t.Errorf("%s (%+v): %v", id, *f, err)
			continue
		}
		if !listed[id] || f.title && r.Title != "title of "+id {
			t.Errorf("%s: listed %v, title %q", id, listed[id], r.Title)
		}
		got, at := readAll(t, s, id, 0)
		if len(got) < f.events || len(got) > f.events+1 {
			t.Errorf("%s has %d events, %d were kept", id, len(got), f.events)
		}
		for i, e := range got {
			if !strings.HasPrefix(e.Text, fmt.Sprint(i, " ")) {
				t.Errorf("%s: event %d is %.10q", id, i, e.Text)
			}
		}
		// It goes on. What the crash cut never comes back.
		if f.title {
			continue
		}
		release, err := s.Lock(t.Context(), id)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := s.Append(t.Context(), id, false, Event{Kind: EventSay, Text: fmt.Sprint(len(got), " more")}); err != nil {
			t.Error(err)
		}
		release()
		if more, _ := readAll(t, s, id, at); len(more) != 1 {
			t.Errorf("%s: %d events after one more, want 1", id, len(more))
		}
		f.events = len(got) + 1
	}
}
