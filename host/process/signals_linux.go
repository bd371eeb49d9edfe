package process

import (
	"os"
	"os/signal"
	"syscall"
)

// dropped takes signals that nobody reads: for this process that is the same as ignoring them.
var dropped = make(chan os.Signal, 1)

// unignore sees to it that programs start with the usual reaction to the signals that end them.
// What a process ignores, its children inherit: under nohup, or started by a runtime that ignores
// SIGPIPE, a program would outlive its hang-up or complain in "yes | head". What a process catches,
// they do not.
func unignore() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE} {
		if signal.Ignored(s) {
			signal.Notify(dropped, s)
		}
	}
}
