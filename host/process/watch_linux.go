package process

import (
	"context"
	"os"
	"time"
)

const (
	// watchPause lies between two attempts to replace a guard that can't be replaced, or that die
	// again and again.
	watchPause = time.Second
	// manyDeaths is how many guards may live for less than that, one after the other, before there
	// is a pause.
	manyDeaths = 5
)

// watch replaces a guard that dies while programs run: until then nothing would end them if this
// process died, too.
type watch struct {
	programs int // supervised now; under the lock of guardClient
	quit     chan struct{}
	ended    chan struct{}
}

// startWatch is called with the lock of guardClient held, and a guard.
func startWatch(c *guardClient) *watch {
	w := &watch{quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run(c, c.conn)
	return w
}

// stop ends the watch over conn, which may be nil. It is called with the lock of guardClient held,
// and does not wait for the end.
func (w *watch) stop(conn *os.File) {
	close(w.quit)
	if conn != nil {
		_ = conn.SetReadDeadline(time.Now())
	}
}

// run waits for the end of a guard, and starts the next.
func (w *watch) run(c *guardClient, conn *os.File) {
	defer close(w.ended)
	for deaths := 0; ; {
		began := time.Now()
		if conn != nil {
			// A guard that is ready says nothing: Read returns when it is gone, when ensure has
			// replaced it, or by stop.
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.SetReadDeadline(time.Time{})
		}
		deaths++
		if time.Since(began) > watchPause {
			deaths = 0
		}
		var err error
		if conn, err = w.replace(c); err == nil && deaths < manyDeaths {
			continue
		}
		select { // an error is reported by the next Start
		case <-w.quit:
			return
		case <-time.After(watchPause):
		}
	}
}

func (w *watch) stopped() bool {
	select {
	case <-w.quit:
		return true
	default:
		return false
	}
}

// replace returns the socket of a guard that lives.
func (w *watch) replace(c *guardClient) (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.stopped() {
		return nil, context.Canceled
	}
	err := c.ensure(context.Background())
	return c.conn, err
}
