package gitstate

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/chant-acp/chant-acp/internal/trust"
)

const (
	// maxCommit is the largest commit that is read, in bytes.
	maxCommit = 1 << 20
	// maxDeltas is how many objects one may be made of; git makes at most 50 by
	// default.
	maxDeltas = 256
	// maxPacks is how many packs are looked into.
	maxPacks = 10_000
)

var errObject = errors.New("the commit can't be read")

// treeOf is the id of a commit's tree.
func (r *repository) treeOf(commit string) ([]byte, error) {
	text, err := r.loose(commit)
	if errors.Is(err, os.ErrNotExist) {
		text, err = r.fromPacks(commit)
	}
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	id, err := hex.DecodeString(strings.TrimPrefix(line, "tree "))
	if err != nil || len(id) != r.hash.size {
		return nil, errObject
	}
	return id, nil
}

// loose reads a commit that has a file of its own.
func (r *repository) loose(commit string) ([]byte, error) {
	packed, err := readFile(r.common, "objects/"+commit[:2]+"/"+commit[2:], maxCommit)
	if err != nil {
		return nil, err
	}
	text, err := inflate(bytes.NewReader(packed), maxCommit)
	if err != nil {
		return nil, err
	}
	head, body, ok := bytes.Cut(text, []byte{0})
	if !ok || string(head) != "commit "+strconv.Itoa(len(body)) {
		return nil, errObject
	}
	return body, nil
}

// inflate reads one zlib stream of at most most bytes.
func inflate(in io.Reader, most int64) ([]byte, error) {
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, most+1))
	if err == nil && int64(len(text)) > most {
		err = errObject
	}
	return text, err
}

// fromPacks looks for a commit in all packs.
func (r *repository) fromPacks(commit string) ([]byte, error) {
	id, err := hex.DecodeString(commit)
	if err != nil {
		return nil, err
	}
	folder, err := r.common.Open("objects/pack")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxPacks)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base, ok := strings.CutSuffix(name, ".idx")
		if !ok {
			continue
		}
		text, err := r.fromPack("objects/pack/"+base, id)
		if !errors.Is(err, os.ErrNotExist) {
			return text, err
		}
	}
	return nil, os.ErrNotExist
}

// A pack is one with its index, both open.
type pack struct {
	hash        hashKind
	index, data *os.File
	count       uint32 // of objects
}

func (r *repository) fromPack(base string, id []byte) ([]byte, error) {
	index, err := r.common.OpenFile(base+".idx", os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer index.Close()
	p := &pack{hash: r.hash, index: index}
	at, err := p.find(id)
	if err != nil {
		return nil, err
	}
	if p.data, err = r.common.OpenFile(base+".pack", os.O_RDONLY|trust.OpenNonblock, 0); err != nil {
		return nil, err
	}
	defer p.data.Close()
	return p.object(at, 0)
}

// Parts of an index of version 2: a head of 8 bytes, 256 counts of 4, then for each
// object its id, a checksum of 4 bytes, and an offset of 4; long offsets follow.
const (
	idxMagic  = "\xfftOc\x00\x00\x00\x02"
	idxCounts = 8
	idxIDs    = idxCounts + 256*4
)

// find looks for an object's offset in the pack; os.ErrNotExist where it holds none.
func (p *pack) find(id []byte) (int64, error) {
	head := make([]byte, idxIDs)
	if _, err := p.index.ReadAt(head, 0); err != nil || string(head[:8]) != idxMagic {
		return 0, errObject
	}
	count := func(n int) uint32 { return binary.BigEndian.Uint32(head[idxCounts+4*n:]) }
	p.count = count(255)
	low, high := uint32(0), count(int(id[0]))
	if id[0] > 0 {
		low = count(int(id[0]) - 1)
	}
	if low > high || high > p.count {
		return 0, errObject
	}
	var failed error
	have := make([]byte, p.hash.size)
	compare := func(n uint32) int {
		if _, err := p.index.ReadAt(have, idxIDs+int64(n)*int64(p.hash.size)); err != nil && failed == nil {
			failed = fmt.Errorf("read the index of a pack: %w", err)
		}
		return bytes.Compare(have, id)
	}
	n := low + uint32(sort.Search(int(high-low), func(i int) bool { return compare(low+uint32(i)) >= 0 }))
	switch found := n < high && compare(n) == 0; {
	case failed != nil:
		return 0, errObject
	case !found:
		return 0, os.ErrNotExist
	}
	return p.offset(n)
}

func (p *pack) offset(n uint32) (int64, error) {
	offsets := idxIDs + int64(p.count)*int64(p.hash.size+4)
	var b [8]byte
	if _, err := p.index.ReadAt(b[:4], offsets+4*int64(n)); err != nil {
		return 0, errObject
	}
	at := binary.BigEndian.Uint32(b[:4])
	if at&(1<<31) == 0 {
		return int64(at), nil
	}
	if _, err := p.index.ReadAt(b[:], offsets+4*int64(p.count)+8*int64(at&^(1<<31))); err != nil || b[0]&0x80 != 0 {
		return 0, errObject
	}
	return int64(binary.BigEndian.Uint64(b[:])), nil
}

// Types of objects in a pack.
const (
	typeCommit   = 1
	typeOfsDelta = 6
	typeRefDelta = 7
)

// object reads the commit at an offset, which may be kept as what differs from
// another one.
func (p *pack) object(at int64, depth int) ([]byte, error) {
	if depth > maxDeltas || at < 0 {
		return nil, errObject
	}
	in := bufio.NewReader(io.NewSectionReader(p.data, at, 1<<62))
	first, err := in.ReadByte()
	if err != nil {
		return nil, errObject
	}
	for b := first; b&0x80 != 0; { // the size, which inflating tells as well
		if b, err = in.ReadByte(); err != nil {
			return nil, errObject
		}
	}
	var base int64
	switch first >> 4 & 7 {
	case typeCommit:
		return inflate(in, maxCommit)
	case typeOfsDelta:
		back, err := offsetBack(in)
		if err != nil || back > at {
			return nil, errObject
		}
		base = at - back
	case typeRefDelta:
		id := make([]byte, p.hash.size)
		if _, err := io.ReadFull(in, id); err != nil {
			return nil, errObject
		}
		if base, err = p.find(id); err != nil {
			return nil, errObject // in another pack, which is for transfer only
		}
	default:
		return nil, errObject
	}
	delta, err := inflate(in, maxCommit)
	if err != nil {
		return nil, err
	}
	source, err := p.object(base, depth+1)
	if err != nil {
		return nil, err
	}
	return applyDelta(source, delta)
}

// offsetBack reads how far before an object its base is: 7 bits a byte, each but
// the last plus one.
func offsetBack(in io.ByteReader) (int64, error) {
	b, err := in.ReadByte()
	n := int64(b & 0x7f)
	for err == nil && b&0x80 != 0 {
		if n > 1<<54 {
			return 0, errObject
		}
		b, err = in.ReadByte()
		n = (n+1)<<7 | int64(b&0x7f)
	}
	return n, err
}

// applyDelta makes an object of another one, see "Deltified representation" in
// gitformat-pack(5).
func applyDelta(source, delta []byte) ([]byte, error) {
	in := bytes.NewReader(delta)
	from, err1 := binary.ReadUvarint(in)
	size, err2 := binary.ReadUvarint(in)
	if err1 != nil || err2 != nil || from != uint64(len(source)) || size > maxCommit {
		return nil, errObject
	}
	var out []byte
	for in.Len() > 0 {
		op, _ := in.ReadByte()
		if op == 0 {
			return nil, errObject
		}
		piece := make([]byte, op)
		if op&0x80 != 0 {
			at, length := copied(op, in)
			if at+length > uint64(len(source)) {
				return nil, errObject
			}
			piece = source[at : at+length]
		} else if _, err := io.ReadFull(in, piece); err != nil {
			return nil, errObject
		}
		if out = append(out, piece...); uint64(len(out)) > size {
			return nil, errObject
		}
	}
	if uint64(len(out)) != size {
		return nil, errObject
	}
	return out, nil
}

// copied reads what an instruction to copy says: bytes of an offset and of a
// length, those that are 0 left out.
func copied(op byte, in *bytes.Reader) (at, length uint64) {
	var parts [7]uint64
	for i := range parts {
		if op&(1<<i) != 0 {
			b, _ := in.ReadByte() // cut short, it copies too little, which is seen
			parts[i] = uint64(b)
		}
	}
	at = parts[0] | parts[1]<<8 | parts[2]<<16 | parts[3]<<24
	length = parts[4] | parts[5]<<8 | parts[6]<<16
	if length == 0 {
		length = 0x10000
	}
	return at, length
}
