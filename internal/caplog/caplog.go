// Package caplog keeps what programs print in files that are bounded, and leave
// the disk some room.
//
// [New] opens a [Log]; what a program prints goes in by [Log.Write], and [Log.Lacks] says what did
// not fit.
package caplog

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// look is how many bytes are written between two looks at the free disk.
const look = 16 << 20

// Log is such a file. What keeps it from being whole ends the log and never the
// program: see [Log.Lacks]. It may be used by several goroutines.
type Log struct {
	open       func() (*os.File, error)
	max, floor int64

	mu      sync.Mutex
	file    *os.File
	path    string
	written int64
	next    int64 // look at the free disk once this much is written
	lacks   string
	ended   bool
}

// New makes a log of the file that open gives, which is called with the first
// byte; where that file holds something, the log goes on behind it. max bounds the
// file, and floor is the free disk that it leaves, both in bytes.
func New(open func() (*os.File, error), max, floor int64) *Log {
	return &Log{open: open, max: max, floor: floor}
}

// Write implements io.Writer. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(p)
	return len(p), nil
}

func (l *Log) write(p []byte) {
	if l.ended || l.file == nil && !l.begin() || l.written >= l.next && !l.room() {
		return
	}
	if left := max(l.max-l.written, 0); int64(len(p)) > left {
		p = p[:left]
		defer l.end(fmt.Sprintf("the log ends after %d bytes, the most that one may hold (log.max)", l.max))
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	if err != nil {
		l.end(fmt.Sprintf("the log ends after %d bytes: %v", l.written, err))
	}
}

func (l *Log) begin() bool {
	f, err := l.open()
	if err != nil {
		l.end(fmt.Sprintf("no log is kept: %v", err))
		return false
	}
	l.file, l.path = f, f.Name()
	if st, err := f.Stat(); err == nil {
		l.written, l.next = st.Size(), st.Size()
	}
	return true
}

func (l *Log) room() bool {
	l.next = l.written + look
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(l.file.Fd()), &st); err != nil {
		return true // a file system that can't say: the write itself will
	}
	if free := int64(st.Bavail) * st.Bsize; free < l.floor {
		l.end(fmt.Sprintf("the log ends after %d bytes: only %d MiB of disk are free", l.written, free>>20))
		return false
	}
	return true
}

func (l *Log) end(lacks string) {
	l.ended = true
	if l.lacks == "" {
		l.lacks = lacks
	}
}

// Close closes the file. What is written later is lost. It may be called more
// than once.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.file == nil {
		return
	}
	if err := l.file.Close(); err != nil && l.lacks == "" {
		l.lacks = fmt.Sprintf("the log may be short: %v", err)
	}
	l.file = nil
}

// Path is the file's path, "" while there is none.
func (l *Log) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path
}

// Lacks says what keeps the log from being whole; "" for nothing.
func (l *Log) Lacks() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lacks
}
