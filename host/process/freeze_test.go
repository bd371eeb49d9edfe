package process

import (
	"slices"
	"testing"
)

// Looks go on until two in a row have found nothing, and never stop after one.
func TestUntilQuiet(t *testing.T) {
	tests := []struct {
		busy  []bool // what the looks return; then false
		looks int
	}{
		{nil, 2},
		{[]bool{true}, 3},
		{[]bool{false, true}, 4},
		{[]bool{true, false, true}, 5},
		{[]bool{true, true, false, true, true}, 7},
	}
	for _, test := range tests {
		looks, busy := 0, slices.Clone(test.busy)
		untilQuiet(func() bool {
			looks++
			if len(busy) == 0 {
				return false
			}
			now := busy[0]
			busy = busy[1:]
			return now
		})
		if looks != test.looks {
			t.Errorf("%v: %d looks, want %d", test.busy, looks, test.looks)
		}
	}
}
