package op

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest identifies what the Op does: the SHA-256, in hexadecimal, of its JSON
// with the keys of every object sorted. The order in which a file names its keys
// does not change it, nor which format it is in.
func (c *Config) Digest() string {
	sum := sha256.Sum256(canonical(c.text))
	return hex.EncodeToString(sum[:])
}

// canonical sorts the keys of JSON text. Numbers stay as they are written.
func canonical(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return text // not read from anything
	}
	sorted, err := json.Marshal(v) // which sorts the keys of maps
	if err != nil {
		return text
	}
	return sorted
}
