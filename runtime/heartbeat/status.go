package heartbeat

import "time"

// A Status is what a workspace's heartbeat is about, as the files say it.
type Status struct {
	Workspace string // its real path
	// File is what was read; nil where there is none, or it must not be used, in
	// which case FileErr says why.
	File    *File
	FileErr error
	// Grant is the yes that is kept, to this content of the file or another; nil
	// where there is none. GrantErr says why it can't be read.
	Grant    *Grant
	GrantErr error
	// Alive says that a loop runs for the workspace.
	Alive bool
	// Jobs are those of the file, in its order. StateErr says why nothing is
	// known of their runs.
	Jobs     []JobStatus
	StateErr error
}

// JobStatus is a job and what is known of it.
type JobStatus struct {
	Job
	// Last is the last run, or the one that is open; nil where there was none.
	Last *Run
	// Skipped counts the ticks since Last began that were not run.
	Skipped int
	// Missed counts the ticks that came and went while no loop ran, up to MaxMissed;
	// MissedSince is when the first of them was due. The next loop makes one run of
	// them, or none, as Schedule.SkipMissed says.
	Missed      int
	MissedSince time.Time
	// Next is when the job is due. A time that is over is that of a run that is
	// late, because no loop runs. The zero time is never.
	Next time.Time
}

// Trusted says whether the file's present content is trusted.
func (s *Status) Trusted() bool {
	return s.File != nil && s.Grant != nil && s.Grant.Digest == s.File.Digest
}

// Look reads how things stand and changes nothing. stateDir is the state root,
// workspace any path of the workspace, now what the next runs are reckoned from.
func Look(stateDir, workspace string, now time.Time) (*Status, error) {
	real, err := Workspace(workspace)
	if err != nil {
		return nil, err
	}
	store := newStore(stateDir, real)
	s := &Status{Workspace: real, Alive: store.locked()}
	s.File, s.FileErr = Read(real)
	s.Grant, s.GrantErr = store.readGrant(real)
	states, err := store.readState(real)
	s.StateErr = err
	if s.File != nil && s.File.Err == nil {
		for _, j := range s.File.Plan.Jobs {
			s.Jobs = append(s.Jobs, s.job(j, states[j.ID], now))
		}
	}
	return s, nil
}

// job puts together what is known of one.
func (s *Status) job(j Job, st *JobState, now time.Time) JobStatus {
	js := JobStatus{Job: j, Next: j.Next(s.Workspace, now)}
	if st == nil {
		return js
	}
	js.Last, js.Skipped = st.Last, st.Skipped
	if !s.Alive && st.Last.Open() && !st.Last.outlives() {
		last := *st.Last // the next loop writes it down
		last.Outcome = interrupted()
		js.Last = &last
	}
	if !s.Trusted() {
		return js
	}
	tick := st.Tick
	if given := j.lastDue(s.Workspace, s.Grant.At); given.After(tick) {
		tick = given
	}
	if !s.Alive {
		js.Missed, js.MissedSince = j.missedSince(s.Workspace, tick, now)
		if js.Missed == 0 || !j.Schedule.SkipMissed {
			js.Next = j.due(s.Workspace, j.Schedule.next(tick)) // a run that is late comes when a loop runs
		}
	}
	return js
}

// MaxMissed is up to where missed ticks are counted.
const MaxMissed = 1000

// missedSince counts the ticks after one that were due at now.
func (j Job) missedSince(workspace string, tick, now time.Time) (n int, since time.Time) {
	for n < MaxMissed {
		if tick = j.Schedule.next(tick); tick.IsZero() {
			break
		}
		due := j.due(workspace, tick)
		if due.After(now) {
			break
		}
		if n == 0 {
			since = due
		}
		n++
	}
	return n, since
}
