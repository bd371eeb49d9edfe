// Package session keeps what runs: ACP agents, terminals and raw processes, each a child in a group
// of its own under the guard of [host/process].
//
// A terminal is read at the pace of its watchers that make progress. One that has something to take
// and takes nothing for [StallLimit] is dropped with [ErrStalled], and the rest go on; with no
// watcher the terminal runs free into a ring, of which the last [Replay] bytes are what a newcomer
// sees first.
//
// An agent is any program that speaks the Agent Client Protocol on its standard input and output.
// The client here offers it neither files nor terminals, and answers no permission request by
// itself: each waits for [Session.Answer], and is cancelled with its turn.
//
// What has ended stays listed, after a restart too, until it is forgotten.
//
// Begin at [Open], which makes the [Registry]; it starts a [Session] of each kind.
package session
