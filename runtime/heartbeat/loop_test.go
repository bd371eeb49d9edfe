package heartbeat_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/runtime/heartbeat"
)

func TestTicks(t *testing.T) {
	bubble(t, chant("every: 10m", "one", "two")+chant("cron: 25 0 * * *", "three"), func(r *rig) {
		r.start()
		r.want("loaded")
		r.pass(9*time.Minute + 59*time.Second)
		r.want()
		r.pass(time.Second)
		r.want("started one for 00:10:00", "ended one completed", "started two for 00:10:00", "ended two completed")
		r.pass(15 * time.Minute)
		r.want("started one for 00:20:00", "ended one completed", "started two for 00:20:00", "ended two completed", "started three for 00:25:00", "ended three completed")
	})
}

// A line whose command is not what it was does not run, and says what changed; the
// others do. A new yes is for what it is then.
func TestWhatIsBehindALine(t *testing.T) {
	bubble(t, "", func(r *rig) {
		var mu sync.Mutex // the loop looks from goroutines of its own
		now := map[string]string{"one": "1", "two": "1", "three": "1"}
		of := func(command string) subject.Subject {
			mu.Lock()
			value := now[command]
			mu.Unlock()
			s, err := subject.Of(subject.Work{Root: r.dir, Texts: []subject.Text{{Name: "the entry of " + command, Value: value}}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		trust := func() {
			f, err := heartbeat.Read(r.dir)
			if err != nil {
				t.Fatal(err)
			}
			r.commands = map[string]subject.Subject{}
			for _, j := range f.Plan.Jobs {
				if j.Command != "three" {
					r.commands[j.ID] = of(j.Command)
				}
			}
			r.trust()
		}
		r.write(chant("every: 10m", "one", "two", "three"))
		trust()
		r.o.Subject = func(_ context.Context, j heartbeat.Job) (subject.Subject, error) { return of(j.Command), nil }
		r.start()
		r.want("loaded")
		mu.Lock()
		now["two"] = "2"
		mu.Unlock()
		r.pass(10 * time.Minute)
		r.want("started one for 00:10:00", "ended one completed", "started two for 00:10:00", "ended two refused", "started three for 00:10:00", "ended three refused")
		jobs := r.look().Jobs
		for i, says := range map[int]string{1: "the entry of two changed, after the yes; look at it", 2: "was not known when it was trusted"} {
			if text := jobs[i].Last.Text; !strings.Contains(text, says) {
				t.Errorf("it says %q, want %q", text, says)
			}
		}
		trust()
		r.pass(10 * time.Minute)
		r.want("loaded", "started one for 00:20:00", "ended one completed", "started two for 00:20:00", "ended two completed", "started three for 00:20:00", "ended three refused")
	})
}

func TestEverySecond(t *testing.T) {
	bubble(t, chant("every: 1s", "one"), func(r *rig) {
		r.start()
		r.want("loaded")
		r.pass(3 * time.Second)
		r.want("started one for 00:00:01", "ended one completed", "started one for 00:00:02", "ended one completed", "started one for 00:00:03", "ended one completed")
	})
}

func TestOneAtATime(t *testing.T) {
	bubble(t, chant("every: 10m", "one", "two"), func(r *rig) {
		r.o.Run = taking(time.Minute)
		r.start()
		r.pass(12 * time.Minute)
		r.want("loaded", "started one for 00:10:00", "ended one completed", "started two for 00:10:00 late 1m0s", "ended two completed")
	})
}

// One that runs is skipped, which is said once a run; one that waits for its
// turn is not queued twice.
func TestSkipped(t *testing.T) {
	bubble(t, chant("every: 10s", "one", "two"), func(r *rig) {
		r.o.Run = taking(35 * time.Second)
		r.start()
		r.want("loaded")
		r.pass(44 * time.Second)
		r.want("started one for 00:00:10", "skipped one for 00:00:20", "skipped two for 00:00:20")
		if s := r.look(); s.Jobs[0].Skipped != 3 || s.Jobs[0].Last.State != heartbeat.Running || !s.Jobs[0].Next.Equal(time.Now().Add(6*time.Second)) {
			t.Errorf("%+v", s.Jobs[0])
		}
		r.pass(2 * time.Second)
		r.want("ended one completed", "started two for 00:00:10 late 35s")
		r.pass(4 * time.Second)
		r.want("skipped two for 00:00:50")
	})
}

// What waits for its turn when the loop ends is late in the next one, and not
// lost.
func TestQueuedAtTheEnd(t *testing.T) {
	bubble(t, chant("every: 1h", "one", "two"), func(r *rig) {
		r.o.Run = taking(10 * time.Minute)
		r.start()
		r.pass(time.Hour + time.Minute)
		r.stop()
		r.want("loaded", "started one for 01:00:00", "ended one cancelled")
		r.pass(time.Minute)
		r.start()
		r.want("loaded", "started two for 01:00:00 late 2m0s")
	})
}

// What was missed while nothing ran is made up for once.
func TestLate(t *testing.T) {
	bubble(t, chant("every: 10m", "one"), func(r *rig) {
		r.start()
		r.pass(10 * time.Minute)
		r.want("loaded", "started one for 00:10:00", "ended one completed")
		r.stop()
		r.pass(35 * time.Minute)
		if s := r.look(); s.Alive || !s.Jobs[0].Next.Equal(time.Date(2000, 1, 1, 0, 20, 0, 0, time.UTC)) {
			t.Errorf("alive %v, next %v", s.Alive, s.Jobs[0].Next)
		}
		r.start()
		r.want("loaded", "started one for 00:40:00 late 5m0s", "ended one completed")
		if s := r.look(); !s.Alive || !s.Jobs[0].Next.Equal(time.Date(2000, 1, 1, 0, 50, 0, 0, time.UTC)) {
			t.Errorf("alive %v, next %v", s.Alive, s.Jobs[0].Next)
		}
		r.stop()
		r.start()
		r.want("loaded")
	})
}

// Nothing that was due before the yes is run after it, nor before the job was
// there.
func TestBeforeTheYes(t *testing.T) {
	bubble(t, chant("every: 10m", "one"), func(r *rig) {
		r.pass(25 * time.Minute)
		r.start()
		r.want("loaded")
		r.pass(5 * time.Minute)
		r.want("started one for 00:30:00", "ended one completed")
		r.stop()
		r.pass(25 * time.Minute)
		r.trust()
		r.start()
		r.want("loaded")
		r.pass(5 * time.Minute)
		r.want("started one for 01:00:00", "ended one completed")
	})
}

func TestTrustAndChange(t *testing.T) {
	bubble(t, "", func(r *rig) {
		r.start()
		r.want("stopped ")
		r.write(chant("every: 1m", "one"))
		r.pass(2 * time.Minute)
		r.want(`stopped /HEARTBEAT.md is not trusted; look at it and trust it with "chant-acp heartbeat trust"`)
		r.trust()
		r.pass(time.Minute)
		r.want("loaded", "started one for 00:03:00", "ended one completed")

		r.write(chant("every: 1m", "one", "evil"))
		const changed = `stopped /HEARTBEAT.md has changed since it was trusted; look at it and trust it with "chant-acp heartbeat trust"`
		r.pass(3 * time.Minute)
		r.want(changed)
		r.write(chant("every: 1m", "other"))
		r.pass(3 * time.Minute)
		r.want() // it was said
		r.write("```chant\n")
		r.pass(3 * time.Minute)
		r.want("stopped /HEARTBEAT.md has errors: HEARTBEAT.md:1: this block does not say when it runs; begin it with every: 10m, say, or with cron: 0 3 * * *")

		// The old content is trusted still, and what it missed meanwhile is one run.
		r.write(chant("every: 1m", "one"))
		r.pass(2 * time.Second)
		r.want("loaded", "started one for 00:12:00 late 2s", "ended one completed")

		if was, err := heartbeat.Untrust(r.stateDir, r.dir); !was || err != nil {
			t.Error(was, err)
		}
		r.pass(3 * time.Minute)
		r.want(`stopped /HEARTBEAT.md is not trusted; look at it and trust it with "chant-acp heartbeat trust"`)
		if was, err := heartbeat.Untrust(r.stateDir, r.dir); was || err != nil {
			t.Error(was, err)
		}
	})
}

// A file that changes while a run waits for its turn is not run any more, and
// neither is what it says now.
func TestChangeBeforeARun(t *testing.T) {
	bubble(t, chant("every: 10m", "one", "two"), func(r *rig) {
		r.o.Run = func(ctx context.Context, j heartbeat.Job, w func(string)) heartbeat.Outcome {
			r.write(chant("every: 10m", "one", "rm"))
			return heartbeat.Outcome{State: heartbeat.Completed}
		}
		r.start()
		r.pass(time.Hour)
		r.want("loaded", "started one for 00:10:00", "ended one completed", `stopped /HEARTBEAT.md has changed since it was trusted; look at it and trust it with "chant-acp heartbeat trust"`)
	})
}

// What runs while its file changes goes on, and is known when it is trusted
// again.
func TestChangeDuringARun(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.o.Run = taking(10 * time.Minute)
		r.start()
		r.pass(time.Minute)
		r.want("loaded", "started one for 00:01:00")
		r.write(chant("every: 1m", "two"))
		r.trust()
		r.pass(10 * time.Second)
		r.want("loaded")
		r.write(chant("every: 1m", "one"))
		r.trust()
		r.pass(time.Minute)
		r.want("loaded", "skipped one for 00:02:00")
	})
}

// The end of the loop ends the run, and its outcome is kept.
func TestLeave(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.o.Run = taking(time.Hour)
		r.start()
		r.pass(time.Minute)
		r.stop()
		r.want("loaded", "started one for 00:01:00", "ended one cancelled")
		if s := r.look(); s.Jobs[0].Last.State != heartbeat.Cancelled || s.Jobs[0].Last.Ended.IsZero() {
			t.Errorf("%+v", s.Jobs[0].Last)
		}
	})
}

// A run that its process did not outlive is over, and is not run again.
func TestCrash(t *testing.T) {
	bubble(t, chant("every: 1h", "one"), func(r *rig) {
		r.o.Run = taking(time.Minute)
		r.start()
		r.pass(time.Hour)
		r.want("loaded", "started one for 01:00:00")
		during, err := os.ReadFile(r.kept(".state.json"))
		if err != nil {
			t.Fatal(err)
		}
		r.stop()
		if err := os.WriteFile(r.kept(".state.json"), during, 0o600); err != nil {
			t.Fatal(err)
		}
		r.forget()
		r.start()
		r.pass(time.Minute)
		r.want("loaded")
		if s := r.look(); s.Jobs[0].Last.State != heartbeat.Interrupted || s.Jobs[0].Last.Open() {
			t.Errorf("%+v", s.Jobs[0].Last)
		}
	})
}

// A run that waits for a person within its turn counts as running.
func TestWaitsInItsTurn(t *testing.T) {
	bubble(t, chant("every: 1m", "one", "two"), func(r *rig) {
		var late func(string) // of one run for the next, which begins when it has ended
		r.o.Run = func(ctx context.Context, j heartbeat.Job, waiting func(string)) heartbeat.Outcome {
			if j.Command == "two" {
				late("too late") // and nobody is held by it
				return heartbeat.Outcome{State: heartbeat.Completed}
			}
			waiting("approve prod?")
			time.Sleep(90 * time.Second)
			waiting("")
			late = waiting
			time.Sleep(10 * time.Second)
			return heartbeat.Outcome{State: heartbeat.Completed}
		}
		r.start()
		r.pass(time.Minute)
		r.want("loaded", "started one for 00:01:00", "waits one waiting")
		if l := r.look().Jobs[0].Last; l.State != heartbeat.Waiting || l.Text != "approve prod?" || !l.Open() {
			t.Errorf("%+v", l)
		}
		r.pass(95 * time.Second)
		r.want("skipped one for 00:02:00", "skipped two for 00:02:00")
		if l := r.look().Jobs[0].Last; l.State != heartbeat.Running || l.Text != "" {
			t.Errorf("%+v", l)
		}
		r.pass(5 * time.Second)
		r.want("ended one completed", "started two for 00:01:00 late 1m40s", "ended two completed")
		if l := r.look().Jobs[1].Last; l.State != heartbeat.Completed {
			t.Errorf("%+v", l)
		}
	})
}

// A run whose turn is over and that waits for a person still counts as running,
// in the next process too, while others run.
func TestWaitsBehindItsTurn(t *testing.T) {
	bubble(t, chant("every: 1m", "gated", "free"), func(r *rig) {
		var settled atomic.Bool
		code := 7
		r.o.Run = func(_ context.Context, j heartbeat.Job, _ func(string)) heartbeat.Outcome {
			if j.Command == "gated" {
				return heartbeat.Outcome{State: heartbeat.Waiting, Text: "gate approve", Ref: "run_1"}
			}
			return heartbeat.Outcome{State: heartbeat.Completed}
		}
		r.o.Settled = func(_ context.Context, j heartbeat.Job, ref string) (heartbeat.Outcome, bool) {
			if j.Command != "gated" || ref != "run_1" {
				t.Errorf("asked about %s of %s", ref, j.Command)
			}
			return heartbeat.Outcome{State: heartbeat.Failed, ExitCode: &code}, settled.Load()
		}
		r.start()
		r.pass(time.Minute)
		r.want("loaded", "started gated for 00:01:00", "waits gated waiting", "started free for 00:01:00", "ended free completed")
		r.pass(time.Minute)
		r.want("skipped gated for 00:02:00", "started free for 00:02:00", "ended free completed")
		r.stop()
		r.start()
		r.pass(time.Minute)
		r.want("loaded", "started free for 00:03:00", "ended free completed")
		if j := r.look().Jobs[0]; j.Last.State != heartbeat.Waiting || j.Skipped != 2 {
			t.Errorf("%+v", j)
		}
		settled.Store(true)
		r.pass(2 * time.Second)
		r.want("ended gated failed")
		settled.Store(false)
		if l := r.look().Jobs[0].Last; *l.ExitCode != 7 || l.Open() || l.Ref != "" {
			t.Errorf("%+v", l)
		}
		r.pass(58 * time.Second)
		r.want("started gated for 00:04:00", "waits gated waiting", "started free for 00:04:00", "ended free completed")
	})
}

// Without somebody to ask, a run that waits is over.
func TestWaitsForNobody(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.o.Run = func(context.Context, heartbeat.Job, func(string)) heartbeat.Outcome {
			return heartbeat.Outcome{State: heartbeat.Waiting, Ref: "x"}
		}
		r.start()
		r.pass(2 * time.Minute)
		r.want("loaded", "started one for 00:01:00", "ended one waiting", "started one for 00:02:00", "ended one waiting")
	})
}

// At 00:30, when a run was due, the clock is set.
func TestClock(t *testing.T) {
	for name, test := range map[string]struct {
		jump time.Duration
		file string
		want []string // in the ten minutes after the jump
	}{
		"back by less than a gap":        {-8 * time.Minute, chant("every: 10m", "one"), nil},
		"back by more":                   {-12 * time.Minute, chant("every: 10m", "one"), []string{"started one for 00:20:00", "ended one completed"}},
		"back by less than 3 h":          {-2*time.Hour - 5*time.Minute, chant("cron: 30 0,22 * * *", "one"), nil},
		"back by more than 3 h":          {-4*time.Hour - 5*time.Minute, chant("cron: 30 0,20 * * *", "one"), []string{"started one for 20:30:00", "ended one completed"}},
		"back by decades":                {-30*365*24*time.Hour - 5*time.Minute, chant("cron: 30 * * * *", "one"), []string{"started one for 00:30:00", "ended one completed"}},
		"forward: what was missed, once": {72*time.Hour + 15*time.Minute, chant("cron: 30 * * * *", "one"), []string{"started one for 00:30:00 late 15m2s", "ended one completed"}},
		"forward to just before a tick":  {55 * time.Minute, chant("cron: 30 * * * *", "one"), []string{"started one for 01:30:00", "ended one completed"}},
		"forward by decades, and often":  {20 * 365 * 24 * time.Hour, chant("every: 5m", "one"), []string{"started one for 00:30:00 late 2s", "ended one completed", "started one for 00:35:00", "ended one completed", "started one for 00:40:00", "ended one completed"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, test.file, func(r *rig) {
				var set atomic.Int64
				r.o.Now = func() time.Time { return time.Now().Add(time.Duration(set.Load())) }
				r.start()
				r.pass(30 * time.Minute)
				r.forget()
				set.Store(int64(test.jump))
				r.pass(10 * time.Minute)
				r.want(test.want...)
			})
		})
	}
}

func TestJitter(t *testing.T) {
	bubble(t, chant("every: 1h", "jitter: 30m", "one", "two")+chant("cron: */5 * * * *", "jitter: 24h", "three"), func(r *rig) {
		next := func(dir string) (due []time.Time) {
			for _, j := range r.look().Jobs {
				for n := range 20 {
					at := j.Job.Next(dir, time.Now().Add(time.Duration(n)*time.Hour))
					due = append(due, at)
				}
			}
			return due
		}
		one, other := next(r.dir), next("/other")
		distinct := map[time.Duration]bool{}
		for i, at := range one {
			within := 30 * time.Minute
			tick := at.Truncate(time.Hour)
			if i >= 40 {
				tick, within = at.Truncate(5*time.Minute), 5*time.Minute
			}
			if off := at.Sub(tick); off < 0 || off >= within {
				t.Errorf("%v is off by %v", at, off)
			} else {
				distinct[off] = true
			}
		}
		if len(distinct) < 50 {
			t.Errorf("of 60 ticks only %d differ in their jitter", len(distinct))
		}
		same := 0
		for i := range one {
			if one[i].Equal(other[i]) {
				same++
			}
		}
		if same > 5 {
			t.Errorf("in another workspace %d of 60 ticks are the same", same)
		}
	})
}

// Each tick is run once, whatever its jitter, across any number of restarts.
func TestJitterAcrossRestarts(t *testing.T) {
	bubble(t, chant("every: 1m", "jitter: 59s", "one"), func(r *rig) {
		ticks := map[time.Time]int{}
		r.o.Notify = func(e heartbeat.Event) {
			if e.Kind == heartbeat.Started {
				ticks[e.Tick]++
			}
		}
		for range 200 {
			r.start()
			r.pass(7 * time.Second)
			r.stop()
			r.pass(time.Second)
		}
		if len(ticks) < 24 || len(ticks) > 27 { // 1,600 s
			t.Errorf("%d ticks were run", len(ticks))
		}
		for tick, n := range ticks {
			if n != 1 {
				t.Errorf("%v was run %d times", tick, n)
			}
		}
	})
}

// What can't be kept is not started, since it would run again after a crash.
func TestStateNotWritable(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.start()
		r.want("loaded")
		// Grants are read as before; a folder stands where the state goes.
		state := r.kept(".state.json")
		if err := errors.Join(os.Remove(state), os.MkdirAll(filepath.Join(state, "x"), 0o700)); err != nil {
			t.Fatal(err)
		}
		r.pass(5 * time.Minute)
		r.want("problem")
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Minute)
		r.want("started one for 00:06:00", "ended one completed")
	})
}

func TestBrokenFilesAreSetAside(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           "",
		"no JSON":         "{",
		"another shape":   `{"version":1,"workspace":[]}`,
		"no version":      `{"jobs":{}}`,
		"another place":   `{"version":1,"workspace":"/other"}`,
		"more than there": `{"version":1} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, chant("every: 1m", "one"), func(r *rig) {
				r.start()
				r.pass(time.Minute)
				r.stop()
				r.forget()
				if err := os.WriteFile(r.kept(".state.json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if s := r.look(); s.StateErr == nil || !strings.Contains(s.StateErr.Error(), ".state.json") {
					t.Errorf("the status says %v", s.StateErr)
				}
				r.start()
				r.want("problem", "loaded")
				aside, err := os.ReadFile(r.kept(".state.json.corrupt-*"))
				if err != nil || string(aside) != text {
					t.Errorf("%q %v", aside, err)
				}
				if err := os.WriteFile(r.kept(".trust.json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if s := r.look(); s.GrantErr == nil || s.Trusted() {
					t.Errorf("the status says %v", s.GrantErr)
				}
				r.pass(2 * time.Minute)
				r.want("problem", `stopped /HEARTBEAT.md is not trusted; look at it and trust it with "chant-acp heartbeat trust"`)
				r.kept(".trust.json.corrupt-*")
				r.trust()
				r.pass(time.Minute)
				r.want("loaded", "started one for 00:04:00", "ended one completed")
			})
		})
	}
}

// A newer version's files are neither used nor moved.
func TestNewerFiles(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.start()
		r.stop()
		for _, name := range []string{r.kept(".state.json"), r.kept(".trust.json")} {
			if err := os.WriteFile(name, []byte(`{"version":2}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h, err := heartbeat.New(r.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "update chant-acp") {
			t.Errorf("the loop says %v", err)
		}
		f, err := heartbeat.Read(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := heartbeat.Trust(r.stateDir, f, r.commands, time.Now()); err == nil || !strings.Contains(err.Error(), "update chant-acp") {
			t.Errorf("trusting says %v", err)
		}
		for _, name := range []string{r.kept(".state.json"), r.kept(".trust.json")} {
			if text, err := os.ReadFile(name); err != nil || string(text) != `{"version":2}` {
				t.Errorf("%s holds %q: %v", name, text, err)
			}
		}
	})
}

func TestOneLoop(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.start()
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(r.dir, link); err != nil {
			t.Fatal(err)
		}
		o := r.o
		o.Workspace = link
		second, err := heartbeat.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Run(context.Background()); !errors.Is(err, heartbeat.ErrRunning) {
			t.Errorf("the second loop says %v", err)
		}
		if !r.look().Alive {
			t.Error("the first one is not seen")
		}
		r.stop()
		if r.look().Alive {
			t.Error("one is seen that is gone")
		}
		synctest.Wait()
	})
}

func TestKeptForThisUserOnly(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.start()
		r.pass(time.Minute)
		files, err := os.ReadDir(filepath.Join(r.stateDir, "heartbeat"))
		if err != nil || len(files) != 3 {
			t.Fatalf("%v %v", files, err)
		}
		for _, f := range files {
			if st, err := f.Info(); err != nil || st.Mode() != 0o600 {
				t.Errorf("%s: %v %v", f.Name(), st.Mode(), err)
			}
		}
		if st, err := os.Stat(filepath.Join(r.stateDir, "heartbeat")); err != nil || st.Mode().Perm() != 0o700 {
			t.Error(st.Mode(), err)
		}
	})
}

// Long and broken text of an outcome is kept in bounds.
func TestOutcomeText(t *testing.T) {
	bubble(t, chant("every: 1m", "one"), func(r *rig) {
		r.o.Run = func(context.Context, heartbeat.Job, func(string)) heartbeat.Outcome {
			return heartbeat.Outcome{Text: "\xff" + strings.Repeat("ü", 10_000)}
		}
		r.start()
		r.pass(time.Minute)
		l := r.look().Jobs[0].Last
		if l.State != heartbeat.Failed || len(l.Text) > 2100 || !strings.HasPrefix(l.Text, "\uFFFDüü") || !strings.HasSuffix(l.Text, "ü…") {
			t.Errorf("%s, %d bytes: %q", l.State, len(l.Text), l.Text)
		}
	})
}

func TestNew(t *testing.T) {
	good := heartbeat.Options{Workspace: t.TempDir(), StateDir: t.TempDir(), Run: taking(0)}
	for want, change := range map[string]func(*heartbeat.Options){
		"":                     func(*heartbeat.Options) {},
		"workspace":            func(o *heartbeat.Options) { o.Workspace = filepath.Join(o.Workspace, "none") },
		"not an absolute path": func(o *heartbeat.Options) { o.StateDir = "state" },
		"Options.Run":          func(o *heartbeat.Options) { o.Run = nil },
	} {
		o := good
		change(&o)
		if _, err := heartbeat.New(o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// With catch-up skip, what nothing ran when it was due is left out, and said; what
// runs in time does, and what waits its turn is not late in that sense.
func TestCatchUpSkip(t *testing.T) {
	bubble(t, chant("every: 10m", "catch-up: skip", "one", "two"), func(r *rig) {
		r.o.Run = taking(2 * time.Minute)
		r.start()
		r.want("loaded")
		r.pass(15 * time.Minute)
		r.want("started one for 00:10:00", "ended one completed", "started two for 00:10:00 late 2m0s", "ended two completed")
		r.stop()
		r.pass(30 * time.Minute)
		for _, j := range r.look().Jobs {
			if j.Missed != 3 || j.MissedSince.Format("15:04") != "00:20" || j.Next.Format("15:04") != "00:50" {
				t.Errorf("%+v", j)
			}
		}
		r.start()
		r.want("loaded", "skipped one for 00:40:00 late 5m0s", "skipped two for 00:40:00 late 5m0s")
		r.pass(9 * time.Minute)
		r.want("started one for 00:50:00", "ended one completed", "started two for 00:50:00 late 2m0s", "ended two completed")
	})
}

// After a stop the status says what was missed, and after a crash that what ran was
// interrupted, before any loop runs again.
func TestStatusWithoutALoop(t *testing.T) {
	bubble(t, chant("every: 10m", "one"), func(r *rig) {
		r.o.Run = taking(time.Hour)
		r.start()
		r.pass(11 * time.Minute)
		state, err := os.ReadFile(r.kept(".state.json")) // as a crash leaves it
		if err != nil {
			t.Fatal(err)
		}
		if j := r.look().Jobs[0]; j.Last.State != heartbeat.Running || j.Missed != 0 {
			t.Errorf("while it runs: %+v %+v", j, j.Last)
		}
		r.stop()
		if err := os.WriteFile(r.kept(".state.json"), state, 0o600); err != nil {
			t.Fatal(err)
		}
		r.pass(24 * time.Minute)
		j := r.look().Jobs[0]
		if j.Last.State != heartbeat.Interrupted || j.Missed != 2 || j.MissedSince.Format("15:04") != "00:20" || j.Next.Format("15:04") != "00:20" {
			t.Errorf("after the crash: %+v %+v", j, j.Last)
		}
	})
}
