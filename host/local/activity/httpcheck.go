package activity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host/local/httpask"
)

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
	if !webAddress(a.URL) {
		return errors.New("its argument url is no address that begins with http:// or https://")
	}
	if a.Retries < 0 || a.Retries > 100_000 {
		return fmt.Errorf("its argument retries is %d; take 0 to 100000", a.Retries)
	}
	return nil
}

// webAddress tells an address from what is none; whether it is a good one, the
// request says.
func webAddress(s string) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if n := len(scheme); len(s) > n && strings.EqualFold(s[:n], scheme) && !strings.ContainsRune("/?#", rune(s[n])) {
			return true
		}
	}
	return false
}

type checked struct {
	Status int `json:"status"`
}

// httpCheck asks until the answer is as wanted.
func httpCheck(c Call, a checkArgs) (any, error) {
	var why error
	for try := 0; try <= a.Retries; try++ {
		if try > 0 {
			if err := c.Sleep(interval(a.IntervalMs, time.Second)); err != nil {
				return nil, err
			}
		}
		status, err := a.ask(c.Context())
		if err == nil {
			c.Say("%s answers %d", a.URL, status)
			return checked{status}, nil
		}
		if c.Context().Err() != nil {
			return nil, context.Cause(c.Context())
		}
		if why == nil || why.Error() != err.Error() {
			c.Say("%s: %v", a.URL, err)
		}
		why = err
	}
	return nil, fmt.Errorf("the check of %s failed: %w", a.URL, why)
}

// ask makes one request.
func (a checkArgs) ask(ctx context.Context) (status int, err error) {
	return httpask.Do(ctx, httpask.Request{Method: a.Method, URL: a.URL, Status: a.Status, Contains: a.Contains})
}
