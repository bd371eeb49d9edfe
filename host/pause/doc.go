// Package pause keeps, in a folder of one run, what the run waits for and what
// was decided. The folder follows the state-directory contract of agent-compose,
// so that steps and other runners can read it:
//
//	agent-<id>.json        the state of a loop
//	runtime-<id>.json      what a runtime needs, opaque
//	checkpoints/<name>.json  a value that was computed once; null is one
//	pauses/<id>.json       a [Record]: what was asked, and how it was resolved
//
// Every file is replaced whole and flushed before the call returns. A file that
// can't be read is a [CorruptError] and stays as it is, until somebody sets it
// aside: to treat it as missing would ask again for what was decided, or run
// again what was done.
//
// The package also holds the three ways to wait, [Decision], [Sleep] and
// [Event], and the [Context] that travels with a run.
package pause
