package heartbeat

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const minute = "2006-01-02 15:04"

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(minute, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestCronNext(t *testing.T) {
	for _, test := range []struct{ cron, from, want string }{
		{"* * * * *", "2026-01-01 00:00", "2026-01-01 00:01"},
		{"* * * * *", "2026-12-31 23:59", "2027-01-01 00:00"},
		{"0 3 * * *", "2026-11-30 02:59", "2026-11-30 03:00"},
		{"0 3 * * *", "2026-11-30 03:00", "2026-12-01 03:00"},
		{"30 2 * * *", "2026-03-28 12:00", "2026-03-29 02:30"}, // UTC knows no summer time
		{"*/15 * * * *", "2026-01-01 00:44", "2026-01-01 00:45"},
		{"7-59/20 * * * *", "2026-01-01 00:47", "2026-01-01 01:07"},
		{"0 0-6/3,12 * * *", "2026-01-01 03:00", "2026-01-01 06:00"},
		{"0 0-6/3,12 * * *", "2026-01-01 06:00", "2026-01-01 12:00"},
		{"0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00"},
		{"0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"},
		{"0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00"},   // 2100 is no leap year
		{"0 0 29 2 *", "1999-03-01 00:00", "2000-02-29 00:00"},   // and 2000 is one
		{"0 0 29 2 */6", "2088-03-01 00:00", "2116-02-29 00:00"}, // on a Saturday or Sunday
		{"0 0 * * 0", "2026-11-30 00:00", "2026-12-06 00:00"},
		{"0 0 * * 7", "2026-11-30 00:00", "2026-12-06 00:00"},
		{"0 0 * * SUN", "2026-11-30 00:00", "2026-12-06 00:00"},
		{"0 0 * * fri-sun", "2026-12-05 00:00", "2026-12-06 00:00"},
		{"0 0 * * 5-7", "2026-12-06 00:00", "2026-12-11 00:00"},
		{"0 0 1 jan,JUL *", "2026-01-01 00:00", "2026-07-01 00:00"},
		// Both days restricted: either will do. 2026-11-13 is a Friday.
		{"0 0 13 * 5", "2026-11-01 00:00", "2026-11-06 00:00"},
		{"0 0 13 * 5", "2026-12-11 00:00", "2026-12-13 00:00"},
		// A field that begins with * does not restrict: both have to fit.
		{"0 0 13 * *", "2026-11-13 00:00", "2026-12-13 00:00"},
		{"0 0 */2 * 1", "2026-11-30 00:00", "2026-12-07 00:00"},
		{"0 0 31 2 1", "2026-01-31 00:00", "2026-02-02 00:00"}, // the Mondays of February
	} {
		c, reason := parseCron(test.cron)
		if reason != "" {
			t.Errorf("%s: %s", test.cron, reason)
			continue
		}
		next, ok := c.next(at(t, test.from))
		if !ok || next.Format(minute) != test.want {
			t.Errorf("%s after %s: got %s, want %s", test.cron, test.from, next.Format(minute), test.want)
		}
		if last, ok := c.last(next.Add(59 * time.Second)); !ok || !last.Equal(next) {
			t.Errorf("%s: the last up to %s is %s", test.cron, next.Format(minute), last.Format(minute))
		}
		if last, ok := c.last(next.Add(-time.Second)); !ok || last.After(at(t, test.from)) {
			t.Errorf("%s: the last before %s is %s, behind %s", test.cron, next.Format(minute), last.Format(minute), test.from)
		}
	}
}

func TestCronErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "has five fields (minute, hour, day of month, month, day of week), and not 0",
		"* * * *":                         "and not 4",
		"* * * * * *":                     "and not 6; seconds and years are not taken",
		"@daily":                          "names such as @daily are not taken",
		"60 * * * *":                      `the minute "60" is made of *, values from 0 to 59`,
		"* 24 * * *":                      `the hour "24"`,
		"* * 0 * *":                       `the day of month "0"`,
		"* * 32 * *":                      `the day of month "32"`,
		"* * * 13 *":                      `the month "13"`,
		"* * * foo *":                     "names jan to dec",
		"* * * * 8":                       `the day of week "8"`,
		"* * * jan-foo *":                 `the month "jan-foo" is made of`,
		"-1 * * * *":                      `the minute "-1" is made of`,
		"+1 * * * *":                      `the minute "+1" is made of`,
		"1- * * * *":                      `the minute "1-" is made of`,
		"1,,2 * * * *":                    `the minute "1,,2" is made of`,
		"** * * * *":                      `the minute "**" is made of`,
		"? * * * *":                       `the minute "?" is made of`,
		"* * L * *":                       `the day of month "L"`,
		"* * * * 5#2":                     `the day of week "5#2"`,
		"10-5 * * * *":                    "has a range that ends before it begins",
		"* * * * fri-mon":                 "has a range that ends before it begins",
		"*/0 * * * *":                     "has a step that is no whole number above 0",
		"*/x * * * *":                     "has a step that is no whole number above 0",
		"*/60 * * * *":                    "has a step of 60, and its values go from 0 to 59 only",
		"*/2/2 * * * *":                   "has a step that is no whole number above 0",
		"5/10 * * * *":                    "has a step behind a single value; write 5-59/10",
		"0 0 31 2 *":                      "never comes",
		"0 0 30,31 feb *":                 "never comes",
		"0 0 31 4,6,9,11 *":               "never comes",
		"0 0 31 2 */2":                    "never comes",
		"99999999999999999999999 * * * *": "is made of",
	} {
		c, reason := parseCron(text)
		if c != nil || !strings.Contains(reason, want) || !strings.HasPrefix(reason, "cron") {
			t.Errorf("%q: got %q, want %q in it", text, reason, want)
		}
	}
}

// TestCronAgainstEveryMinute asks each minute of some days whether it fits, in
// the plainest way there is.
func TestCronAgainstEveryMinute(t *testing.T) {
	const days = 20
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range 30 {
		text := strings.Join([]string{
			pick("*", "0", "*/7", "5,50-59", "59"), pick("*", "0", "3-20/5", "23"),
			pick("*", "1", "13", "*/9", "28-31", "29"), pick("*", "2", "1-12/3", "dec,feb"), pick("*", "0", "7", "1-5", "*/2", "6"),
		}, " ")
		c, reason := parseCron(text)
		if reason != "" {
			t.Fatalf("%s: %s", text, reason)
		}
		from := time.Date(2027+r.IntN(2), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
		f := strings.Fields(text)
		want := from.Truncate(time.Minute).Add(time.Minute)
		for i := 0; i < days*24*60 && !fits(f, want); i++ {
			want = want.Add(time.Minute)
		}
		if !fits(f, want) {
			want = time.Time{} // not within the days
		}
		got, ok := c.next(from)
		if !ok || !want.IsZero() && !got.Equal(want) || want.IsZero() && got.Before(from.Add(days*24*time.Hour)) {
			t.Errorf("%s after %s: got %s, want %s", text, from, got, want)
		}
		if last, _ := c.last(got.Add(-time.Minute)); last.After(from) {
			t.Errorf("%s: %s is left out between %s and %s", text, last, from, got)
		}
	}
}

// fits reads the fields that the test above makes.
func fits(f []string, t time.Time) bool {
	day, weekday := in(f[2], t.Day()), in(f[4], int(t.Weekday())) || f[4] == "7" && t.Weekday() == time.Sunday
	days := day && weekday
	if f[2][0] != '*' && f[4][0] != '*' {
		days = day || weekday
	}
	return days && in(f[0], t.Minute()) && in(f[1], t.Hour()) && in(f[3], int(t.Month()))
}

func in(field string, v int) bool {
	switch field {
	case "*":
		return true
	case "*/7":
		return v%7 == 0
	case "*/2":
		return v%2 == 0
	case "*/9": // of 1 to 31
		return (v-1)%9 == 0
	case "5,50-59":
		return v == 5 || v >= 50
	case "3-20/5":
		return v == 3 || v == 8 || v == 13 || v == 18
	case "28-31":
		return v >= 28
	case "1-12/3":
		return v == 1 || v == 4 || v == 7 || v == 10
	case "dec,feb":
		return v == 12 || v == 2
	case "1-5":
		return v >= 1 && v <= 5
	}
	n, _ := number(field)
	return v == n
}
