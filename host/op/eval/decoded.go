package eval

import (
	"crypto/sha256"
	"sync"

	"github.com/chant-acp/chant-acp/host/op"
)

// decoded are the data Ops that this process has read, since each turn reads those
// of its project again.
var decoded memo

// maxDecoded bounds the texts of the Ops that are remembered, in bytes. Beyond it
// all are forgotten, and those that are still there come back.
const maxDecoded = 64 << 20

// A memo is what texts mean. Nobody changes a config that it gave.
type memo struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*op.Config
	bytes int
}

// decode is op.Decode. What is wrong with a text is not remembered: who is told of
// it changes it.
func (m *memo) decode(file string, text []byte) (*op.Config, error) {
	key := sha256.Sum256(append([]byte(file+"\x00"), text...))
	m.mu.Lock()
	config := m.known[key]
	m.mu.Unlock()
	if config != nil {
		return config, nil
	}
	config, err := op.Decode(file, text)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes += len(text); m.bytes > maxDecoded || m.known == nil {
		m.known, m.bytes = make(map[[sha256.Size]byte]*op.Config), len(text)
	}
	m.known[key] = config
	return config, nil
}
