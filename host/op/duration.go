package op

import (
	"fmt"
	"time"
)

// maxDuration is the longest duration that is taken; longer ones are mistakes.
const maxDuration = 10 * 365 * 24 * time.Hour

// ParseDuration reads a duration as chant's parseDuration does: all numbers
// followed by ms, s, m, h or d are added up, and what stands between them is
// passed over. No such number, or more than ten years, is an error.
func ParseDuration(s string) (time.Duration, error) {
	d, found, _ := scanDuration(s)
	switch {
	case !found:
		return 0, fmt.Errorf("unparseable duration: %q; write it as 90s, 10m, 1h30m or 2d", s)
	case d > maxDuration:
		return 0, fmt.Errorf("the duration %q is longer than ten years", s)
	}
	return d, nil
}

// scanDuration adds up the parts of s, up to something above maxDuration. whole
// says that nothing but parts and blanks between them stands in s.
func scanDuration(s string) (sum time.Duration, found, whole bool) {
	whole = true
	for i := 0; i < len(s); {
		start, n := i, time.Duration(0)
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = min(n*10+time.Duration(s[i]-'0'), maxDuration) // in ms at least, so far above the most
		}
		unit, length := unitOf(s[i:])
		if i == start || length == 0 {
			if i == start {
				whole = whole && s[i] == ' '
				i++
			} else {
				whole = false
			}
			continue
		}
		found = true
		i += length
		if n > maxDuration/unit {
			sum = maxDuration + 1
			continue
		}
		sum = min(sum+n*unit, maxDuration+1)
	}
	return sum, found, whole
}

// unitOf reads the unit that s begins with; ms goes before m.
func unitOf(s string) (time.Duration, int) {
	if len(s) >= 2 && s[:2] == "ms" {
		return time.Millisecond, 2
	}
	if s == "" {
		return 0, 0
	}
	switch s[0] {
	case 's':
		return time.Second, 1
	case 'm':
		return time.Minute, 1
	case 'h':
		return time.Hour, 1
	case 'd':
		return 24 * time.Hour, 1
	}
	return 0, 0
}
