package heartbeat

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A cron is an expression of five fields, as in crontab(5), in UTC. Each field
// is the set of its values, one bit each. That UTC knows no summer time keeps it
// simple.
type cron struct {
	minute, hour, day, month, weekday uint64

	// Where both fields of days are restricted, that is, neither begins with *,
	// a day has to be in one of them; else in both (crontab(5), and POSIX
	// crontab).
	either bool
}

// A cronField says what a field of an expression may hold.
type cronField struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

func cronFields() [5]cronField {
	return [5]cronField{
		{"minute", 0, 59, nil},
		{"hour", 0, 23, nil},
		{"day of month", 1, 31, nil},
		{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// onlyUTC is what is said to a time zone.
const onlyUTC = "times are UTC, and a time zone can't be given: put the time in UTC"

// isZone says whether a word is meant as a time zone, as other crons have it.
func isZone(word string) bool {
	name, _, assigned := strings.Cut(word, "=")
	if assigned {
		return strings.EqualFold(name, "TZ") || strings.EqualFold(name, "CRON_TZ")
	}
	area, city, ok := strings.Cut(word, "/")
	isLetter := func(r rune) bool { return unicode.IsLetter(r) || r == '_' || r == '/' || r == '-' }
	return word == "UTC" || word == "Z" || word == "GMT" || word == "local" ||
		ok && len(area) > 3 && len(city) > 2 && strings.TrimFunc(word, isLetter) == ""
}

// parseCron reads an expression, or says what is wrong with it.
func parseCron(text string) (*cron, string) {
	words := strings.Fields(text)
	if len(words) != 5 {
		hint := ""
		switch {
		case slices.ContainsFunc(words, isZone):
			hint = "; " + onlyUTC
		case strings.HasPrefix(text, "@"):
			hint = "; names such as @daily are not taken (0 0 * * * is daily)"
		case len(words) == 6:
			hint = "; seconds and years are not taken"
		}
		return nil, fmt.Sprintf("cron has five fields (minute, hour, day of month, month, day of week), and not %d%s", len(words), hint)
	}
	var sets [5]uint64
	for i, f := range cronFields() {
		set, reason := f.parse(words[i])
		if reason != "" {
			return nil, fmt.Sprintf("cron: the %s %q %s", f.name, show(words[i]), reason)
		}
		sets[i] = set
	}
	c := &cron{minute: sets[0], hour: sets[1], day: sets[2], month: sets[3], weekday: sets[4]}
	const sunday, alsoSunday = 1 << 0, 1 << 7
	if c.weekday&alsoSunday != 0 {
		c.weekday = c.weekday&^alsoSunday | sunday
	}
	c.either = words[2][0] != '*' && words[4][0] != '*'
	if _, ok := c.next(time.Unix(0, 0)); !ok {
		return nil, fmt.Sprintf("cron: %s never comes: no month of these has such a day", strings.Join(words, " "))
	}
	return c, ""
}

// parse reads a list of values, ranges and steps.
func (f cronField) parse(text string) (set uint64, reason string) {
	for part := range strings.SplitSeq(text, ",") {
		values, step, stepped := strings.Cut(part, "/")
		from, to, reason := f.span(values)
		if reason != "" {
			return 0, reason
		}
		by := 1
		if stepped {
			if from == to {
				return 0, fmt.Sprintf("has a step behind a single value; write %d-%d/%s", from, f.max, show(step))
			}
			by, reason = f.step(step, from, to)
			if reason != "" {
				return 0, reason
			}
		}
		for v := from; v <= to; v += by {
			set |= 1 << v
		}
	}
	return set, ""
}

func (f cronField) step(text string, from, to int) (by int, reason string) {
	by, ok := number(text)
	switch {
	case !ok || by == 0:
		return 0, "has a step that is no whole number above 0"
	case by > to-from:
		return 0, fmt.Sprintf("has a step of %d, and its values go from %d to %d only", by, from, to)
	}
	return by, ""
}

// span reads *, a value, or a range.
func (f cronField) span(text string) (from, to int, reason string) {
	if text == "*" {
		top := f.max
		if f.name == "day of week" {
			top = 6 // 7 is 0 again
		}
		return f.min, top, ""
	}
	first, last, isRange := strings.Cut(text, "-")
	from, ok := f.value(first)
	to = from
	if isRange && ok {
		to, ok = f.value(last)
		if to == 0 && f.max == 7 && from > 0 { // fri-sun
			to = 7
		}
	}
	switch {
	case !ok:
		return 0, 0, f.expected()
	case to < from:
		return 0, 0, "has a range that ends before it begins; give the two parts as a list"
	}
	return from, to, ""
}

func (f cronField) value(text string) (int, bool) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, true
		}
	}
	n, ok := number(text)
	return n, ok && n >= f.min && n <= f.max
}

func (f cronField) expected() string {
	text := fmt.Sprintf("is made of *, values from %d to %d, ranges such as %d-%d, steps such as */2, and commas", f.min, f.max, f.min, f.min+2)
	if f.names != nil {
		text += fmt.Sprintf("; values have the names %s to %s, too", f.names[0], f.names[len(f.names)-1])
	}
	return text
}

// number reads digits only: no sign.
func number(text string) (int, bool) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// horizon bounds a search, in months. The calendar repeats itself after 400
// years, so what does not come within them never does.
const horizon = 400 * 12

// next is the first time after t that the expression names. ok is false when
// there is none.
func (c *cron) next(t time.Time) (time.Time, bool) {
	t = t.UTC().Truncate(time.Minute).Add(time.Minute)
	year, month, day := t.Date()
	from := t.Hour()*60 + t.Minute()
	for range horizon {
		if c.month>>month&1 != 0 {
			last := daysIn(year, month)
			for ; day <= last; day++ {
				if at, ok := c.firstOf(year, month, day, from); ok {
					return at, true
				}
				from = 0
			}
		}
		day, from = 1, 0
		if month++; month > time.December {
			year, month = year+1, time.January
		}
	}
	return time.Time{}, false
}

// firstOf is the first minute of a day, from one of its minutes on.
func (c *cron) firstOf(year int, month time.Month, day, from int) (time.Time, bool) {
	if !c.onDay(year, month, day) {
		return time.Time{}, false
	}
	hours := c.hour >> (from / 60) << (from / 60)
	for ; hours != 0; hours &= hours - 1 {
		hour := bits.TrailingZeros64(hours)
		minutes := c.minute
		if hour == from/60 {
			minutes = minutes >> (from % 60) << (from % 60)
		}
		if minutes != 0 {
			return time.Date(year, month, day, hour, bits.TrailingZeros64(minutes), 0, 0, time.UTC), true
		}
	}
	return time.Time{}, false
}

// last is the last time up to and with t that the expression names.
func (c *cron) last(t time.Time) (time.Time, bool) {
	t = t.UTC()
	year, month, day := t.Date()
	to := t.Hour()*60 + t.Minute()
	for range horizon {
		if c.month>>month&1 != 0 {
			for ; day >= 1; day-- {
				if at, ok := c.lastOf(year, month, day, to); ok {
					return at, true
				}
				to = 24*60 - 1
			}
		}
		if month--; month < time.January {
			year, month = year-1, time.December
		}
		day, to = daysIn(year, month), 24*60-1
	}
	return time.Time{}, false
}

// lastOf is the last minute of a day, up to and with one of its minutes.
func (c *cron) lastOf(year int, month time.Month, day, to int) (time.Time, bool) {
	if !c.onDay(year, month, day) {
		return time.Time{}, false
	}
	upTo := func(set uint64, n int) uint64 { return set & (1<<(n+1) - 1) }
	for hours := upTo(c.hour, to/60); hours != 0; {
		hour := bits.Len64(hours) - 1
		minutes := c.minute
		if hour == to/60 {
			minutes = upTo(minutes, to%60)
		}
		if minutes != 0 {
			return time.Date(year, month, day, hour, bits.Len64(minutes)-1, 0, 0, time.UTC), true
		}
		hours &^= 1 << hour
	}
	return time.Time{}, false
}

func (c *cron) onDay(year int, month time.Month, day int) bool {
	weekday := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()
	byDay, byWeekday := c.day>>day&1 != 0, c.weekday>>weekday&1 != 0
	if c.either {
		return byDay || byWeekday
	}
	return byDay && byWeekday
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
