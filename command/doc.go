// Package command turns one prompt into one command of an allow-list, or
// refuses it.
//
// A prompt is split into words by a grammar of its own ([Split]), not by a
// shell. The words select an entry of the [Registry], which holds the built-in
// commands, the commands of the project's manifest ([Manifest]) and the verbs
// of a chant program, and nothing else. [Registry.Parse] checks the arguments
// against what the entry declares and returns an [Invocation]: a complete argv,
// directory and environment. Nothing that a prompt says is ever split or
// interpreted a second time on its way there.
//
// The package starts no program and knows no protocol.
package command
