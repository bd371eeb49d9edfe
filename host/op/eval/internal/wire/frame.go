package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/chant-acp/chant-acp/host/op"
)

// maxFrame is the largest message between the child and us, in bytes: a config
// of 4 MiB, escaped once more.
const maxFrame = 16 << 20

// A Request asks the child for one file. The first one of a child says where it
// works, and is answered, by an empty Answer, when the child has started.
type Request struct {
	Root string `json:"root,omitempty"` // absolute, its links resolved
	File string `json:"file"`           // below the root, with forward slashes
	// Work is the processor time that the file may take.
	Work time.Duration `json:"work,omitempty"`
}

// An Answer is what became of a file. It may come in parts, so that what was
// seen is known of a file that ends the child.
type Answer struct {
	More   bool            `json:"more,omitempty"` // other parts follow
	Seen   Seen            `json:"seen,omitzero"`  // since the part before
	Config json.RawMessage `json:"config,omitempty"`
	// Findings say why there is no config.
	Findings []op.Finding `json:"findings,omitempty"`
	// Environ says that the result depends on the environment or the working
	// directory, or may do so: a part with it comes before the code of a file runs.
	Environ bool `json:"environ,omitempty"`
	// Reads are the variables of the environment whose values it read, sorted.
	Reads []string `json:"reads,omitempty"`
	// Took is the processor time that the file took.
	Took time.Duration `json:"took,omitempty"`
	// Spent says that the file used up the time or memory that it has, which
	// Findings tell in words of ours.
	Spent bool `json:"spent,omitempty"`
	// Chance says that it may come out otherwise the next time.
	Chance bool `json:"chance,omitempty"`
}

// WriteFrame writes a message: its length in four bytes, then JSON.
func WriteFrame(w io.Writer, v any) error {
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

// ReadFrame reads a message. The other end having closed between two messages is
// io.EOF.
func ReadFrame(r io.Reader, v any) error {
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
