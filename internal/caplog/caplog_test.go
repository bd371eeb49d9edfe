package caplog_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/caplog"
)

func TestLog(t *testing.T) {
	const whole = 1 << 40
	for _, c := range []struct {
		name       string
		before     string // in the file already
		max, floor int64
		writes     []string
		want       string
		lacks      string
	}{
		{name: "whole", max: whole, writes: []string{"a", "bc"}, want: "abc"},
		{name: "goes on", before: "12", max: 4, writes: []string{"3", "45"}, want: "1234", lacks: "ends after 4 bytes"},
		{name: "exactly full", max: 3, writes: []string{"abc"}, want: "abc"},
		{name: "more than full", max: 3, writes: []string{"abc", "d", "e"}, want: "abc", lacks: "log.max"},
		{name: "was too long", before: "12345", max: 3, writes: []string{"a"}, want: "12345", lacks: "log.max"},
		{name: "no disk", max: whole, floor: 1 << 60, writes: []string{"a"}, want: "", lacks: "of disk are free"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			l := caplog.New(func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) }, c.max, c.floor)
			if l.Path() != "" {
				t.Error("it has a path before the first byte")
			}
			for _, s := range c.writes {
				if n, err := io.WriteString(l, s); n != len(s) || err != nil {
					t.Errorf("writing %q: %d, %v", s, n, err)
				}
			}
			l.Close()
			l.Close()
			_, _ = io.WriteString(l, "late")
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.want {
				t.Errorf("the file holds %q, %v; want %q", got, err, c.want)
			}
			if lacks := l.Lacks(); (lacks == "") != (c.lacks == "") || !strings.Contains(lacks, c.lacks) {
				t.Errorf("it lacks %q, want %q", lacks, c.lacks)
			}
			if l.Path() != path {
				t.Errorf("its path is %q", l.Path())
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	asked := 0
	l := caplog.New(func() (*os.File, error) { asked++; return nil, errors.New("no place") }, 1<<40, 0)
	l.Close()
	l = caplog.New(func() (*os.File, error) { asked++; return nil, errors.New("no place") }, 1<<40, 0)
	for range 2 {
		if n, err := io.WriteString(l, "a"); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if l.Lacks() != "no log is kept: no place" || asked != 1 || l.Path() != "" {
		t.Errorf("it lacks %q, asked %d times, at %q", l.Lacks(), asked, l.Path())
	}
}

func TestAFullDisk(t *testing.T) {
	l := caplog.New(func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }, 1<<40, 0)
	for range 2 {
		_, _ = io.WriteString(l, "a")
	}
	l.Close()
	if lacks := l.Lacks(); !strings.Contains(lacks, "no space left on device") {
		t.Errorf("it lacks %q", lacks)
	}
}
