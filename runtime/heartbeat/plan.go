package heartbeat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/near"
)

// Limits of a HEARTBEAT.md.
const (
	MaxFile   = 256 << 10 // bytes
	MaxBlocks = 64        // blocks of the language chant
	MaxJobs   = 256       // command lines in all of them

	maxDiagnostics = 20 // more help nobody
)

// FileName is the name of the file, at the root of a workspace.
const FileName = "HEARTBEAT.md"

// A Plan is what a HEARTBEAT.md says, in its order.
type Plan struct {
	Jobs []Job
}

// A Job is one command line and when it runs.
type Job struct {
	// ID tells the job from others and stays the same while command line and
	// schedule do, wherever in the file they stand: 16 hexadecimal digits.
	ID string
	// Line is the line of the file that the command stands in, from 1.
	Line int
	// Command is the command line, as it goes to the agent.
	Command string
	// Schedule says when.
	Schedule Schedule
}

// A Diagnostic is one error of a file.
type Diagnostic struct {
	Line    int // from 1
	Message string
}

func (d Diagnostic) String() string { return fmt.Sprintf("%s:%d: %s", FileName, d.Line, d.Message) }

// PlanError is all that is wrong with a file, by line; at most 20 of it.
type PlanError struct {
	Diagnostics []Diagnostic
}

func (e *PlanError) Error() string {
	text := e.Diagnostics[0].String()
	if n := len(e.Diagnostics) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Parse reads the text of a HEARTBEAT.md. Only fenced code blocks of the
// language chant count (CommonMark 0.31.2, 4.5). Each begins with settings,
// "key: value" (every or cron, jitter, catch-up), and goes on with one command line or
// more; empty lines, and lines that begin with #, are skipped. A text without
// such a block is a plan without jobs.
//
// All errors are found in one pass and returned as a *[PlanError].
func Parse(text []byte) (*Plan, error) {
	p := parser{seen: map[string]int{}}
	p.plan(text)
	if len(p.found) > 0 {
		slices.SortStableFunc(p.found, func(a, b Diagnostic) int { return a.Line - b.Line })
		return nil, &PlanError{p.found[:min(len(p.found), maxDiagnostics)]}
	}
	return &Plan{Jobs: p.jobs}, nil
}

// parser reads a HEARTBEAT.md and collects what is wrong with it.
type parser struct {
	jobs  []Job
	seen  map[string]int // the lines of jobs, by id
	found []Diagnostic
}

func (p *parser) bad(line int, format string, args ...any) {
	p.found = append(p.found, Diagnostic{line, fmt.Sprintf(format, args...)})
}

// plan reads the whole file.
func (p *parser) plan(text []byte) {
	if len(text) > MaxFile {
		p.bad(1, "the file is larger than %d bytes, the most that is read; keep only what is to run, and a few words about it", MaxFile)
		return
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if i := invalidByte(text); i >= 0 {
		p.bad(lineOf(text, i), "the file holds a byte that is not UTF-8 (0x%02x); save it as UTF-8 text", text[i])
		return
	}
	list, tooDeep := fencedBlocks(string(text))
	if tooDeep > 0 {
		p.bad(tooDeep, "quotes and lists are nested more than %d deep here; take some of that out", maxNesting)
		return
	}
	if len(list) > MaxBlocks {
		p.bad(list[MaxBlocks].line, "this is chant block %d, and %d are the most; give lines of the same schedule one block", MaxBlocks+1, MaxBlocks)
		return
	}
	for _, b := range list {
		p.block(b)
	}
	if len(p.jobs) > MaxJobs {
		p.bad(p.jobs[MaxJobs].Line, "this is command line %d, and %d are the most", MaxJobs+1, MaxJobs)
	}
}

// invalidByte is where text is not UTF-8, or -1.
func invalidByte(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// lineOf is the line that an offset lies in.
func lineOf(text []byte, offset int) int {
	before := text[:offset]
	return 1 + bytes.Count(before, []byte("\n")) + bytes.Count(before, []byte("\r")) - bytes.Count(before, []byte("\r\n"))
}

// language is what an info string names: its first word.
func language(info string) string {
	name, _, _ := strings.Cut(strings.ReplaceAll(info, "\t", " "), " ")
	return name
}

// isChant says whether a block is meant for us, perhaps in other letters, of
// which block then complains: who wrote Chant would wait for it in vain.
func isChant(info string) bool { return strings.EqualFold(language(info), "chant") }

// block reads one code block: settings, and the lines to run on that schedule.
func (p *parser) block(b block) {
	if name := language(b.info); name != "chant" {
		p.bad(b.line, "the language of this block is written %q; write chant", show(name))
		return
	}
	before := len(p.found)
	var (
		settings = settings{parser: p, lines: map[string]int{}}
		commands []textLine
	)
	for _, l := range b.lines {
		switch key, value, ok := setting(l.text); {
		case l.text == "" || l.text[0] == '#':
		case !p.printable(l):
			settings.failed = true
		case !ok:
			commands = append(commands, l)
		case len(commands) > 0:
			p.bad(l.number, "the setting %s stands behind a command line; settings come first in a block, and another schedule needs another block", key)
		default:
			settings.set(l.number, key, value)
		}
	}
	schedule := settings.schedule(b.line)
	if len(p.found) > before {
		return
	}
	if len(commands) == 0 {
		p.bad(b.line, "this block holds no command line, so nothing would run; add one, or take the block out")
	}
	for _, l := range commands {
		p.job(l, schedule)
	}
}

// printable refuses what a person who reads the file, or is shown it, may not
// see: they say yes to what they see.
func (p *parser) printable(l textLine) bool {
	for _, r := range l.text {
		if r != '\t' && !unicode.IsPrint(r) {
			p.bad(l.number, "this line holds the character U+%04X, which does not show; remove it", r)
			return false
		}
	}
	return true
}

func (p *parser) job(l textLine, s Schedule) {
	j := Job{ID: jobID(l.text, s), Line: l.number, Command: l.text, Schedule: s}
	if other, twice := p.seen[j.ID]; twice {
		p.bad(l.number, "this is line %d again, with the same schedule; remove one of them", other)
		return
	}
	p.seen[j.ID] = l.number
	p.jobs = append(p.jobs, j)
}

func jobID(line string, s Schedule) string {
	sum := sha256.Sum256([]byte(s.String() + "\n" + line))
	return hex.EncodeToString(sum[:8])
}

// setting splits "key: value". In a command line no word that can be a key has a
// colon at its end.
func setting(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	key = strings.TrimRight(key, " \t")
	if !ok || !isKey(key) {
		return "", "", false
	}
	if value != "" && value[0] != ' ' && value[0] != '\t' && !slices.Contains(keys(), key) {
		return "", "", false
	}
	return key, strings.Trim(value, " \t"), true
}

func isKey(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return text != "" && len(text) <= 20 && strings.Trim(text, letters) == ""
}

func keys() []string { return []string{"every", "cron", "jitter", "catch-up"} }

// settings collects those of one block.
type settings struct {
	*parser
	lines  map[string]int // by key
	result Schedule
	failed bool
}

// set takes one setting of a block.
func (s *settings) set(line int, key, value string) {
	if before, twice := s.lines[key]; twice {
		s.bad(line, "%s is given twice, in line %d already; remove one of them", key, before)
		s.failed = true
		return
	}
	var reason string
	switch key {
	case "every":
		s.result.Every, reason = parseEvery(value)
	case "cron":
		s.result.cron, reason = parseCron(value)
		s.result.Cron = strings.Join(strings.Fields(value), " ")
	case "jitter":
		s.result.Jitter, reason = parseJitter(value)
	case "catch-up":
		switch value {
		case "once":
		case "skip":
			s.result.SkipMissed = true
		default:
			reason = fmt.Sprintf("catch-up is once (what was missed is one run) or skip (it is left out), and not %q", show(value))
		}
	default:
		reason = unknownKey(key)
	}
	s.lines[key] = line
	if reason != "" {
		s.bad(line, "%s", reason)
		s.failed = true
	}
}

func unknownKey(key string) string {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key)) {
	case "timezone", "tz", "crontz", "zone":
		return fmt.Sprintf("a block has no setting %q: %s", key, onlyUTC)
	}
	hint := ""
	if k := near.Word(key, keys()); k != "" {
		hint = fmt.Sprintf("; did you mean %q?", k)
	}
	return fmt.Sprintf("a block has no setting %q%s It may have: %s", key, cmp.Or(hint, "."), strings.Join(keys(), ", "))
}

// schedule is what the settings of a block that begins in line amount to.
func (s *settings) schedule(line int) Schedule {
	every, hasEvery := s.lines["every"]
	cron, hasCron := s.lines["cron"]
	switch {
	case hasEvery && hasCron:
		s.bad(max(every, cron), "a block runs by every or by cron, and this one has both; remove one, or make two blocks")
	case s.failed:
	case !hasEvery && !hasCron:
		s.bad(line, "this block does not say when it runs; begin it with every: 10m, say, or with cron: 0 3 * * *")
	case hasEvery && s.result.Jitter >= s.result.Every:
		s.bad(s.lines["jitter"], "jitter has to be shorter than every, which is %s", brief.Duration(s.result.Every))
	}
	return s.result
}

// Bounds of settings.
const (
	MinEvery  = time.Second
	MaxEvery  = 366 * 24 * time.Hour
	MaxJitter = 24 * time.Hour
)

func parseEvery(value string) (time.Duration, string) {
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("every is a duration such as 90s, 10m or 1h30m (a day is 24h), and not %q", show(value))
	case d < MinEvery || d > MaxEvery:
		return 0, fmt.Sprintf("every is at least %s and at most %s, and not %s", brief.Duration(MinEvery), brief.Duration(MaxEvery), d)
	case d%time.Second != 0:
		return 0, fmt.Sprintf("every is a whole number of seconds, and not %s", d)
	}
	return d, ""
}

func parseJitter(value string) (time.Duration, string) {
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("jitter is a duration such as 30s or 5m, and not %q", show(value))
	case d < 0 || d > MaxJitter:
		return 0, fmt.Sprintf("jitter is at least 0s and at most %s, and not %s", brief.Duration(MaxJitter), d)
	}
	return d, ""
}

// show cuts what is repeated in a message.
func show(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
