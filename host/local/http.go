package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxBody bounds what is read of a response, in bytes.
const maxBody = 64 << 20

type checkArgs struct {
	URL        string  `json:"url"`
	Method     string  `json:"method"`
	Status     int     `json:"status"`
	Contains   *string `json:"contains"`
	Retries    int     `json:"retries"`
	IntervalMs int64   `json:"intervalMs"`
}

func (a checkArgs) check() error {
	if err := required("url", a.URL); err != nil {
		return err
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its argument url is no address that begins with http:// or https://")
	}
	if a.Retries < 0 || a.Retries > 100_000 {
		return fmt.Errorf("its argument retries is %d; take 0 to 100000", a.Retries)
	}
	return nil
}

type checked struct {
	Status int `json:"status"`
}

// httpCheck asks until the answer is as wanted.
func httpCheck(c *call, a checkArgs) (any, error) {
	var why error
	for try := 0; try <= a.Retries; try++ {
		if try > 0 {
			if err := c.leg.rt.sleep(c.ctx, interval(a.IntervalMs, time.Second)); err != nil {
				return nil, err
			}
		}
		status, err := ask(c.ctx, a)
		if err == nil {
			c.out.say("%s answers %d", a.URL, status)
			return checked{status}, nil
		}
		if c.ctx.Err() != nil {
			return nil, context.Cause(c.ctx)
		}
		if why == nil || why.Error() != err.Error() {
			c.out.say("%s: %v", a.URL, err)
		}
		why = err
	}
	return nil, fmt.Errorf("the check of %s failed: %w", a.URL, why)
}

// ask makes one request. The connection is closed with it.
func ask(ctx context.Context, a checkArgs) (int, error) {
	method := a.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, a.URL, nil)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	switch {
	case a.Status != 0 && res.StatusCode != a.Status:
		return 0, fmt.Errorf("status %d (want %d)", res.StatusCode, a.Status)
	case a.Status == 0 && (res.StatusCode < 200 || res.StatusCode > 299):
		return 0, fmt.Errorf("status %d (want 2xx)", res.StatusCode)
	case a.Contains == nil:
		return res.StatusCode, nil
	}
	found, err := holds(res.Body, []byte(*a.Contains))
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("the body lacks %q", *a.Contains)
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
