package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/internal/durable"
)

// Limits of what is read: a conversation, and its front matter.
const (
	maxFile  = 64 << 20
	maxFront = 64 << 10

	ext = ".md"
)

// ErrBadID says that no conversation can have an id.
var ErrBadID = errors.New("a conversation's id is made of letters, digits and _ . - and does not start with . or -")

// validID is ^[A-Za-z0-9_][A-Za-z0-9_.-]*$, short enough for a file name.
func validID(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return id != "" && len(id) <= 200 && strings.Trim(id[:1], letters) == "" && strings.Trim(id, letters+".-") == ""
}

func path(dir, id string) (string, error) {
	if !validID(id) {
		return "", fmt.Errorf("conversation %q: %w", id, ErrBadID)
	}
	return filepath.Join(dir, id+ext), nil
}

// Create makes the file of a conversation without turns, and the folder if need
// be. It appears whole, and one that is there already is left as it is.
func Create(dir string, m Meta) error {
	to, err := path(dir, m.ID)
	if err != nil {
		return err
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	var b bytes.Buffer
	m.writeMeta(&b)
	if err := durable.Create(to, b.Bytes()); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the conversation %s: %w", to, err)
	}
	return nil
}

// makeDir makes the folder of conversations. It comes with a workspace, so it,
// and the .chant-acp that it may be in, must be no links to somewhere else.
func makeDir(dir string) error {
	if parent := filepath.Dir(dir); filepath.Base(parent) == ".chant-acp" {
		if err := os.MkdirAll(filepath.Dir(parent), 0o755); err != nil {
			return fmt.Errorf("making the folder of conversations: %w", err)
		}
		if err := makeReal(parent); err != nil {
			return err
		}
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("making the folder of conversations: %w", err)
	}
	return makeReal(dir)
}

func makeReal(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the folder of conversations: %w", err)
	}
	return checkReal(dir)
}

func checkReal(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at the folder of conversations: %w", err)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !st.IsDir() || ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a real folder of yours: remove it, or set conversations.dir", dir)
	}
	return nil
}

// checkDir checks what makeDir would.
func checkDir(dir string) error {
	if parent := filepath.Dir(dir); filepath.Base(parent) == ".chant-acp" {
		if err := checkReal(parent); err != nil {
			return err
		}
	}
	return checkReal(dir)
}

// Append adds turns to a conversation in one write. One that is not there is
// made first; its agent is the first turn's attribution. A time of zero is now.
func Append(dir, id string, turns ...Turn) error {
	if len(turns) == 0 {
		return nil
	}
	from, err := path(dir, id)
	if err != nil {
		return err
	}
	f, err := openRegular(dir, from, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		if err := Create(dir, Meta{ID: id, Agent: turns[0].Attribution, Started: time.Now()}); err != nil {
			return err
		}
		f, err = openRegular(dir, from, os.O_RDWR|os.O_APPEND)
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = endLine(f, &b)
	for _, t := range turns {
		if t.At.IsZero() {
			t.At = time.Now()
		}
		t.write(&b)
	}
	if err == nil {
		_, err = f.Write(b.Bytes())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing to the conversation %s: %w", from, err)
	}
	return nil
}

// endLine ends a last line that a crash or an editor left open: a heading is one
// only at the start of a line.
func endLine(f *os.File, b *bytes.Buffer) error {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], st.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		b.WriteString("\n\n")
	}
	return nil
}

// openRegular opens a conversation's file, if it is a regular one.
func openRegular(dir, path string, flag int) (*os.File, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the conversation: %w", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("the conversation %s is not a regular file: remove it", path)
	}
	return f, nil
}

// Read returns the file of a conversation as it is: people write into it, too. One
// that is not there is fs.ErrNotExist.
func Read(dir, id string) ([]byte, error) {
	from, err := path(dir, id)
	if err != nil {
		return nil, err
	}
	raw, err := readStart(dir, from, maxFile+1)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("the conversation %s has more than %d bytes", from, maxFile)
	}
	return raw, nil
}

// SetStatus writes into a conversation's front matter whether it goes on, and leaves
// all else as it is, byte for byte. One without front matter that can be read has
// nowhere to say it.
func SetStatus(dir, id string, status Status) error {
	to, err := path(dir, id)
	if err != nil {
		return err
	}
	start, err := readStart(dir, to, maxFront)
	if err != nil {
		return err
	}
	at, end := statusAt(start)
	if at < 0 || Status(trim(string(start[at:end]))) == status {
		return nil
	}
	raw, err := Read(dir, id)
	if err != nil {
		return err
	}
	if err := durable.Write(to, slices.Concat(raw[:at], []byte(" "+status), raw[end:])); err != nil {
		return fmt.Errorf("writing the status of the conversation %s: %w", to, err)
	}
	return nil
}

// statusAt is where the value of the front matter's status stands, up to the end of
// its line; -1 where there is none.
func statusAt(raw []byte) (at, end int) {
	front := bytes.TrimPrefix(raw, []byte("\ufeff"))
	line := len(raw) - len(front)
	for n := 0; ; n++ {
		rest := raw[line:]
		length := bytes.IndexByte(rest, '\n')
		if length < 0 {
			return -1, -1
		}
		text := bytes.TrimSuffix(rest[:length], []byte("\r"))
		switch key, _, found := bytes.Cut(text, []byte(":")); {
		case n == 0 && string(text) != "---", n > 0 && string(text) == "---":
			return -1, -1
		case found && trim(string(key)) == "status":
			return line + len(key) + 1, line + len(text)
		}
		line += length + 1
	}
}

// readStart reads at most the first n bytes.
func readStart(dir, path string, n int64) ([]byte, error) {
	f, err := openRegular(dir, path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, n))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("reading the conversation %s: %w", path, err)
	}
	return raw, nil
}

// Entry is a conversation in a list: the id is that of its file.
type Entry struct {
	ID   string
	Meta Meta
}

// List returns the conversations in a folder, by file name. Where there is no
// folder there are none. A file whose front matter can't be read, as that of
// somebody's own, is listed with what its name says.
func List(dir string) ([]Entry, error) {
	if err := checkDir(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing conversations: %w", err)
	}
	var out []Entry
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), ext)
		if !ok || !validID(id) || !file.Type().IsRegular() {
			continue
		}
		raw, err := readStart(dir, filepath.Join(dir, file.Name()), maxFront)
		if err != nil {
			continue
		}
		m, _, err := parseMeta(id, raw)
		if err != nil {
			m = Meta{ID: id, Agent: unknownAgent, Status: Open}
		}
		out = append(out, Entry{id, m})
	}
	return out, nil
}
