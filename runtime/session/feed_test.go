package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// readAll takes to the end.
func readAll(r *reader) ([]byte, error) {
	var all []byte
	for {
		p, err := r.take(context.Background())
		if err != nil {
			return all, err
		}
		all = append(all, p...)
	}
}

func numbers(from, to int) []byte {
	var b bytes.Buffer
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d é\n", i)
	}
	return b.Bytes()
}

func TestFeedManyReaders(t *testing.T) {
	f := newFeed(true)
	want := numbers(0, 200_000)
	var all sync.WaitGroup
	for range 5 {
		r, cut := f.subscribe(nil)
		if cut {
			t.Error("a feed without output is cut")
		}
		all.Go(func() {
			if got, err := readAll(r); err != io.EOF || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
			}
		})
	}
	for p := want; len(p) > 0; {
		n := min(len(p), 3000)
		f.write(p[:n])
		p = p[n:]
	}
	f.close()
	all.Wait()
}

// Who comes later sees an end of what was printed and then all the rest: nothing twice, nothing
// missing.
func TestFeedNewcomers(t *testing.T) {
	f := newFeed(true)
	want := numbers(0, 100_000)
	var all sync.WaitGroup
	for p, i := want, 0; len(p) > 0; i++ {
		n := min(len(p), 4000)
		f.write(p[:n])
		p = p[n:]
		if i%20 != 0 {
			continue
		}
		r, _ := f.subscribe(nil)
		all.Go(func() {
			got, err := readAll(r)
			if err != io.EOF || !bytes.HasSuffix(want, got) || len(got) < len(p) {
				t.Errorf("%d bytes that are no end of the output; %v", len(got), err)
			}
		})
	}
	f.close()
	all.Wait()
}

func TestFeedReplayIsCutAtARune(t *testing.T) {
	for _, shift := range []string{"", "a", "ab", "abc"} {
		f := newFeed(true)
		text := shift + strings.Repeat("日", Replay/3+100)
		f.write([]byte(text))
		f.close()
		r, cut := f.subscribe(nil)
		got, err := readAll(r)
		if err != io.EOF || !cut || !strings.HasSuffix(text, string(got)) || !utf8.Valid(got) || len(got) <= Replay-3 || len(got) > Replay {
			t.Errorf("%d bytes, valid %t, cut %t, %v", len(got), utf8.Valid(got), cut, err)
		}
	}
}

func TestFeedOfWhatIsNoText(t *testing.T) {
	f := newFeed(true)
	want := bytes.Repeat([]byte{0x80}, Replay+10)
	f.write(want)
	f.close()
	r, _ := f.subscribe(nil)
	if got, _ := readAll(r); len(got) != Replay {
		t.Errorf("%d bytes", len(got))
	}
	if got := f.tail(5); len(got) != 5 {
		t.Errorf("a tail of %d bytes", len(got))
	}
}

// No take splits a rune, and the beginning of one at the very end is still given.
func TestFeedTakesWholeRunes(t *testing.T) {
	f := newFeed(true)
	r, _ := f.subscribe(nil)
	for _, step := range []struct{ write, take string }{
		{"a\xe6", "a"}, {"\x97", ""}, {"\xa5b", "日b"}, {"\xf0\x9f", ""}, {"\x98\x80", "😀"}, {"\xff", "\xff"}, {"\xe6x", "\xe6x"}, {"\xe6\x97", ""},
	} {
		f.write([]byte(step.write))
		if p, err := r.takeNow(); string(p) != step.take || err != nil {
			t.Errorf("after %q: %q, %v; want %q", step.write, p, err, step.take)
		}
	}
	f.close()
	if got, err := readAll(r); string(got) != "\xe6\x97" || err != io.EOF {
		t.Errorf("at the end: %q, %v", got, err)
	}
}

func TestFeedTail(t *testing.T) {
	f := newFeed(true)
	f.write([]byte("xé日"))
	for limit, want := range map[int]string{-1: "", 0: "", 1: "", 2: "", 3: "日", 4: "日", 5: "é日", 6: "xé日", 1000: "xé日", 1 << 30: "xé日"} {
		if got := f.tail(limit); string(got) != want {
			t.Errorf("the last %d: %q, want %q", limit, got, want)
		}
	}
}

// Time stands still while anybody can go on, so that the limits are exact.
func TestFeedDropsTheStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(true)
		began := time.Now()
		var gone sync.WaitGroup
		gone.Add(1)
		stalled, _ := f.subscribe(func() {
			if at := time.Since(began); at != StallLimit {
				t.Errorf("dropped after %v", at)
			}
			gone.Done()
		})
		want := numbers(0, 200_000)
		good, _ := f.subscribe(func() { t.Error("the good reader was dropped") })
		var all sync.WaitGroup
		all.Go(func() {
			if got, err := readAll(good); err != io.EOF || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
			}
		})
		f.write(want) // waits for the stalled one, and goes on without it
		f.close()
		all.Wait()
		gone.Wait()
		if _, err := stalled.take(t.Context()); !errors.Is(err, ErrStalled) {
			t.Errorf("the stalled reader: %v", err)
		}
	})
}

// A reader is stalled however little there is to take, and not while there is nothing.
func TestFeedStallWithoutPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(true)
		var dropped atomic.Bool
		r, _ := f.subscribe(func() { dropped.Store(true) })
		time.Sleep(time.Hour)
		f.write([]byte("a"))
		time.Sleep(StallLimit - 1)
		if p, err := r.takeNow(); string(p) != "a" || err != nil {
			t.Errorf("%q, %v", p, err)
		}
		f.write([]byte("\xe6")) // the beginning of a rune can't be taken
		time.Sleep(time.Hour)
		f.write([]byte("\x97\xa5"))
		time.Sleep(StallLimit - 1)
		synctest.Wait()
		if dropped.Load() {
			t.Error("dropped too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if _, err := r.takeNow(); !errors.Is(err, ErrStalled) {
			t.Errorf("not dropped: %v", err)
		}
	})
}

// One that takes a little every four seconds makes progress: it sets the pace.
func TestFeedSlowIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(true)
		want := numbers(0, 100_000)
		slow, _ := f.subscribe(func() { t.Error("dropped") })
		var got []byte
		var all sync.WaitGroup
		all.Go(func() {
			for {
				p, err := slow.take(t.Context())
				if err != nil {
					return
				}
				got = append(got, p...)
				time.Sleep(4 * time.Second)
			}
		})
		f.write(want)
		f.close()
		all.Wait()
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
	})
}

// Nobody holds up a feed that runs free; who is overrun is told so.
func TestFeedRunsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(true)
		dropped := 0
		r, _ := f.subscribe(func() { dropped++ })
		go func() {
			time.Sleep(time.Second)
			f.runFree()
		}()
		began := time.Now()
		f.write(make([]byte, 3*feedSize))
		if time.Since(began) != time.Second || dropped != 1 {
			t.Errorf("%v, %d dropped", time.Since(began), dropped)
		}
		if _, err := r.takeNow(); !errors.Is(err, ErrStalled) {
			t.Errorf("overrun: %v", err)
		}
	})
}

func TestFeedTakeEndsWithItsContext(t *testing.T) {
	f := newFeed(true)
	r, _ := f.subscribe(nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("why")
	cancel(cause)
	if _, err := r.take(ctx); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	f.write([]byte("x"))
	if p, err := r.take(ctx); string(p) != "x" || err != nil {
		t.Errorf("what is there is given first: %q, %v", p, err)
	}
	r.close()
	r.close()
	if _, err := r.take(context.Background()); err == nil {
		t.Error("a closed reader reads")
	}
}

// Whatever the pieces, each reader gets an end of the output that begins at most Replay before
// where it came.
func TestFeedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(true)
		type follower struct {
			r    *reader
			from int64
			got  []byte
		}
		var all []byte
		var followers []*follower
		takeAll := func(w *follower) {
			for {
				p, err := w.r.takeNow()
				if err != nil {
					t.Fatalf("%v", err)
				}
				if len(p) == 0 {
					return
				}
				w.got = append(w.got, p...)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				piece := bytes.Repeat([]byte(rapid.SampledFrom([]string{"a", "é", "日", "😀", "\xff"}).Draw(t, "rune")), rapid.IntRange(1, 50_000).Draw(t, "times"))
				piece = piece[rapid.IntRange(0, min(3, len(piece)-1)).Draw(t, "skip"):]
				for _, w := range followers {
					takeAll(w)
				}
				f.write(piece[:min(len(piece), 60<<10)])
				all = append(all, piece[:min(len(piece), 60<<10)]...)
			case 1:
				r, _ := f.subscribe(nil)
				followers = append(followers, &follower{r: r, from: r.pos})
			case 2:
				for _, w := range followers {
					takeAll(w)
				}
			}
		}
		f.closed, f.partial = true, 0
		for _, w := range followers {
			for {
				p, err := w.r.takeNow()
				if err != nil {
					break
				}
				w.got = append(w.got, p...)
			}
			if !bytes.Equal(w.got, all[w.from:]) {
				t.Fatalf("%d bytes from %d of %d are not the end", len(w.got), w.from, len(all))
			}
		}
		if got := f.tail(Replay); !bytes.HasSuffix(all, got) || len(got) < min(len(all), Replay-3) {
			t.Fatalf("the tail of %d bytes", len(got))
		}
	})
}
