package attach

import (
	"bytes"
	"unicode/utf8"
)

// prefix is the key, Ctrl-], that says that the next one is for us.
const prefix = 0x1d

// keys looks for the keys that detach, Ctrl-] d, in what is typed. Ctrl-] twice
// is one Ctrl-] for the program, and before any other key it is just itself.
type keys struct {
	pending bool // the last key was the prefix
}

// filter returns what of p is for the program, in place, and whether the keys to
// detach were typed; what follows them is for nobody.
func (k *keys) filter(p []byte) (rest []byte, detach bool) {
	if !k.pending && bytes.IndexByte(p, prefix) < 0 {
		return p, false
	}
	rest = make([]byte, 0, len(p)+1)
	for _, c := range p {
		switch {
		case !k.pending && c == prefix:
			k.pending = true
			continue
		case k.pending && c == 'd':
			return rest, true
		case k.pending && c != prefix:
			rest = append(rest, prefix)
		}
		k.pending = false
		rest = append(rest, c)
	}
	return rest, false
}

// runes holds back the beginning of a rune until the rest of it is read: what is
// sent is text.
type runes struct{ part []byte }

// whole returns what there is up to the last whole rune.
func (r *runes) whole(p []byte) []byte {
	p = append(r.part, p...)
	n := len(p)
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if at := len(p) - i; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				n = at
			}
			break
		}
	}
	r.part = bytes.Clone(p[n:])
	return p[:n]
}

// end returns what no rest will come for.
func (r *runes) end() []byte {
	p := r.part
	r.part = nil
	return p
}
