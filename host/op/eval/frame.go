package eval

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/chant-acp/chant-acp/host/op"
)

// maxFrame is the largest message between the child and us, in bytes: a config
// of 4 MiB, escaped once more.
const maxFrame = 16 << 20

// A request asks the child for one file. The first one of a child says where it
// works.
type request struct {
	Root string `json:"root,omitempty"` // absolute, its links resolved
	File string `json:"file"`           // below the root, with forward slashes
}

// An answer is what became of a file.
type answer struct {
	Config   json.RawMessage   `json:"config,omitempty"`
	Findings []op.Finding      `json:"findings,omitempty"` // why there is no config
	Inputs   map[string]string `json:"inputs,omitempty"`   // the files that were bundled, with the SHA-256 of each
	Absent   []string          `json:"absent,omitempty"`   // files that were looked for and are not there
	// Volatile says that the result depends on more than Inputs: the environment,
	// the working directory, or how long it took.
	Volatile bool `json:"volatile,omitempty"`
}

// writeFrame writes a message: its length in four bytes, then JSON.
func writeFrame(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) > maxFrame {
		return fmt.Errorf("a message of %d bytes is larger than %d", len(text), maxFrame)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

// readFrame reads a message. The other end having closed between two messages is
// io.EOF.
func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return fmt.Errorf("a message of %d bytes is larger than %d", size, maxFrame)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return err
	}
	if len(text) < int(size) {
		return io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("a message is not what it should be: %w", err)
	}
	return nil
}
