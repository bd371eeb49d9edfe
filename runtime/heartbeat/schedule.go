package heartbeat

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// A Schedule says when a job runs: by Every or by Cron, one of which is set.
type Schedule struct {
	// Every is the time between two ticks, whole seconds from [MinEvery] to
	// [MaxEvery]. Ticks are the multiples of it since 1970-01-01 00:00 UTC, so
	// that they are the same after a restart; 0 where Cron counts.
	Every time.Duration
	// Cron has five fields as in crontab(5), in UTC; "" where Every counts.
	Cron string
	// Jitter puts each tick off by less than this, and never to the next tick or
	// beyond. By how much depends on the workspace, the job and the tick alone.
	Jitter time.Duration
	// SkipMissed leaves out what could not run when it was due, because nothing ran
	// it (catch-up: skip). Else all that was missed is one run.
	SkipMissed bool

	cron *cron
}

// String is the schedule in words: "every 10m, jitter 30s".
func (s Schedule) String() string {
	text := "cron " + s.Cron
	if s.Every > 0 {
		text = "every " + brief.Duration(s.Every)
	}
	if s.Jitter > 0 {
		text += ", jitter " + brief.Duration(s.Jitter)
	}
	if s.SkipMissed {
		text += ", catch-up skip"
	}
	return text
}

// next is the first tick after t; the zero time when there is none.
func (s Schedule) next(t time.Time) time.Time {
	if s.Every > 0 {
		return s.last(t).Add(s.Every)
	}
	at, _ := s.cron.next(t)
	return at
}

// last is the last tick up to and with t; the zero time when there is none.
func (s Schedule) last(t time.Time) time.Time {
	if s.Every == 0 {
		at, _ := s.cron.last(t)
		return at
	}
	every := int64(s.Every / time.Second)
	behind := t.Unix() % every
	if behind < 0 {
		behind += every
	}
	return time.Unix(t.Unix()-behind, 0).UTC()
}

// due is when the job's tick is to run.
func (j Job) due(workspace string, tick time.Time) time.Time {
	if j.Schedule.Jitter == 0 || tick.IsZero() {
		return tick
	}
	most := j.Schedule.Jitter
	if next := j.Schedule.next(tick); !next.IsZero() {
		most = min(most, next.Sub(tick))
	}
	sum := sha256.New()
	_, _ = sum.Write([]byte(workspace + "\x00" + j.ID)) // never fails
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(tick.Unix()))
	_, _ = sum.Write(b[:])
	offset := binary.BigEndian.Uint64(sum.Sum(nil)) % uint64(most)
	return tick.Add(time.Duration(offset))
}

// Next is when the job runs first after t, in a workspace given by its real path:
// the first tick whose jitter does not end before t. The zero time is never.
func (j Job) Next(workspace string, t time.Time) time.Time {
	if tick := j.Schedule.last(t); !tick.IsZero() {
		if due := j.due(workspace, tick); due.After(t) {
			return due
		}
	}
	return j.due(workspace, j.Schedule.next(t))
}

// lastDue is the last tick that was due at t. Jitter never reaches the next
// tick, so it is the last one, or the one before.
func (j Job) lastDue(workspace string, t time.Time) time.Time {
	tick := j.Schedule.last(t)
	if tick.IsZero() || !j.due(workspace, tick).After(t) {
		return tick
	}
	return j.Schedule.last(tick.Add(-time.Second))
}
