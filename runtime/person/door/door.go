// Package door is the Unix socket at which people get the capability to decide at a
// gateway: a person's command asks there, and who it is, the kernel says.
//
// [Open] is the gateway's side, [Ask] that of a person's command.
package door

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/internal/trust"
	"github.com/chant-acp/chant-acp/runtime/person"
)

// answerTime bounds one question at the socket.
const answerTime = 5 * time.Second

// A Door is a Unix socket at which processes of this user that no program of
// chant-acp has started are given capabilities.
type Door struct {
	listener *net.UnixListener
	keeper   *person.Keeper
	serving  sync.WaitGroup
}

// Open listens at a path, in a folder that is made for this user alone.
func Open(path string, k *person.Keeper) (*Door, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the socket for people: %w", err)
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || trust.Reason(dir, info) != "" {
		return nil, fmt.Errorf("opening the socket for people: %s is not a folder of yours alone; remove it", dir)
	}
	_ = os.Remove(path) // of a gateway that is gone; who runs holds the lock of the workspace
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("opening the socket for people: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("opening the socket for people: %w", err)
	}
	d := &Door{listener: listener, keeper: k}
	d.serving.Go(d.serve)
	return d, nil
}

// Close closes it, and waits for the answers under way.
func (d *Door) Close() {
	_ = d.listener.Close() // which removes the file
	d.serving.Wait()
}

func (d *Door) serve() {
	for {
		conn, err := d.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		d.serving.Go(func() { d.answer(conn) })
	}
}

// answer gives a capability to a person.
func (d *Door) answer(conn *net.UnixConn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	var g Granted
	if err := check(conn); err != nil {
		g.Refused = err.Error()
	} else {
		g.Capability, g.Until = d.keeper.Grant(time.Now())
	}
	_ = json.NewEncoder(conn).Encode(g) // who asked may be gone
}

// A Granted is what the socket answers.
type Granted struct {
	Capability string    `json:"capability,omitempty"`
	Until      time.Time `json:"until,omitzero"`
	Refused    string    `json:"refused,omitempty"`
}

// Ask asks for a capability at a socket. The error says why there is none.
func Ask(ctx context.Context, path string) (Granted, error) {
	var g Granted
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return g, fmt.Errorf("the gateway's socket for people can't be reached: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	if err := json.NewDecoder(conn).Decode(&g); err != nil {
		return g, fmt.Errorf("the gateway's socket for people gives no answer: %w", err)
	}
	if g.Refused != "" {
		return g, errors.New(g.Refused)
	}
	return g, nil
}

// maxPath is the longest path of a Unix socket (unix(7)) that every system takes.
const maxPath = 100

// Path is where the socket of a workspace's gateway is: in the user's runtime
// folder, else below the state root, else in the folder for temporary files.
func Path(workspace string, getenv func(string) string) string {
	sum := sha256.Sum256([]byte(workspace))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	for _, dir := range []string{getenv("XDG_RUNTIME_DIR"), stateroot.Dir(getenv)} {
		if path := filepath.Join(dir, "chant-acp", name); filepath.IsAbs(dir) && len(path) <= maxPath {
			return path
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("chant-acp-%d", os.Geteuid()), name)
}
