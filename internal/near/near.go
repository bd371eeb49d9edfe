// Package near finds the name that a word was most likely meant to be.
//
// [Word] takes the names that there are and the word that was typed, and returns the nearest, or
// none.
package near

import (
	"math/bits"
	"strings"
)

// Max is the longest name that is compared letter by letter. No name of an
// allow-list is longer, and a longer word is no misspelling of one.
const Max = 64

// Letters is a set of the bytes of a name, folded to 64 bits. Each edit changes
// it by at most two bits, so far-off names are told apart without comparing
// them.
func Letters(s string) uint64 {
	var set uint64
	for i := 0; i < len(s); i++ {
		set |= 1 << (s[i] & 63)
	}
	return set
}

// MayBe says whether two names can lie within limit of each other, by their letters.
func MayBe(a, b uint64, limit int) bool {
	return bits.OnesCount64(a^b) <= 2*limit
}

// Limit is how many slips of the finger a word of this length may hold and
// still be taken for another one.
func Limit(word string) int {
	switch n := len(word); {
	case n <= 3:
		return 1
	case n <= 8:
		return 2
	default:
		return 3
	}
}

// Distance is the number of insertions, deletions, substitutions and swaps of
// neighbours between a and b (optimal string alignment), or limit+1 when it is
// more than limit.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit || len(a) > Max || len(b) > Max {
		return limit + 1
	}
	var rows [3][Max + 2]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		// Cells further than limit from the diagonal cannot lie on the way.
		from, to := max(1, i-limit), min(len(b), i+limit)
		row[from-1] = limit + 1
		if from == 1 {
			row[0] = i
		}
		if to < len(b) {
			row[to+1] = limit + 1
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		before, above, row = above, row, before
	}
	return min(above[len(b)], limit+1)
}

// Hint ends a sentence on a word that is not known with the known one that was most
// likely meant: "; did you mean plan?". It is "" where there is none.
func Hint(word string, known []string) string {
	if meant := Word(word, known); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

// Word returns the known word that word was most likely meant to be, or "";
// capitals do not count.
func Word(word string, known []string) string {
	best, bestDistance := "", Limit(word)+1
	typed := strings.ToLower(word)
	for _, k := range known {
		name := strings.ToLower(k)
		if Letters(typed)&Letters(name) == 0 { // a letter is no misspelling of another one
			continue
		}
		if d := Distance(typed, name, bestDistance-1); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}
