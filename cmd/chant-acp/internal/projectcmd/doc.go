// Package projectcmd holds the commands that look at what a project brings: check
// (its manifest), ops, and heartbeat (its HEARTBEAT.md, and whether it is trusted).
package projectcmd
