package brief_test

import (
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		s    string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"é", 2, "é"},
		{"aéb", 2, "a…"}, // the é has two bytes
		{"\xff", 1, "\xff"}, {"a\xffbc", 3, "ab…"},
	} {
		if got := brief.Bytes(c.s, c.most); got != c.want {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.s, c.most, got, c.want)
		}
	}
}

func TestRunes(t *testing.T) {
	for _, c := range []struct {
		s    string
		most int
		want string
	}{
		{"", 1, ""}, {"éüö", 3, "éüö"}, {"éüöä", 3, "éü…"}, {"ab", 1, "…"},
	} {
		if got := brief.Runes(c.s, c.most); got != c.want {
			t.Errorf("Runes(%q, %d) = %q, want %q", c.s, c.most, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", time.Hour: "1h",
		90 * time.Minute: "1h30m", 24 * time.Hour: "24h", time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s",
		10 * time.Second: "10s", -10 * time.Minute: "-10m",
	} {
		if got := brief.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}
