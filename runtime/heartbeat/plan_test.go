package heartbeat_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/runtime/heartbeat"
)

// lines is a plan in short: line, schedule and command of each job.
func lines(p *heartbeat.Plan) []string {
	var list []string
	for _, j := range p.Jobs {
		list = append(list, fmt.Sprintf("%d %s: %s", j.Line, j.Schedule, j.Command))
	}
	return list
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":     {"", nil},
		"prose":       {"# Heartbeat\n\nevery: 10m\nplan dev\n", nil},
		"every":       {"```chant\nevery: 10m\nplan dev\n```\n", []string{"3 every 10m: plan dev"}},
		"cron":        {"~~~chant\ncron:  0 3 *  * mon-fri\n\nplan dev\nplan prod\n~~~\n", []string{"4 cron 0 3 * * mon-fri: plan dev", "5 cron 0 3 * * mon-fri: plan prod"}},
		"jitter":      {"```chant\njitter: 30s\nevery: 1h30m\nplan dev\n```\n", []string{"4 every 1h30m, jitter 30s: plan dev"}},
		"catch-up":    {"```chant\nevery: 1m\ncatch-up: skip\na\n```\n```chant\nevery: 1m\ncatch-up: once\na\n```\n", []string{"4 every 1m, catch-up skip: a", "9 every 1m: a"}},
		"no blank":    {"```chant\nevery:10m\nplan dev\n```\n", []string{"3 every 10m: plan dev"}},
		"comments":    {"```chant\n# often\nevery: 24h\n# plan prod\nplan dev\n```\n", []string{"5 every 24h: plan dev"}},
		"two blocks":  {"a\n```chant\nevery: 1s\na b\n```\nb\n```chant title=x\nevery: 2s\na b\n```\n", []string{"4 every 1s: a b", "9 every 2s: a b"}},
		"CRLF":        {"```chant\r\nevery: 10m\r\nplan dev\r\n```\r\n", []string{"3 every 10m: plan dev"}},
		"a mark":      {"\ufeff```chant\nevery: 10m\nplan dev\n", []string{"3 every 10m: plan dev"}},
		"indented":    {"- x\n\n  ```chant\n  every: 10m\n    plan dev\t\n  ```\n", []string{"5 every 10m: plan dev"}},
		"colons":      {"```chant\nevery: 10m\nfetch https://example.org/a: b\ndb:migrate dev\n'x: y'\n```\n", []string{"3 every 10m: fetch https://example.org/a: b", "4 every 10m: db:migrate dev", "5 every 10m: 'x: y'"}},
		"no jitter":   {"```chant\nevery: 10m\njitter: 0s\nplan dev\n```\n", []string{"4 every 10m: plan dev"}},
		"the longest": {"```chant\nevery: 8784h\nplan dev\n```\n", []string{"3 every 8784h: plan dev"}},
		"deep":        {strings.Repeat(">", 63) + "- ```chant\n" + strings.Repeat(">", 63) + "   every: 1m\n" + strings.Repeat(">", 63) + "   a", []string{"3 every 1m: a"}},
		"letters":     {"```chant\nevery: 1m\nplan größe\n```\n", []string{"3 every 1m: plan größe"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := heartbeat.Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(p)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	block := func(lines ...string) string { return "```chant\n" + strings.Join(lines, "\n") + "\n```\n" }
	for name, test := range map[string]struct {
		text string
		want []string // beginnings of the errors
	}{
		"both":              {block("every: 1m", "cron: * * * * *", "a"), []string{"3: a block runs by every or by cron, and this one has both"}},
		"neither":           {block("a"), []string{"1: this block does not say when it runs; begin it with every: 10m"}},
		"no line":           {block("every: 1m", "", "# a"), []string{"1: this block holds no command line"}},
		"empty":             {"```chant\n```", []string{"1: this block does not say when"}},
		"unknown":           {block("evry: 1m", "a"), []string{`2: a block has no setting "evry"; did you mean "every"? It may have: every, cron, jitter, catch-up`}},
		"unknown, far":      {block("every: 1m", "colour: x", "a"), []string{`3: a block has no setting "colour". It may have`}},
		"a time zone":       {block("cron: 0 3 * * *", "timezone: Europe/Berlin", "a"), []string{`3: a block has no setting "timezone": times are UTC`}},
		"a short zone":      {block("cron: 0 3 * * *", "TZ: CET", "a"), []string{`3: a block has no setting "TZ": times are UTC`}},
		"a zone in cron":    {block("cron: CRON_TZ=Europe/Berlin 0 3 * * *", "a"), []string{"2: cron has five fields (minute, hour, day of month, month, day of week), and not 6; times are UTC"}},
		"a zone behind":     {block("cron: 0 3 * * * America/New_York", "a"), []string{"2: cron has five fields (minute, hour, day of month, month, day of week), and not 6; times are UTC"}},
		"catch-up":          {block("every: 1m", "catch-up: twice", "a"), []string{`3: catch-up is once (what was missed is one run) or skip (it is left out), and not "twice"`}},
		"in other letters":  {block("Every: 1m", "a"), []string{`2: a block has no setting "Every"; did you mean "every"?`}},
		"twice":             {block("every: 1m", "every: 2m", "a"), []string{"3: every is given twice, in line 2 already"}},
		"behind a command":  {block("every: 1m", "a", "jitter: 1s"), []string{"4: the setting jitter stands behind a command line"}},
		"no duration":       {block("every: soon", "a"), []string{`2: every is a duration such as 90s, 10m or 1h30m (a day is 24h), and not "soon"`}},
		"days":              {block("every: 1d", "a"), []string{`2: every is a duration`}},
		"no value":          {block("every:", "a"), []string{`2: every is a duration`}},
		"too often":         {block("every: 999ms", "a"), []string{"2: every is at least 1s and at most 8784h, and not 999ms"}},
		"negative":          {block("every: -1m", "a"), []string{"2: every is at least 1s"}},
		"too rarely":        {block("every: 8785h", "a"), []string{"2: every is at least 1s and at most 8784h"}},
		"split seconds":     {block("every: 1.5s", "a"), []string{"2: every is a whole number of seconds"}},
		"jitter":            {block("every: 1m", "jitter: x", "a"), []string{`3: jitter is a duration such as 30s or 5m, and not "x"`}},
		"jitter below 0":    {block("every: 1m", "jitter: -1s", "a"), []string{"3: jitter is at least 0s"}},
		"jitter too long":   {block("every: 1m", "jitter: 1m", "a"), []string{"3: jitter has to be shorter than every, which is 1m"}},
		"jitter over a day": {block("cron: 0 0 1 1 *", "jitter: 25h", "a"), []string{"3: jitter is at least 0s and at most 24h"}},
		"the same again":    {block("every: 1m", "a") + block("every: 60s", "b", "a"), []string{"8: this is line 3 again, with the same schedule"}},
		"another spelling":  {"x\n```Chant\nevery: 1m\na\n```", []string{`2: the language of this block is written "Chant"; write chant`}},
		"hidden":            {block("every: 1m", "a \u202e b"), []string{"3: this line holds the character U+202E, which does not show"}},
		"an escape":         {block("every: 1m", "a \x1b[2K"), []string{"3: this line holds the character U+001B"}},
		"hidden in keys":    {block("every: 1m\u200b", "a"), []string{"2: this line holds the character U+200B"}},
		"not UTF-8":         {"a\r\nb\rc\n\xff", []string{"4: the file holds a byte that is not UTF-8 (0xff)"}},
		"several":           {block("every: x", "a") + "\n" + block("b") + block("cron: x", "a"), []string{"2: every is a duration", "6: this block does not say", "10: cron has five fields"}},
		"too large":         {strings.Repeat("x", heartbeat.MaxFile+1), []string{"1: the file is larger than 262144 bytes"}},
		"many blocks":       {strings.Repeat(block("every: 1m", "a"), heartbeat.MaxBlocks+1), []string{"257: this is chant block 65, and 64 are the most"}},
		"deep":              {"a\n" + strings.Repeat(">", 65) + "```chant\n", []string{"2: quotes and lists are nested more than 64 deep here"}},
		"deep and long":     {strings.Repeat("* + ", 40_000) + "a\n" + strings.Repeat("\n", 90_000), []string{"1: quotes and lists are nested"}},
		"31 February":       {block("cron: 0 0 31 2 *", "a"), []string{"2: cron: 0 0 31 2 * never comes"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := heartbeat.Parse([]byte(test.text))
			var bad *heartbeat.PlanError
			if !errors.As(err, &bad) {
				t.Fatalf("the error is %v", err)
			}
			ok := len(bad.Diagnostics) == len(test.want)
			for i, d := range bad.Diagnostics {
				ok = ok && strings.HasPrefix(d.String(), "HEARTBEAT.md:"+test.want[i])
			}
			if !ok {
				t.Errorf("got  %q\nwant %q", bad.Diagnostics, test.want)
			}
		})
	}
}

func TestParseLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("```chant\nevery: 1m\n")
	for i := range heartbeat.MaxJobs {
		fmt.Fprintln(&b, "plan", i)
	}
	if p, err := heartbeat.Parse([]byte(b.String())); err != nil || len(p.Jobs) != heartbeat.MaxJobs {
		t.Errorf("%d jobs: %v", heartbeat.MaxJobs, err)
	}
	b.WriteString("plan more\n")
	if _, err := heartbeat.Parse([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "HEARTBEAT.md:259: this is command line 257, and 256 are the most") {
		t.Errorf("one more: %v", err)
	}
	bad := strings.Repeat("```chant\nx: y\n```\n", 40)
	_, err := heartbeat.Parse([]byte(bad))
	var all *heartbeat.PlanError
	if !errors.As(err, &all) || len(all.Diagnostics) != 20 || !strings.Contains(err.Error(), "(and 19 more)") {
		t.Errorf("forty errors: %v", err)
	}
	exact := strings.Repeat("x", heartbeat.MaxFile)
	if _, err := heartbeat.Parse([]byte(exact)); err != nil {
		t.Error(err)
	}
}

// A job keeps its id while it moves in the file, and has another with another
// schedule.
func TestJobID(t *testing.T) {
	id := func(text string) string {
		t.Helper()
		p, err := heartbeat.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p.Jobs[0].ID
	}
	one := id("```chant\nevery: 1h\na\n```")
	if other := id("# x\n~~~chant\n\n  every: 60m\nb\n~~~\n~~~chant\nevery: 60m\na"); other == one {
		t.Error("two commands have one id")
	}
	if moved := id("text\n\n~~~chant\n\n  every: 60m\n  a\nb\n~~~"); moved != one {
		t.Error("a job that was moved has another id")
	}
	if other := id("```chant\nevery: 2h\na\n```"); other == one {
		t.Error("two schedules have one id")
	}
	if other := id("```chant\nevery: 1h\njitter: 1s\na\n```"); other == one {
		t.Error("with jitter and without, the id is one")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"```chant\nevery: 10m\njitter: 5s\nplan dev\n```",
		"> - ~~~chant title=x\n>   cron: 0 3 * * 1-5\n>   plan\n",
		"<!-- ```chant\n-->\n1. ```chant\r\n   cron: */5 0-6/2 1,31 feb,mar sun\r   a\n",
		"````\n```chant\n````\n\t```chant\nevery: 1s\na: b\n",
		"-\n\n  ```Chant\n+\t```chant\ncron: 0 0 29 2 */7\na\xff",
	} {
		f.Add([]byte(text), int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, text []byte, unix int64) {
		p, err := heartbeat.Parse(text)
		var bad *heartbeat.PlanError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("another error: %v", err)
		}
		if err != nil {
			return
		}
		rows := strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n"), "\n")
		now := time.Unix(unix%(1<<33), 0)
		for _, j := range p.Jobs {
			if !strings.Contains(rows[j.Line-1], j.Command) || j.Command == "" {
				t.Errorf("line %d is not %q", j.Line, j.Command)
			}
			if next := j.Next("/w", now); !next.After(now) {
				t.Errorf("%s: next after %v is %v", j.Schedule, now, next)
			}
		}
	})
}

// What the documentation shows is taken as it says.
func TestDocumentedExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/heartbeat.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "````markdown\n")
	example, _, found := strings.Cut(example, "````\n")
	if !found {
		t.Fatal("there is no example")
	}
	p, err := heartbeat.Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"8 every 10m, jitter 1m: status", "9 every 10m, jitter 1m: plan dev", "16 cron 0 3 * * mon-fri: backup prod"}
	if diff := cmp.Diff(want, lines(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The page itself shows the example in a longer fence: nothing of it runs.
	if p, err := heartbeat.Parse(page); err != nil || len(p.Jobs) > 0 {
		t.Errorf("the page would run %v: %v", p, err)
	}
}
