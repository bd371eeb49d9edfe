package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

const (
	sumLen   = 16 // hexadecimal digits
	sumStart = `,"sum":"`
	sumEnd   = `"}`
	tailLen  = len(sumStart) + sumLen + len(sumEnd) // of a line, without its newline
)

// A chain is the sum of the last line; empty before the first one.
type chain []byte

// A summer makes sums, and no garbage.
type summer struct {
	h   hash.Hash
	all [sha256.Size]byte
	hex [sumLen]byte
}

func newSummer() *summer { return &summer{h: sha256.New()} }

// sumOf is the sum of a line that follows, given without its own sum: {"a":1. It
// is good until the next one is made.
func (s *summer) sumOf(c chain, body []byte) []byte {
	s.h.Reset()
	s.h.Write(c)
	s.h.Write(body)
	hex.Encode(s.hex[:], s.h.Sum(s.all[:0])[:sumLen/2])
	return s.hex[:]
}

// seal gives the object that b holds from start on its sum, and the line its end.
// The chain becomes that behind it.
func (s *summer) seal(c *chain, b []byte, start int) []byte {
	b = b[:len(b)-1] // the closing brace
	sum := s.sumOf(*c, b[start:])
	*c = append((*c)[:0], sum...)
	b = append(b, sumStart...)
	b = append(b, sum...)
	b = append(b, sumEnd...)
	return append(b, '\n')
}

// body is a line, given without its newline, without its sum; ok says that it has
// one, of whatever value.
func body(line []byte) (b, sum []byte, ok bool) {
	n := len(line) - tailLen
	if n < 1 || string(line[n:n+len(sumStart)]) != sumStart || string(line[len(line)-len(sumEnd):]) != sumEnd {
		return nil, nil, false
	}
	return line[:n], line[n+len(sumStart) : len(line)-len(sumEnd)], true
}

// follows says whether a line, without its newline, is the next one.
func (s *summer) follows(c chain, line []byte) bool {
	b, sum, ok := body(line)
	return ok && bytes.Equal(sum, s.sumOf(c, b))
}

// object turns a line with a sum into the object that was sealed, in its place.
func object(line []byte) []byte {
	n := len(line) - tailLen
	line[n] = '}'
	return line[:n+1]
}

// after is the chain behind a line, without its newline.
func after(line []byte) chain {
	return bytes.Clone(line[len(line)-len(sumEnd)-sumLen : len(line)-len(sumEnd)])
}
