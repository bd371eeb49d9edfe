// Package client is what the process of package httpask does, in [Main].
package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/chant-acp/chant-acp/host/local/httpask"
)

// maxBody bounds what is read of a response, in bytes.
const maxBody = 64 << 20

// Main reads one request from standard input, makes it, writes the answer to
// standard output, and returns the exit code.
func Main() (code int) {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve answers one request. The end of the input ends the process, whatever it
// waits for: nobody waits for it then.
func serve() error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	var r httpask.Request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	var a httpask.Answer
	if a.Status, err = ask(r); err != nil {
		a.Error = short(err.Error())
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

// maxHalf bounds each end of an error, in bytes.
const maxHalf = 2 << 10

// short leaves out the middle of an error, which is what the server wrote, such as
// where it sends us: it begins with what was asked and ends with the reason.
func short(s string) string {
	if len(s) <= 2*maxHalf {
		return s
	}
	return s[:maxHalf] + "…" + s[len(s)-maxHalf:]
}

// ask makes the request. The connection is closed with the process.
func ask(r httpask.Request) (int, error) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequest(method, r.URL, nil)
	if err != nil {
		return 0, err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}).Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	switch {
	case r.Status != 0 && res.StatusCode != r.Status:
		return 0, fmt.Errorf("status %d (want %d)", res.StatusCode, r.Status)
	case r.Status == 0 && (res.StatusCode < 200 || res.StatusCode > 299):
		return 0, fmt.Errorf("status %d (want 2xx)", res.StatusCode)
	case r.Contains == nil:
		return res.StatusCode, nil
	}
	found, err := holds(res.Body, []byte(*r.Contains))
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("the body lacks %q", *r.Contains)
	}
	return res.StatusCode, nil
}

// holds looks for a text in what r gives, and keeps little of it.
func holds(r io.Reader, text []byte) (bool, error) {
	r = io.LimitReader(r, maxBody)
	buf := make([]byte, 0, 64<<10+len(text))
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if bytes.Contains(buf, text) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if keep := max(len(text)-1, 0); len(buf) > keep {
			buf = append(buf[:0], buf[len(buf)-keep:]...)
		}
	}
}
