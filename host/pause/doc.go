// Package pause is the state folder of one run, which its steps are given. It
// follows the state-directory contract of agent-compose, so that steps and other
// runners can read it:
//
//	agent-<id>.json        the state of a loop
//	runtime-<id>.json      what a runtime needs, opaque
//	checkpoints/<name>.json  a value that was computed once; null is one
//	pauses/<id>.json       a [Record]: what was asked, and how it was resolved
//
// Steps can write there, too. So the records of pauses are copies for reading
// ([Store.Publish]), and whoever asks keeps what was asked and decided elsewhere.
//
// Every file is replaced whole and flushed before the call returns. A file that
// can't be read is a [CorruptError] and stays as it is, until somebody sets it
// aside: to treat it as missing would run again what was done.
//
// The package also holds the three ways to wait, [Decision], [Sleep] and
// [Event], and the [Context] that travels with a run.
package pause
