package gateway

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// connections limits how many there are. Where one too many comes, the one that
// has been without a request for the longest is closed: those who open many and
// ask nothing take the place of nobody who does. Where all are busy, the new one
// is told so and closed.
type connections struct {
	net.Listener
	most int

	mu   sync.Mutex
	idle list.List // of *connection, the longest idle first
	open int
}

// connection is one that a client has open.
type connection struct {
	net.Conn
	of *connections

	at     *list.Element // in idle, or nil
	closed bool
}

func newConnections(l net.Listener, most int) *connections {
	return &connections{Listener: l, most: most}
}

// maxConnections is how many connections are kept where the options say
// configured, 0 for what the limit of open files leaves.
func maxConnections(configured int) int {
	if configured > 0 {
		return configured
	}
	const most = 4096
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	return int(min(most, files.Cur/2)) // the other half is for children and files
}

// socketBuffer is how much lies in the system for a client that reads slowly, in
// bytes. Writes into a full buffer go on once a third of it is free: with the
// megabytes that Linux gives, a client that takes 256 KiB a second looks dead for
// 5 s and longer.
const socketBuffer = 64 << 10

const fullAnswer = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/problem+json\r\n\r\n" +
	`{"type":"` + problemDocs + `unavailable","title":"The gateway can't take this now","status":503,"detail":"all of the gateway's connections are busy; try again later"}` + "\n"

// Accept returns the next connection that there is room for.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if added := c.add(conn); added != nil {
			return added, nil
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // the answer fits into the socket's buffer
		_, _ = conn.Write([]byte(fullAnswer))
		_ = conn.Close()
	}
}

// add makes room by closing the one that is idle longest. It returns nil where all are
// busy.
func (c *connections) add(conn net.Conn) *connection {
	c.mu.Lock()
	var oldest *connection
	if c.open >= c.most {
		front := c.idle.Front()
		if front == nil {
			c.mu.Unlock()
			return nil
		}
		oldest = front.Value.(*connection)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(socketBuffer) // on an error the system's size stays
	}
	added := &connection{Conn: conn, of: c}
	added.at = c.idle.PushBack(added)
	c.open++
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return added
}

// state follows a connection; it is http.Server.ConnState.
func (c *connections) state(conn net.Conn, s http.ConnState) {
	k, ok := conn.(*connection)
	if !ok || s == http.StateNew { // new ones are idle already
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.busy()
	if s == http.StateIdle && !k.closed {
		k.at = c.idle.PushBack(k)
	}
}

// busy takes it off the list of those without a request. The caller has the lock.
func (k *connection) busy() {
	if k.at != nil {
		k.of.idle.Remove(k.at)
		k.at = nil
	}
}

// Close closes the connection, and makes room for another.
func (k *connection) Close() error {
	k.of.mu.Lock()
	k.busy()
	if !k.closed {
		k.closed = true
		k.of.open--
	}
	k.of.mu.Unlock()
	return k.Conn.Close()
}
