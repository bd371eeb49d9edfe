// Package gatewaycmd is the command gateway: it puts the configuration, the
// project's commands and runs, its heartbeat, and the agents together with a
// [gateway.Gateway], and serves until a signal comes.
package gatewaycmd
