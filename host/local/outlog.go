package local

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

const (
	maxLog    = 1 << 30   // of a run's output, in bytes
	logFloor  = 512 << 20 // of the disk that it leaves free
	floorStep = 16 << 20  // between two looks at the disk
)

// outputLog keeps what the steps of a run print. What keeps it from being whole
// ends the log and never the run.
type outputLog struct {
	mu      sync.Mutex
	f       *os.File
	written int64
	look    int64
	lacks   string
}

// openLog opens the log to go on with it.
func openLog(path string) *outputLog {
	l := new(outputLog)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		l.lacks = fmt.Sprintf("no log is kept: %v", err)
		return l
	}
	l.f = f
	if st, err := f.Stat(); err == nil {
		l.written, l.look = st.Size(), st.Size()
	}
	return l
}

// Write never fails: see lack.
func (l *outputLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := len(p)
	if l.lacks != "" || !l.room() {
		return whole, nil
	}
	if left := maxLog - l.written; int64(len(p)) > left {
		p = p[:left]
		l.lacks = fmt.Sprintf("the log ends after %d bytes, the most that one may hold", int64(maxLog))
	}
	n, err := l.f.Write(p)
	l.written += int64(n)
	if err != nil {
		l.lacks = fmt.Sprintf("the log ends after %d bytes: %v", l.written, err)
	}
	return whole, nil
}

// room looks at the free disk from time to time.
func (l *outputLog) room() bool {
	if l.written < l.look {
		return true
	}
	l.look = l.written + floorStep
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(l.f.Fd()), &st); err != nil {
		return true // a file system that can't say: the write itself will
	}
	if free := int64(st.Bavail) * st.Bsize; free < logFloor {
		l.lacks = fmt.Sprintf("the log ends after %d bytes: only %d MiB of disk are free", l.written, free>>20)
		return false
	}
	return true
}

// lack says why the log is not whole; "" where it is.
func (l *outputLog) lack() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lacks
}

func (l *outputLog) close() {
	if l.f != nil {
		_ = l.f.Close()
	}
}
