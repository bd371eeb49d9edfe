package gitstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// An entry is one file of the index, see gitformat-index(5).
type entry struct {
	stat  [statFields]uint32
	mode  uint32
	id    []byte
	flags uint16
	more  uint16 // the extended flags
	name  string // with slashes; a folder's ends in one
}

// Fields of entry.stat.
const (
	ctimeSeconds = iota
	ctimeNanoseconds
	mtimeSeconds
	mtimeNanoseconds
	device
	inode
	user
	group
	size
	statFields
)

// Modes of entries.
const (
	modeType    = 0o170000
	modeFolder  = 0o040000 // of a sparse index
	modeRegular = 0o100000
	modeLink    = 0o120000
	modeModule  = 0o160000
	modeExec    = 0o000100
)

func (e *entry) stage() int            { return int(e.flags >> 12 & 3) }
func (e *entry) assumeUnchanged() bool { return e.flags&0x8000 != 0 }
func (e *entry) skipWorktree() bool    { return e.more&0x4000 != 0 }
func (e *entry) intentToAdd() bool     { return e.more&0x2000 != 0 }

const (
	maxPath = 4096 // bytes of a name
	// maxNames is what all names may take, in bytes: in version 4 few bytes make
	// a long name.
	maxNames = 128 << 20
)

var errIndex = errors.New("the index can't be read")

// readIndex reads the index of a repository. None is an empty one.
func (r *repository) readIndex() ([]entry, error) {
	data, written, err := readDated(r.git, "index", maxIndex)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.written = written
	return parseIndex(data, r.hash)
}

// parseIndex reads an index of version 2, 3 or 4. Its entries are in the order of
// their names, each a path that leads nowhere but below the work tree.
func parseIndex(data []byte, h hashKind) ([]entry, error) {
	if len(data) < 12+h.size || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	body := data[12 : len(data)-h.size] // the checksum is git's own business
	fixed := 4*10 + h.size + 2
	if version < 2 || version > 4 || uint64(count) > uint64(len(body)/fixed) {
		return nil, errIndex
	}
	p := indexParser{hash: h, version: version, rest: body}
	entries, names := make([]entry, 0, count), 0
	for range count {
		e, ok := p.entry()
		if names += len(e.name); !ok || names > maxNames || !isPath(e.name) || len(entries) > 0 && !inOrder(&entries[len(entries)-1], &e) {
			return nil, errIndex
		}
		entries = append(entries, e)
	}
	return entries, checkExtensions(p.rest)
}

// indexParser reads the entries of an index, whose names may be told as a difference
// from the one before (version 4).
type indexParser struct {
	hash    hashKind
	version uint32
	rest    []byte
	name    []byte // of the entry before
}

// entry reads the next entry.
func (p *indexParser) entry() (e entry, ok bool) {
	began := len(p.rest)
	if len(p.rest) < 4*10+p.hash.size+2 {
		return e, false
	}
	var fields [10]uint32
	for i := range fields {
		fields[i] = p.number()
	}
	e.mode = fields[6]
	copy(e.stat[:], fields[:6])
	copy(e.stat[user:], fields[7:])
	e.id, p.rest = p.rest[:p.hash.size], p.rest[p.hash.size:]
	e.flags, _ = p.short()
	if e.flags&0x4000 != 0 {
		if e.more, ok = p.short(); !ok || p.version < 3 {
			return e, false
		}
	}
	if p.version == 4 {
		strip, n := stripped(p.rest)
		if n <= 0 || strip > uint64(len(p.name)) {
			return e, false
		}
		p.rest = p.rest[n:]
		p.name = p.name[:len(p.name)-int(strip)]
	} else {
		p.name = p.name[:0]
	}
	end := bytes.IndexByte(p.rest, 0)
	if end < 0 {
		return e, false
	}
	p.name = append(p.name, p.rest[:end]...)
	e.name = string(p.name)
	p.rest = p.rest[end:]
	padding := 1
	if p.version < 4 { // entries take a multiple of eight
		padding = 8 - (began-len(p.rest))%8
	}
	if len(p.rest) < padding {
		return e, false
	}
	p.rest = p.rest[padding:]
	return e, true
}

func (p *indexParser) number() uint32 {
	n := binary.BigEndian.Uint32(p.rest)
	p.rest = p.rest[4:]
	return n
}

func (p *indexParser) short() (n uint16, ok bool) {
	if len(p.rest) < 2 {
		return 0, false
	}
	n = binary.BigEndian.Uint16(p.rest)
	p.rest = p.rest[2:]
	return n, true
}

// stripped reads how much of the name before an entry of version 4 does not share,
// and how many bytes say so; 0 for an error. The encoding is that of offsets in
// packs.
func stripped(data []byte) (strip uint64, n int) {
	in := bytes.NewReader(data)
	back, err := offsetBack(in)
	if err != nil {
		return 0, 0
	}
	return uint64(back), len(data) - in.Len()
}

// isPath says whether a name leads to a file below the work tree that is none of
// git's own.
func isPath(name string) bool {
	if name == "" || len(name) > maxPath || strings.Count(name, "/") > maxDepth || !filepath.IsLocal(name) {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// inOrder says whether an entry follows another one: by name, then by stage.
func inOrder(before, e *entry) bool {
	if c := strings.Compare(before.name, e.name); c != 0 {
		return c < 0
	}
	return before.stage() < e.stage()
}

// checkExtensions looks at what follows the entries. What begins with a small
// letter changes their meaning: of these, sdir (entries for whole folders) is known
// here, and link (a split index) is not.
func checkExtensions(data []byte) error {
	for len(data) > 0 {
		if len(data) < 8 {
			return errIndex
		}
		name, length := string(data[:4]), binary.BigEndian.Uint32(data[4:])
		if (name[0] < 'A' || name[0] > 'Z') && name != "sdir" || uint64(length) > uint64(len(data)-8) {
			return errIndex
		}
		data = data[8+length:]
	}
	return nil
}
