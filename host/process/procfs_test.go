package process

import (
	"os"
	"testing"
)

// Lines are made after proc_pid_stat(5).
func TestParseStat(t *testing.T) {
	const tail = " 1 20 20 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000 10 0"
	tests := []struct {
		line string
		want stat
		ok   bool
	}{
		{"10 (sh) S" + tail, stat{state: 'S', group: 20, start: 777}, true},
		{"10 (a b) Z" + tail, stat{state: 'Z', group: 20, start: 777}, true},
		{"10 (x) R 1 2) T" + tail, stat{state: 'T', group: 20, start: 777}, true},
		{"10 (sh) SS" + tail, stat{}, false},
		{"10 (sh) S 1 20", stat{}, false},
		{"", stat{}, false},
	}
	for _, test := range tests {
		got, ok := parseStat([]byte(test.line))
		if ok != test.ok || ok && got != test.want {
			t.Errorf("%q: %+v, %t", test.line, got, ok)
		}
	}
}

func TestReadStatOfOurselves(t *testing.T) {
	st, ok := readStat(os.Getpid())
	if !ok || !st.alive() || st.start == 0 {
		t.Errorf("%+v, %t", st, ok)
	}
}

func TestTokenIn(t *testing.T) {
	tests := []struct{ env, want string }{
		{"A=1\x00" + TokenVar + "=x.1\x00B=2\x00", "x.1"},
		{TokenVar + "=x.1", "x.1"},
		{"A=" + TokenVar + "=x.1\x00", ""},
		{"X" + TokenVar + "=x.1\x00", ""},
		{"", ""},
		{"\x00\x00", ""},
	}
	for _, test := range tests {
		if got := tokenIn([]byte(test.env)); got != test.want {
			t.Errorf("%q: %q, want %q", test.env, got, test.want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("10 (sh) S 1 20 20 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000 10 0"))
	f.Add([]byte(")"))
	f.Add([]byte(")\x00 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if st, ok := parseStat(line); ok && !isLetter(st.state) {
			t.Errorf("%q: no state", line)
		}
	})
}
