package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/runtime/conversation"
)

const (
	folderName  = ".chant-acp"
	runtimeName = "runtime.json"
	lockName    = "gateway.lock"
	// maxRuntime is the longest runtime.json that is read, in bytes.
	maxRuntime = 64 << 10
)

// Running is where a gateway of a workspace listens, as its runtime.json says.
type Running struct {
	Version   int       `json:"version"` // of the file's format: 1
	URL       string    `json:"url"`     // such as http://127.0.0.1:18790
	Token     string    `json:"token"`
	PID       int       `json:"pid"`
	Workspace string    `json:"workspace"` // an absolute path without links
	Started   time.Time `json:"startedAt"`
	// Person is the Unix socket at which people get the capability to decide; "" for
	// none.
	Person string `json:"person,omitempty"`
}

// ErrNoGateway says that no gateway runs in a workspace.
var ErrNoGateway = errors.New("no gateway runs in this workspace; start one with: chant-acp gateway")

// RunningError says that a gateway runs in a workspace already.
type RunningError struct {
	Workspace string
	Running   Running // zero where its runtime.json can't be read
}

// Error says where it is, and not its token.
func (e *RunningError) Error() string {
	if e.Running.URL == "" {
		return fmt.Sprintf("a gateway runs in %s already", e.Workspace)
	}
	return fmt.Sprintf("a gateway runs in %s already: %s, process %d", e.Workspace, e.Running.URL, e.Running.PID)
}

// Find returns where the gateway of a workspace listens. It believes a file only
// if it is a regular one of this user that nobody else can read, in a real folder
// of this user, and names a loopback address: what comes with a project must not
// make a client send its token or its input anywhere. The errors: ErrNoGateway,
// and what makes a file unbelievable.
func Find(workspace string) (Running, error) {
	dir := filepath.Join(workspace, folderName)
	if err := checkFolder(dir); errors.Is(err, fs.ErrNotExist) {
		return Running{}, ErrNoGateway
	} else if err != nil {
		return Running{}, err
	}
	at, err := readRuntime(filepath.Join(dir, runtimeName))
	if errors.Is(err, fs.ErrNotExist) {
		return Running{}, ErrNoGateway
	} else if err != nil {
		return Running{}, err
	}
	u, err := url.Parse(at.URL)
	if err != nil {
		return Running{}, fmt.Errorf("%s of %s names no address that can be read", runtimeName, dir)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err != nil || u.Scheme != "http" || !ip.Unmap().IsLoopback() {
		return Running{}, fmt.Errorf("%s of %s names %s, which is not an address of this machine alone", runtimeName, dir, at.URL)
	}
	if held, err := flock.Held(filepath.Join(dir, lockName)); err != nil || !held {
		return Running{}, errors.Join(ErrNoGateway, err)
	}
	return at, nil
}

// readRuntime reads a runtime.json that is this user's alone.
func readRuntime(path string) (Running, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Running{}, fmt.Errorf("reading the gateway's address: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Running{}, fmt.Errorf("reading the gateway's address: %w", err)
	}
	if !st.Mode().IsRegular() || !ours(st) || st.Mode().Perm()&0o077 != 0 {
		return Running{}, fmt.Errorf("%s is not a file of yours alone (mode 0600): remove it", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxRuntime))
	if err != nil {
		return Running{}, fmt.Errorf("reading the gateway's address: %w", err)
	}
	var at Running
	if err := json.Unmarshal(raw, &at); err != nil {
		return Running{}, fmt.Errorf("%s can't be read: %w", path, err)
	}
	return at, nil
}

func ours(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Getuid()
}

// checkFolder wants a real folder of this user that nobody else may write to.
func checkFolder(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at the workspace's folder: %w", err)
	}
	if !st.IsDir() || !ours(st) || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a real folder that belongs to you and that only you may write to: remove it, and a gateway makes it anew", dir)
	}
	return nil
}

// claim is a workspace's folder, held for as long as the gateway runs.
type claim struct {
	workspace, dir string
	lock           *flock.Lock
}

// claimWait is how long the lock is waited for: who only looks whether a gateway
// runs holds it for a moment.
const claimWait = 250 * time.Millisecond

// claimWorkspace takes the workspace, or says which gateway has it.
func claimWorkspace(ctx context.Context, workspace string) (*claim, error) {
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s: %w", workspace, err)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("the workspace %s is not a folder", workspace)
	}
	c := &claim{workspace: real, dir: filepath.Join(real, folderName)}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	lock, err := flock.Take(ctx, filepath.Join(c.dir, lockName), claimWait)
	if errors.Is(err, flock.ErrHeld) {
		at, _ := readRuntime(filepath.Join(c.dir, runtimeName)) // it may be starting still
		return nil, &RunningError{Workspace: real, Running: at}
	}
	if err != nil {
		return nil, fmt.Errorf("taking the workspace: %w", err)
	}
	c.lock = lock
	return c, nil
}

// prepare makes the folder, and keeps it out of version control.
func (c *claim) prepare() error {
	if err := os.Mkdir(c.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the gateway keeps its address in the workspace, and can't: %w", err)
	}
	if err := checkFolder(c.dir); err != nil {
		return err
	}
	return conversation.KeepOut(c.dir)
}

// announce writes runtime.json. What a dead gateway left is replaced.
func (c *claim) announce(at Running) error {
	raw, err := json.MarshalIndent(at, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", runtimeName, err)
	}
	if err := durable.Write(filepath.Join(c.dir, runtimeName), append(raw, '\n')); err != nil {
		return fmt.Errorf("writing %s: %w", runtimeName, err)
	}
	return nil
}

// release takes the address back. The lock's file stays: two gateways could each
// hold one of their own if it were removed.
func (c *claim) release() error {
	err := os.Remove(filepath.Join(c.dir, runtimeName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	c.lock.Release()
	return err
}

// urlOf is the address of a listener as clients of this machine reach it.
func urlOf(l net.Listener) string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + l.Addr().String()
	}
	ip := at.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
		if at.IP.To4() == nil {
			ip = net.IPv6loopback
		}
	}
	return "http://" + net.JoinHostPort(ip.String(), fmt.Sprint(at.Port))
}
