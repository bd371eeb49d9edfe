// Package acpd finds chant-acpd, the executable beside chant-acp, and starts it.
//
// chant-acp runs a project's commands, and links nothing that speaks HTTP or
// evaluates JavaScript. What needs either is in chant-acpd: the gateway and what
// asks one, the evaluator of *.op.ts, and the requests of HTTP steps. chant-acp
// starts it as a child for one [Task], or becomes it for one command ([Become]).
// Everything else works without it.
//
// Both are built of one source. How the two speak to each other is no protocol
// for others, so they have to be of the same [Version].
package acpd
