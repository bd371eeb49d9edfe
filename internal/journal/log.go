package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Begin makes the first lines of a new file: the header, whose members follow the
// name and the version, and objects. Both are given as what encoding/json makes
// objects with a member or more of. The caller puts them in a file in one step, so
// that a file with less than a first line is damage.
func (f Format) Begin(header any, objects ...any) ([]byte, error) {
	b := fmt.Appendf(nil, `{"format":%q,"version":%d,`, f.Name, f.Version)
	var c chain
	s := newSummer()
	for i, v := range append([]any{header}, objects...) {
		start := len(b)
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			start, text = 0, text[1:]
		}
		b = s.seal(&c, append(b, text...), start)
		if len(b)-start > f.MaxLine {
			return nil, fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, len(b)-start, f.MaxLine)
		}
	}
	return b, nil
}

// A Log is an open file. It is for one goroutine at a time, but for Lines, which
// may be called by several beside each other and beside Append.
type Log struct {
	f      *os.File
	format Format
	first  int64 // where the second line begins
	end    int64 // of what this Log has written or looked at
	chain  chain // at end
	sums   *summer
	buf    []byte
}

// Open reads the first line of a file, which it returns without its sum. Errors:
// *Damage, *VersionError. The file stays the caller's.
func Open(file *os.File, f Format) (*Log, []byte, error) {
	l := &Log{f: file, format: f, sums: newSummer()}
	line, err := l.readFirst()
	if err != nil {
		return nil, nil, err
	}
	// The version before the sum: a newer one may have another.
	var h struct {
		Format  string
		Version int
	}
	if err := json.Unmarshal(line, &h); err != nil || h.Format != f.Name || h.Version < 1 {
		return nil, nil, &Damage{1, 0, fmt.Sprintf("is not the beginning of a %q", f.Name)}
	}
	if h.Version != f.Version {
		return nil, nil, &VersionError{h.Version, f.Version}
	}
	if !l.sums.follows(nil, line) {
		return nil, nil, &Damage{1, 0, changed}
	}
	l.first = int64(len(line)) + 1
	l.end, l.chain = l.first, after(line)
	return l, object(line), nil
}

const changed = "is not what was written: its checksum, or that of the line before, is another"

// readFirst returns the first line without its newline.
func (l *Log) readFirst() ([]byte, error) {
	raw := make([]byte, 4<<10)
	for {
		n, err := l.f.ReadAt(raw, 0)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if i := bytes.IndexByte(raw[:n], '\n'); i >= 0 {
			return raw[:i], nil
		}
		if n < len(raw) || n > l.format.MaxLine {
			return nil, &Damage{1, 0, fmt.Sprintf("has no end in the %d bytes of the file", n)}
		}
		raw = make([]byte, min(len(raw)*16, l.format.MaxLine+1))
	}
}

// First is where the second line begins.
func (l *Log) First() int64 { return l.first }

// Settled is where this Log last saw the file end.
func (l *Log) Settled() int64 { return l.end }

// stat does not ask for the times: a kernel that was asked gives the next write
// a time of its own, instead of that of the tick, and writes the inode for it.
func (l *Log) stat() (size int64, links uint32, err error) {
	fd := int(l.f.Fd())
	var sx unix.Statx_t
	const mask = unix.STATX_SIZE | unix.STATX_NLINK
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, &sx) == nil && sx.Mask&mask == mask {
		return int64(sx.Size), sx.Nlink, nil
	}
	var st unix.Stat_t // an old kernel, or a sandbox that does not know the call
	err = unix.Fstat(fd, &st)
	return st.Size, uint32(st.Nlink), err
}

// Extent is where the last whole line ends. What lies before never changes. Errors:
// *Damage; what lies before that can still be read.
func (l *Log) Extent() (int64, error) {
	size, _, err := l.stat()
	if err != nil {
		return 0, err
	}
	return l.extent(size)
}

// extent is where the whole lines of a file of that size end. What was acknowledged and
// is not there any more is a Damage.
func (l *Log) extent(size int64) (int64, error) {
	if size > l.format.MaxSize+int64(l.format.MaxLine) {
		return l.end, &Damage{0, l.end, fmt.Sprintf("is of a file of %d bytes, more than one may have", size)}
	}
	end, tail, err := l.wholeEnd(size)
	if err != nil {
		return l.end, err
	}
	if end < l.end {
		return end, &Damage{0, end, fmt.Sprintf("is gone: the file was cut to %d bytes", size)}
	}
	if len(tail) > 0 {
		c, err := l.chainAt(end)
		if err != nil {
			return l.end, err
		}
		if lostEnd(c, tail) {
			return end, &Damage{0, end, "has lost its newline"}
		}
	}
	return end, nil
}

// lostEnd says whether what lies behind the last newline holds a whole line and
// more, which no crash leaves, but for zeros in the place of what was not written.
func lostEnd(c chain, tail []byte) bool {
	s := newSummer()
	tail = bytes.TrimRight(tail, "\x00")
	for from := 0; ; {
		i := bytes.Index(tail[from:], []byte(sumStart))
		if i < 0 {
			return false
		}
		from += i + 1
		if end := from - 1 + tailLen; end < len(tail) && s.follows(c, tail[:end]) {
			return true
		}
	}
}

// chainAt is the chain at a position where a line ends.
func (l *Log) chainAt(at int64) (chain, error) {
	n := int64(sumLen + len(sumEnd) + 1)
	if at < n {
		return nil, &Damage{0, at, "does not begin where a line ended"}
	}
	var raw [sumLen + len(sumEnd) + 1]byte
	if _, err := l.f.ReadAt(raw[:], at-n); err != nil {
		return nil, err
	}
	if string(raw[sumLen:]) != sumEnd+"\n" {
		return nil, &Damage{0, at, "does not begin where a line ended"}
	}
	return raw[:sumLen], nil
}

// wholeEnd is the end of the last whole line in the first size bytes, and what lies
// behind it.
func (l *Log) wholeEnd(size int64) (int64, []byte, error) {
	buf := make([]byte, 0)
	for n := int64(1); ; n *= 64 { // most often the last byte is the newline
		n = min(n, size, int64(l.format.MaxLine)+1)
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		if _, err := l.f.ReadAt(buf[:n], size-n); err != nil && err != io.EOF {
			return 0, nil, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return size - n + int64(i) + 1, buf[i+1 : n], nil
		}
		if n == size {
			return 0, nil, nil
		}
		if n > int64(l.format.MaxLine) {
			return 0, nil, &Damage{0, size - n, fmt.Sprintf("has more than %d bytes", l.format.MaxLine)}
		}
	}
}

// Settle looks at the lines that this Log has neither written nor looked at, and
// cuts off what a crash left behind the last one. It comes before Append, under the
// lock where several append. Errors: *Damage, ErrRemoved; then the file is as it was.
func (l *Log) Settle() error {
	size, links, err := l.stat()
	switch {
	case err != nil:
		return err
	case links == 0:
		return ErrRemoved
	case size == l.end:
		return nil
	}
	end, err := l.look(size)
	if err == nil && end < size {
		if err = l.f.Truncate(end); err != nil {
			err = fmt.Errorf("cutting off what a crash left: %w", err)
		}
	}
	return err
}

// Verify is Settle for those who only look: it leaves the file as it is.
func (l *Log) Verify() error {
	size, _, err := l.stat()
	if err == nil {
		_, err = l.look(size)
	}
	return err
}

func (l *Log) look(size int64) (int64, error) {
	end, err := l.extent(size)
	if err == nil && end > l.end {
		_, err = l.Lines(l.end, end, func(int64, []byte) error { return nil })
		if err == nil {
			var c chain
			if c, err = l.chainAt(end); err == nil {
				l.end, l.chain = end, c
			}
		}
	}
	return end, err
}

// Append writes n objects as n lines, in one write, after Settle. object appends
// the ith one, which has a member or more, to a buffer. At most MaxSize bytes less
// reserve are kept in a file. Errors: ErrFull, ErrTooLarge, those of object and of
// the write; nothing of the objects is there then.
func (l *Log) Append(reserve int64, n int, object func(i int, b []byte) ([]byte, error)) error {
	if cap(l.buf) > 2*l.format.MaxLine {
		l.buf = nil
	}
	b, c := l.buf[:0], slices.Clone(l.chain)
	for i := range n {
		start := len(b)
		var err error
		if b, err = object(i, b); err != nil {
			return err
		}
		b = l.sums.seal(&c, b, start)
		if len(b)-start > l.format.MaxLine {
			return fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, len(b)-start, l.format.MaxLine)
		}
	}
	l.buf = b
	if int64(len(b)) > l.format.MaxSize-reserve-l.end {
		return fmt.Errorf("%w: it has %d bytes", ErrFull, l.end)
	}
	if _, err := l.f.Write(b); err != nil {
		return l.takeBack(l.end, err)
	}
	l.end, l.chain = l.end+int64(len(b)), c
	return nil
}

// AppendSynced appends one object, and brings it to disk. After an error nothing
// of it is there.
func (l *Log) AppendSynced(object []byte) error {
	end, before := l.end, l.chain
	if err := l.Append(0, 1, func(_ int, b []byte) ([]byte, error) { return append(b, object...), nil }); err != nil {
		return err
	}
	if err := l.f.Sync(); err != nil {
		l.end, l.chain = end, before
		return l.takeBack(end, err)
	}
	return nil
}

// takeBack cuts off what a write has left that failed. Where that fails too, the
// next Settle looks for the end again.
func (l *Log) takeBack(end int64, why error) error {
	if err := l.f.Truncate(end); err != nil {
		return errors.Join(why, fmt.Errorf("taking back what was written of it: %w", err))
	}
	return why
}

// Lines calls f for each line between two positions where lines end, without its
// sum, and returns the position of the first line that f did not take. The line is
// f's until it returns. Errors: *Damage, and those of f.
func (l *Log) Lines(from, to int64, f func(at int64, object []byte) error) (int64, error) {
	if from == to {
		return from, nil
	}
	c, err := l.chainAt(from)
	if err != nil {
		return from, err
	}
	s := newSummer()
	number := 0
	if from == l.first {
		number = 1
	}
	// One byte more than a line may have, so that a longer one is seen.
	r := bufio.NewReaderSize(io.NewSectionReader(l.f, from, to-from), int(min(to-from, int64(l.format.MaxLine)+1)))
	for from < to {
		if number > 0 {
			number++
		}
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return from, &Damage{number, from, fmt.Sprintf("has more than %d bytes", l.format.MaxLine)}
		case err != nil:
			return from, err
		}
		next := from + int64(len(line))
		line = line[:len(line)-1]
		if !s.follows(c, line) {
			return from, &Damage{number, from, changed}
		}
		c = append(c[:0], line[len(line)-len(sumEnd)-sumLen:len(line)-len(sumEnd)]...)
		if err := f(from, object(line)); err != nil {
			return from, err
		}
		from = next
	}
	return from, nil
}
