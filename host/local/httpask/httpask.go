// Package httpask makes one HTTP request in a process of its own.
//
// That process is chant-acpd ([github.com/chant-acp/chant-acp/internal/acpd]), and
// what it does is in package client: nothing that speaks HTTP is linked here.
package httpask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/chant-acp/chant-acp/internal/acpd"
)

// A Request says what to ask for, and what answer is wanted.
type Request struct {
	Method string `json:"method"` // "" is GET
	URL    string `json:"url"`    // absolute, http or https
	// Status is the wanted status code; 0 wants any from 200 to 299.
	Status int `json:"status"`
	// Contains is what the first 64 MiB of the body must hold; nil wants nothing of it.
	Contains *string `json:"contains"`
}

// An Answer is what the process makes of it.
type Answer struct {
	Status int    `json:"status"`
	Error  string `json:"error"` // why it is not what was wanted
}

// maxAnswer bounds what the process says, in bytes.
const maxAnswer = 64 << 10

// Do makes the request, and returns the status code of an answer as wanted.
// Proxies are those of this process's environment. It ends with ctx, and the
// process with this one.
func Do(ctx context.Context, r Request) (status int, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	c, err := acpd.Command(acpd.Request, os.Environ())
	if err != nil {
		return 0, err
	}
	in, err := c.StdinPipe() // closed by Wait: its end is how the process learns of ours
	if err != nil {
		return 0, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		return 0, fmt.Errorf("the process that speaks HTTP cannot be started: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	var a Answer
	_, err = in.Write(append(text, '\n'))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(out, maxAnswer)).Decode(&a)
	}
	stop()
	_ = in.Close() // which it leaves at
	failed := c.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.As(failed, &exit) && exit.ExitCode() == acpd.WrongVersion:
		return 0, errors.New(strings.TrimSpace(stderr.String()))
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return 0, fmt.Errorf("the process that speaks HTTP failed (%w): %s", errors.Join(failed, err), first)
	case a.Error != "":
		return 0, errors.New(a.Error)
	}
	return a.Status, nil
}
