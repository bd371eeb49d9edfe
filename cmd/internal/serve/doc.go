// Package serve is the agent as a process: its flags, its standard input and
// output, its signals, and the store of its sessions. It does not know the command
// line, which takes longer to build than the agent takes to answer.
//
// Begin at [Run].
package serve
