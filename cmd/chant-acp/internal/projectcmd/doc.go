// Package projectcmd holds the commands that look at what a project brings: check
// (its manifest), ops, and allow (what of it may run at all).
package projectcmd
