package near

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b  string
		limit int
		want  int
	}{
		{"plan", "plan", 2, 0}, {"plna", "plan", 2, 1}, {"pan", "plan", 2, 1}, {"plann", "plan", 2, 1}, {"plen", "plan", 2, 1},
		{"abcd", "badc", 3, 2}, {"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 3}, {"", "ab", 2, 2}, {"a", "abcdef", 2, 3},
		{strings.Repeat("x", 70), strings.Repeat("x", 70), 2, 3},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b, tt.limit); got != tt.want {
			t.Errorf("Distance(%s, %s, %d) = %d, want %d", tt.a, tt.b, tt.limit, got, tt.want)
		}
		if tt.want <= tt.limit && !MayBe(Letters(tt.a), Letters(tt.b), tt.limit) {
			t.Errorf("%s and %s are near and are not compared", tt.a, tt.b)
		}
	}
}

// The comparison leaves out what cannot matter; it must not matter.
func TestDistanceLeavesNothingOut(t *testing.T) {
	plain := func(a, b string) int {
		d := make([][]int, len(a)+1)
		for i := range d {
			d[i] = make([]int, len(b)+1)
			for j := range d[i] {
				switch {
				case i == 0 || j == 0:
					d[i][j] = i + j
					continue
				case a[i-1] == b[j-1]:
					d[i][j] = d[i-1][j-1]
				default:
					d[i][j] = 1 + d[i-1][j-1]
				}
				d[i][j] = min(d[i][j], 1+d[i-1][j], 1+d[i][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], 1+d[i-2][j-2])
				}
			}
		}
		return d[len(a)][len(b)]
	}
	word := rapid.StringMatching(`[abc]{0,9}`)
	rapid.Check(t, func(rt *rapid.T) {
		a, b, limit := word.Draw(rt, "a"), word.Draw(rt, "b"), rapid.IntRange(0, 3).Draw(rt, "limit")
		if got, want := Distance(a, b, limit), min(plain(a, b), limit+1); got != want {
			rt.Fatalf("Distance(%q, %q, %d) = %d, want %d", a, b, limit, got, want)
		}
	})
}

func TestWord(t *testing.T) {
	known := []string{"plan", "exitIdle", "output"}
	for typed, want := range map[string]string{"plna": "plan", "exitidel": "exitIdle", "OUTPUT": "output", "quite other": "", "": ""} {
		if got := Word(typed, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", typed, got, want)
		}
	}
}
