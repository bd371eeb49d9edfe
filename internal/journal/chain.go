package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

const (
	sumLen   = 16 // hexadecimal digits
	sumStart = `,"sum":"`
	sumEnd   = `"}`
	tailLen  = len(sumStart) + sumLen + len(sumEnd) // of a line, without its newline
)

// A chain is the sum of the last line; empty before the first one.
type chain []byte

// sumOf is the sum of a line that follows, given without its own sum: {"a":1
func (c chain) sumOf(body []byte) (sum [sumLen]byte) {
	h := sha256.New()
	h.Write(c)
	h.Write(body)
	var all [sha256.Size]byte
	hex.Encode(sum[:], h.Sum(all[:0])[:sumLen/2])
	return sum
}

// seal gives the object that b holds from start on its sum, and the line its end.
// It returns the chain behind it.
func (c chain) seal(b []byte, start int) ([]byte, chain) {
	b = b[:len(b)-1] // the closing brace
	sum := c.sumOf(b[start:])
	b = append(b, sumStart...)
	b = append(b, sum[:]...)
	b = append(b, sumEnd...)
	return append(b, '\n'), sum[:]
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
func (c chain) follows(line []byte) bool {
	b, sum, ok := body(line)
	if !ok {
		return false
	}
	want := c.sumOf(b)
	return bytes.Equal(sum, want[:])
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
