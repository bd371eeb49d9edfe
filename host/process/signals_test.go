package process

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// What this process ignores, as under nohup, programs do not. It stays caught afterwards:
// signal.Reset would leave it ignored and say that it is not.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		name   string
	}{{syscall.SIGHUP, "HUP"}, {syscall.SIGINT, "INT"}, {syscall.SIGQUIT, "QUIT"}, {syscall.SIGTERM, "TERM"}, {syscall.SIGPIPE, "PIPE"}} {
		t.Run(c.name, func(t *testing.T) {
			signal.Ignore(c.signal)
			p, err := Start(context.Background(), shell("kill -"+c.name+" $$; echo survived"))
			if err != nil {
				t.Fatal(err)
			}
			if e := p.Wait(); e.Signal != "SIG"+c.name {
				t.Errorf("ended %+v, want by SIG%s", e, c.name)
			}
		})
	}
}
