package shape

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs a test with a fake clock; the bubble itself fails the test when
// a timer or goroutine of the Shaper is left behind.
func inBubble(t *testing.T, cfg Config, test func(t *testing.T, s *Shaper, sent func() string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var sink sink
		cfg.Emit = sink.emit
		s := New(cfg)
		// sent waits for what is under way and returns the updates since the last call, "|" between
		// them.
		test(t, s, func() string { synctest.Wait(); return strings.Join(sink.take(), "|") })
		s.Finish()
	})
}

func TestShaperBatches(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, s *Shaper, sent func() string) {
		expect := func(when, want string) {
			t.Helper()
			if got := sent(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		s.Write([]byte("1\n2\n"))
		expect("the first lines go at once", "1\n2\n")
		s.Write([]byte("3\n"))
		time.Sleep(60 * time.Millisecond)
		s.Write([]byte("4\n5"))
		expect("more within 100 ms waits", "")
		time.Sleep(39 * time.Millisecond)
		expect("until 100 ms are over", "")
		time.Sleep(time.Millisecond)
		expect("then goes in one update", "3\n4\n")
		time.Sleep(100 * time.Millisecond)
		s.Write([]byte("6\n"))
		expect("after 100 ms of silence at once again", "56\n")
		s.Write([]byte(strings.Repeat("x", 4000) + "\n" + strings.Repeat("y", 4000) + "\n"))
		expect("less than 8 KiB waits", "")
		s.Write([]byte(strings.Repeat("z", 1000) + "\n"))
		if got := sent(); len(got) != 9003 {
			t.Errorf("8 KiB go at once: %d bytes", len(got))
		}
	})
}

func TestShaperUpdateRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		updates := 0
		s := New(Config{Emit: func(text string) error {
			if since := time.Since(last); since < batchInterval && len(text) < batchBytes {
				t.Errorf("an update of %d bytes %v after the last", len(text), since)
			}
			last = time.Now()
			updates++
			return nil
		}})
		for range 2000 {
			s.Write([]byte("some line\nunfinished"))
			time.Sleep(3 * time.Millisecond)
		}
		s.Finish()
		if updates < 50 || updates > 61 {
			t.Errorf("%d updates in 6 s", updates)
		}
	})
}

func TestShaperUnfinishedLine(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, s *Shaper, sent func() string) {
		expect := func(when, want string) {
			t.Helper()
			if got := sent(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		s.Write([]byte("10%"))
		time.Sleep(499 * time.Millisecond)
		s.Write([]byte("\r20%"))
		time.Sleep(499 * time.Millisecond)
		expect("no rest yet", "")
		time.Sleep(time.Millisecond)
		expect("500 ms of rest", "20%")
		s.Write([]byte("\r30%"))
		time.Sleep(restAfter)
		expect("what was sent is not taken back", "\n|30%")
		time.Sleep(batchInterval)
		s.Write([]byte("\r\n"))
		expect("end of the line", "\n")
		s.Write([]byte("\xe2\x80"))
		time.Sleep(time.Hour)
		expect("half a rune is held", "")
		s.Write([]byte("\x94"))
		time.Sleep(restAfter)
		expect("until it is whole", "—")
		if got := strings.Join(s.Finish(), ""); got != "\n" {
			t.Errorf("Finish: %q", got)
		}
	})
}

// A progress bar is shown while it moves, at most once a second and each time on a
// line of its own: what a client was shown can't be taken back.
func TestShaperShowsAMovingBar(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, s *Shaper, sent func() string) {
		var shown string
		for i := range 35 { // 3.5 s
			s.Write(fmt.Appendf(nil, "\r%d of 35", i+1))
			time.Sleep(100 * time.Millisecond)
			shown += sent()
		}
		s.Write([]byte("\rdone\n"))
		time.Sleep(time.Minute)
		shown = strings.ReplaceAll(shown+sent(), "|", "")
		if want := "10 of 35\n20 of 35\n30 of 35\ndone\n"; shown != want {
			t.Errorf("%q, want %q", shown, want)
		}
	})
}

func TestShaperTerminalBars(t *testing.T) {
	inBubble(t, Config{Mode: Terminal}, func(t *testing.T, s *Shaper, sent func() string) {
		s.Write([]byte("10%\r"))
		s.Write([]byte("20%\r"))
		if got := sent(); got != "10%\r" {
			t.Errorf("a bar moves at once: %q", got)
		}
		time.Sleep(restAfter)
		if got := sent(); got != "20%" {
			t.Errorf("at rest: %q, want the carriage return held", got)
		}
		time.Sleep(batchInterval)
		s.Write([]byte("\n"))
		if got := sent(); got != "\r\n" {
			t.Errorf("CRLF in one piece: %q", got)
		}
	})
}

func TestShaperProgress(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cfg       Config
		one, two  string
		finishHas string
	}{
		{"text", Config{}, "[2.9 MiB so far, 30001 lines. The last: now `this`]\n", "[5.7 MiB so far, 60002 lines. The last: now `this`]\n", "[5.5 MiB of 5.7 MiB left out here. There is no log of the whole.]\n"},
		{"terminal", Config{Mode: Terminal}, "\x1b[0m\n\x1b[2m2.9 MiB so far, 30001 lines. The last: now `this`\x1b[0m\n", "\x1b[0m\n\x1b[2m5.7 MiB so far, 60002 lines. The last: now `this`\x1b[0m\n", "\x1b[0m\n\x1b[2m5.5 MiB of 5.7 MiB left out here. There is no log of the whole.\x1b[0m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.cfg, func(t *testing.T, s *Shaper, sent func() string) {
				more := func() { s.Write(numbered(30_000, 100)); s.Write([]byte("now \x1b[1m`this`\x1b[m\r\n")) }
				more()
				time.Sleep(4 * time.Second)
				sent() // the head
				time.Sleep(time.Second)
				if got := sent(); got != tt.one {
					t.Errorf("after 5 s: %q, want %q", got, tt.one)
				}
				time.Sleep(time.Minute)
				if got := sent(); got != "" {
					t.Errorf("nothing new, yet: %q", got)
				}
				more()
				time.Sleep(5 * time.Second)
				if got := sent(); got != tt.two {
					t.Errorf("after 5 s more: %q, want %q", got, tt.two)
				}
				pieces := s.Finish()
				checkPieces(t, pieces)
				if got := strings.Join(pieces, ""); !strings.HasPrefix(got, tt.finishHas) {
					t.Errorf("Finish begins %.200q, want %q", got, tt.finishHas)
				}
			})
		})
	}
}

// TestShaperAbandon: with a client that does not read, nothing but Abandon is
// needed to free the program.
func TestShaperAbandon(t *testing.T) {
	for _, delivered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan error)
			s := New(Config{Emit: func(string) error { return <-release }})
			written := make(chan struct{})
			go func() {
				defer close(written)
				for range 100 {
					s.Write(numbered(1000, 100))
				}
			}()
			synctest.Wait()
			select {
			case <-written:
				t.Fatal("a client that does not read does not hold up the program")
			default:
			}
			s.Abandon()
			<-written
			if st := s.Stats(); st.Bytes != 100*1000*100 {
				t.Errorf("output is not counted any more: %+v", st)
			}
			var want string
			if delivered {
				release <- nil
				want = "" // whole lines arrived
			} else {
				release <- errors.New("cancelled")
			}
			s.Wait()
			if got := strings.Join(s.Finish(), ""); got != want {
				t.Errorf("update delivered %v: Finish returned %q, want %q", delivered, got, want)
			}
			if st := s.Stats(); !st.Truncated || st.LeftOut == 0 {
				t.Errorf("stats %+v", st)
			}
			s.Abandon()
		})
	}
}

// TestShaperAbandonFreesAll: a timer, a Break and a Finish that wait for the client go on too.
func TestShaperAbandonFreesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan error)
		s := New(Config{Emit: func(string) error { return <-release }})
		s.Write([]byte("unfinished"))
		time.Sleep(restAfter) // the timer now waits in Emit
		synctest.Wait()
		done := make(chan struct{}, 3)
		go func() { s.Write([]byte("x\n")); done <- struct{}{} }()
		go func() { s.Break(); done <- struct{}{} }()
		go func() { s.Finish(); done <- struct{}{} }()
		synctest.Wait()
		if len(done) != 0 {
			t.Error("something did not wait for the client")
		}
		s.Abandon()
		synctest.Wait()
		if len(done) != 3 {
			t.Errorf("%d of 3 calls went on", len(done))
		}
		close(release)
		s.Wait()
	})
}

func TestShaperFinishStopsTimers(t *testing.T) {
	for _, end := range []func(*Shaper){func(s *Shaper) { s.Finish() }, (*Shaper).Abandon} {
		inBubble(t, Config{}, func(t *testing.T, s *Shaper, sent func() string) {
			s.Write(numbered(30_000, 100))
			s.Write([]byte("a\nunfinished"))
			sent()
			end(s)
			time.Sleep(time.Hour)
			if got := sent(); got != "" {
				t.Errorf("sent after the end: %q", got)
			}
		})
	}
}
