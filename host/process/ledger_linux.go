package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lineSize is the fixed length of a ledger's lines.
const lineSize = 64

// ledger is a file in memory that we and the guard share: the prefix of the tokens and our session
// on its first line, and a line for every group that lives. We write lines in place; the guard
// reads them when we are gone. A message for each would wake the guard, on a busy machine in place
// of the program that has just been started.
type ledger struct {
	file  *os.File
	lines map[int]int64 // by group
	free  []int64
}

func (l *ledger) open(t tags) error {
	fd, err := unix.MemfdCreate(guardName, unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	l.file, l.lines = os.NewFile(uintptr(fd), "ledger"), make(map[int]int64)
	return l.write(0, fmt.Sprintf("%s %d", t.prefix, t.session))
}

// write replaces a line. One write of so little is done or not done, even if we are killed in it.
func (l *ledger) write(line int64, text string) error {
	_, err := l.file.WriteAt(fmt.Appendf(nil, "%-*s\n", lineSize-1, text), line*lineSize)
	return err
}

func (l *ledger) enter(id int, serial, start uint64) error {
	line := int64(len(l.lines) + 1)
	if n := len(l.free); n > 0 {
		line, l.free = l.free[n-1], l.free[:n-1]
	}
	if err := l.write(line, fmt.Sprintf("%d %d %d", id, serial, start)); err != nil {
		l.free = append(l.free, line)
		return err
	}
	l.lines[id] = line
	return nil
}

func (l *ledger) leave(id int) {
	line, known := l.lines[id]
	if !known {
		return
	}
	delete(l.lines, id)
	l.free = append(l.free, line)
	// A line that stays names a group that is gone; the guard sees that it is.
	_ = l.write(line, "")
}

// readLedger is the guard's side.
func readLedger(file *os.File) (t tags, groups map[int]guardedGroup) {
	groups = make(map[int]guardedGroup)
	info, err := file.Stat()
	if err != nil {
		return tags{}, groups
	}
	text := make([]byte, info.Size())
	n, _ := file.ReadAt(text, 0) // on an error what was read still counts
	first, rest, _ := strings.Cut(string(text[:n]), "\n")
	for line := range strings.Lines(rest) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		id, err := strconv.Atoi(fields[0])
		start, startErr := strconv.ParseUint(fields[2], 10, 64)
		if err == nil && startErr == nil && id > 1 {
			groups[id] = guardedGroup{serial: fields[1], start: start}
		}
	}
	prefix, number, _ := strings.Cut(strings.TrimSpace(first), " ")
	session, err := strconv.Atoi(number)
	if err != nil {
		return tags{}, groups
	}
	return newTags(prefix, session), groups
}
