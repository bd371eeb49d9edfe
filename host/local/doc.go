// Package local runs Ops on this machine, as processes of this user, and keeps a
// journal of every run.
//
// Below the folder of runs, by project:
//
//	<project>/<run>/run.json        what was asked; never changed
//	<project>/<run>/journal.jsonl   what happened and was decided, one entry a line
//	<project>/<run>/asked-<digest>.json  what a gate asked about (host/subject)
//	<project>/<run>/state/          what steps are given: a host/pause store
//	<project>/<run>/output.log      what its steps printed
//	<project>/<run>/lock            held (flock) while something of it runs
//	<project>/.open/<identity>      the id of the newest run of an identity
//
// <project> is made of the project's real path. The identity of a run is its
// project, Op, environment and parameters; the file of its name is also the lock
// under which runs of it are begun, so that one is open at a time.
//
// An entry is written and flushed before the act that it tells of: a step that
// has begun may have run, one that has not did not, and one recorded as complete
// is never run again. The lock is held by the process that runs the steps and by
// its guard (host/process), which lets go of it when the last process is gone. A
// journal that says a run is under way, with nobody holding its lock, is that of
// an interrupted run.
//
// Those who decide about a run, or ask for its end, append to the journal, too, each
// under a lock of that file (flock) for as long as it writes. What steps are given of
// it are copies, which nothing here reads.
//
// What can't be understood is renamed, never emptied, and the run is told of as
// unreadable.
//
// Begin at [Runtime.StartOp] in start.go, which takes a line's wishes; segment.go is what a process
// does of a run, and decide.go what people do. host.OpEvents come out.
package local
