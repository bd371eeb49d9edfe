package attach

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
)

const panicking = "ATTACH_TEST_PANICS_AT"

func TestMain(m *testing.M) {
	process.GuardMain()
	if url := os.Getenv(panicking); url != "" {
		panicAttached(url)
		return
	}
	goleak.VerifyTestMain(m)
}

// panics is a writer that does.
type panics struct{}

func (panics) Write([]byte) (int, error) { panic("on purpose") }

// panicAttached is a process that panics while it is attached.
func panicAttached(url string) {
	at, err := client.New(gateway.Running{URL: url}).Attach(context.Background(), "s1", 0, 0)
	if err == nil {
		err = Run(context.Background(), Place{In: os.Stdin, Out: os.Stdout, Err: panics{}}, at)
	}
	panic(err)
}

// terminal serves a terminal at any path.
func terminal(t *testing.T, do func(context.Context, *websocket.Conn)) string {
	t.Helper()
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		do(context.Background(), conn)
	}))
	t.Cleanup(func() {
		<-done
		s.Close()
	})
	return s.URL
}

func send(ctx context.Context, c *websocket.Conn, text string) {
	_ = c.Write(ctx, websocket.MessageText, []byte(text))
}

// drain reads until the client is gone.
func drain(ctx context.Context, c *websocket.Conn) {
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return
		}
	}
}

// TestPanicRestores panics in a goroutine that is not the one that set the
// terminal.
func TestPanicRestores(t *testing.T) {
	url := terminal(t, func(ctx context.Context, c *websocket.Conn) {
		for {
			_, raw, err := c.Read(ctx)
			if err != nil {
				return
			}
			if strings.Contains(string(raw), `"ping"`) {
				send(ctx, c, `{"kind":"error","detail":"refused"}`)
				drain(ctx, c)
				return
			}
		}
	})
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	was, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), panicking+"="+url, "GORACE=atexit_sleep_ms=0")
	c.Stdin, c.Stdout, c.Stderr = tty, tty, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString("x\n"); err != nil { // sent once it is attached
		t.Fatal(err)
	}
	_ = c.Wait() // how it ended is looked at
	if !strings.Contains(errs.String(), "on purpose") {
		t.Fatalf("it did not panic: %s", errs.String())
	}
	now, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *now != *was {
		t.Errorf("the terminal was left as %+v, and was %+v", *now, *was)
	}
}

// TestRunLeavesNothing attaches pipes within this process, where what stays is
// seen.
func TestRunLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		do  func(context.Context, *websocket.Conn, context.CancelCauseFunc)
		err error
	}{
		"the program's end": {func(ctx context.Context, c *websocket.Conn, _ context.CancelCauseFunc) {
			send(ctx, c, `{"kind":"exit","exitCode":0}`)
			drain(ctx, c)
		}, io.EOF},
		"the context's end": {func(ctx context.Context, c *websocket.Conn, cancel context.CancelCauseFunc) {
			cancel(io.ErrClosedPipe)
			drain(ctx, c)
		}, io.ErrClosedPipe},
		"output that nobody takes": {func(ctx context.Context, c *websocket.Conn, cancel context.CancelCauseFunc) {
			send(ctx, c, `{"kind":"data","data":"`+strings.Repeat("x", 1<<20)+`"}`)
			cancel(io.ErrClosedPipe)
			drain(ctx, c)
		}, io.ErrClosedPipe},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			url := terminal(t, func(life context.Context, conn *websocket.Conn) { c.do(life, conn, cancel) })
			in, typing, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			reading, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []*os.File{in, typing, reading, out} {
				defer f.Close()
			}
			limited, stop := context.WithTimeout(ctx, testenv.Hang)
			defer stop()
			at, err := client.New(gateway.Running{URL: url}).Attach(context.Background(), "s1", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := Run(limited, Place{In: in, Out: out, Err: io.Discard}, at); err != c.err {
				t.Errorf("it ended with %v, want %v", err, c.err)
			}
		})
	}
}
