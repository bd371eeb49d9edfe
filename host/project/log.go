package project

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/chant-acp/chant-acp/internal/stateroot"
)

// floorStep is how many bytes are written between two looks at the free disk.
const floorStep = 16 << 20

// turnLog keeps the whole output of one turn in a file. The file is made with
// the first byte; what keeps it from being whole ends the log and never the
// program.
type turnLog struct {
	dir, name  string
	max, floor int64

	mu      sync.Mutex
	file    *os.File
	path    string
	written int64
	look    int64 // look at the free disk once this much is written
	lacks   string
	ended   bool
}

func newTurnLog(o Options, name string) *turnLog {
	l := &turnLog{dir: o.LogDir, name: name, max: o.LogMax, floor: o.LogFloor}
	if o.LogDir == "" {
		l.end("no log is kept: there is no folder for it")
	}
	return l
}

func (l *turnLog) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if l.file == nil && !l.create() {
		return
	}
	if l.written >= l.look && !l.checkFloor() {
		return
	}
	if room := l.max - l.written; int64(len(p)) > room {
		p = p[:room]
		defer l.end(fmt.Sprintf("the log ends after %d bytes, the most that one may hold (log.max)", l.max))
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	if err != nil {
		l.end(fmt.Sprintf("the log ends after %d bytes: %v", l.written, err))
	}
}

func (l *turnLog) create() bool {
	if err := stateroot.Make(l.dir); err != nil {
		l.end(fmt.Sprintf("no log is kept: %v", err))
		return false
	}
	path := filepath.Join(l.dir, l.name+".log")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		l.end(fmt.Sprintf("no log is kept: %v", err))
		return false
	}
	l.file, l.path = f, path
	return true
}

func (l *turnLog) checkFloor() bool {
	l.look = l.written + floorStep
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

// end stops the log for good; the caller holds the lock, or owns the log alone.
func (l *turnLog) end(lacks string) {
	l.ended = true
	if l.lacks == "" {
		l.lacks = lacks
	}
}

// close closes the file; it may be called more than once.
func (l *turnLog) close() {
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

// Path is the log file's path, "" while there is none.
func (l *turnLog) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path
}

// Lacks says what keeps the log from being whole; "" for nothing.
func (l *turnLog) Lacks() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lacks
}
