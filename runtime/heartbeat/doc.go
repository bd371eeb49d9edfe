// Package heartbeat runs the command lines of a workspace's HEARTBEAT.md on
// their schedules, once a person has said yes to what the file holds.
//
// The file is Markdown. Its fenced code blocks of the language chant hold
// settings and command lines ([Parse]); everything else is for people. It comes
// with the workspace and is input: it is read in bounds, never through a link
// out of the workspace ([Read]), and counts only while the SHA-256 of its
// content is the one that was trusted ([Trust]). The bytes whose digest is
// taken are the bytes that are parsed, so a file that changes in between cannot
// slip through.
//
// [Heartbeat.Run] is the loop. What it runs a line with is the caller's: the
// allow-list, confirmation and gates are the agent's matter, as for any other
// turn.
//
// Grants and state are files below the state root, per workspace, by its real
// path.
package heartbeat
