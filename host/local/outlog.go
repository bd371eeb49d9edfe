package local

import (
	"os"
	"syscall"

	"github.com/chant-acp/chant-acp/internal/caplog"
)

// openLog opens the log of what the steps of the run print, to go on with it.
// Whoever follows the run finds it there.
func (l *segment) openLog() *caplog.Log {
	log := caplog.New(func() (*os.File, error) {
		return os.OpenFile(l.output(), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	}, l.rt.o.LogMax, l.rt.o.LogFloor)
	_, _ = log.Write(nil) // which opens it
	return log
}
