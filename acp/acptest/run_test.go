package acptest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

const transcripts = "../../testdata/transcripts"

// raced says that the race detector watches. Lines of 32 MiB then take most of
// a minute.
var raced bool

// everything has the scripted agent tried with lines of 32 MiB and all rounds, too,
// where there is time for it. The suite tries the real agent so, always.
func everything(a *Agent) {
	if testenv.Long() && !raced {
		a.Rounds, a.MaxRead = 0, acp.MaxLine
	}
}

func TestRunHere(t *testing.T) {
	a := scriptedHere(t, "")
	a.Transcripts = transcripts
	everything(&a)
	Run(t, a)
}

func TestRunProcess(t *testing.T) {
	a := scriptedProcess(t, "ok")
	a.Transcripts = transcripts
	everything(&a)
	Run(t, a)
}

// What the protocol leaves open is no failure of an agent that is not strict.
func TestRunLenient(t *testing.T) {
	for _, bug := range []string{"anonymous", "echoes-version", "second-is-refusal", "plain-unknown-session", "no-commands", "ignores-cancel-request"} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			a := scriptedHere(t, bug)
			a.Strict = false
			a.Rounds = 5
			Run(t, a)
		})
	}
}

// An agent of which nothing is known is tested as far as that goes.
func TestRunBare(t *testing.T) {
	a := scriptedHere(t, "")
	Run(t, Agent{Dial: a.Dial, Rounds: 5})
}

// mutant is a bug and the checks that must find it.
type mutant struct {
	bug     string
	process bool
	hangs   bool   // found by a hang, so that patience is short
	says    string // part of the report
	checks  string // names, separated by spaces
}

func mutants() []mutant {
	return []mutant{
		{bug: "version-2", says: "protocolVersion is 2", checks: "initialize"},
		{bug: "anonymous", says: "agentInfo", checks: "initialize"},
		{bug: "greets", says: "not JSON", checks: "initialize leave/at-once"},
		{bug: "echoes-version", says: "was answered with 0", checks: "initialize/versions"},
		{bug: "lenient-initialize", says: "was accepted", checks: "initialize/malformed"},
		{bug: "works-before-initialize", says: "before initialize", checks: "initialize/first"},
		{bug: "initialize-resets", says: "a result was due", checks: "initialize/twice"},
		{bug: "no-parse-errors", hangs: true, checks: "junk/not-json framing/two-on-a-line bytes/not-utf8"},
		{bug: "no-parse-errors", says: "refused 0 times", checks: "framing/pretty"},
		{bug: "no-invalid-request", hangs: true, checks: "junk/not-object junk/batch junk/not-request"},
		{bug: "internal-errors", says: "-32603", checks: "junk/not-object junk/batch junk/not-request turn/second"},
		{bug: "runs-batches", hangs: true, checks: "junk/batch"},
		{bug: "answers-responses", says: "should have been silence", checks: "junk/responses"},
		{bug: "rounds-ids", says: "not open", checks: "ids/echo"},
		{bug: "answers-twice", says: "answered before", checks: "ids/reuse initialize methods/unknown"},
		{bug: "remembers-ids", says: "waiting for the response", checks: "ids/reuse"},
		{bug: "accepts-unknown", says: "was accepted", checks: "methods/unknown"},
		{bug: "accepts-underscore", says: "_x/y was accepted", checks: "methods/unknown"},
		{bug: "answers-notifications", says: "does not know", checks: "methods/notifications"},
		{bug: "runs-notified-prompts", says: "outside a turn", checks: "methods/kinds"},

		{bug: "refuses-crlf", says: "should have been served", checks: "framing/blanks"},
		{bug: "loses-bom", hangs: true, checks: "framing/bom"},
		{bug: "loses-lines", hangs: true, checks: "framing/pieces"},
		{bug: "reads-two", says: "not open", checks: "framing/two-on-a-line"},
		{bug: "short-reader", says: "should have been served", checks: "size/long"},
		{bug: "reads-more", says: "was answered with the id 9", checks: "size/long"},
		{bug: "lenient-utf8", says: "was read", checks: "bytes/not-utf8"},
		{bug: "lenient-nesting", hangs: true, checks: "bytes/odd"},
		{bug: "dies-on-nul", says: "-32603", checks: "bytes/odd"},
		{bug: "stays", hangs: true, checks: "framing/last-line leave/at-once leave/eof/idle leave/eof/running leave/eof/asking leave/client-gone/idle leave/client-gone/running leave/client-gone/asking leave/stdout-closed/idle leave/stdout-closed/running leave/stdout-closed/asking"},
		{bug: "loses-last-line", says: "not answered", checks: "framing/last-line"},

		{bug: "lenient-new", says: "was accepted", checks: "params/new"},
		{bug: "lenient-null", says: "null was accepted", checks: "params/new"},
		{bug: "lenient-cwd", says: "was accepted", checks: "params/cwd"},
		{bug: "lenient-prompt", says: "was accepted", checks: "params/types"},
		{bug: "strict-members", says: "a result was due", checks: "params/lenient"},
		{bug: "plain-unknown-session", says: "-32603", checks: "params/unknown-session"},
		{bug: "refuses-links", says: "resource link", checks: "params/blocks"},

		{bug: "silent-turns", says: "said nothing", checks: "turn/ends"},
		{bug: "failure-is-error", says: "a result was due", checks: "turn/fails"},
		{bug: "failure-completes", says: "no tool call says so", checks: "turn/fails"},
		{bug: "silent-refusals", says: "without a word", checks: "turn/refused"},
		{bug: "waiting", says: `"waiting"`, checks: "turn/ends turn/order"},
		{bug: "commands-before-new", says: "which the client does not know", checks: "turn/order session/commands"},
		{bug: "same-session", says: "another session's", checks: "turn/order"},
		{bug: "update-after-response", says: "outside a turn", checks: "turn/order"},
		{bug: "reuses-calls", says: "earlier turn", checks: "turn/order"},
		{bug: "open-call", says: "running for ever", checks: "turn/order turn/ends cancel/running permission/reject"},
		{bug: "no-status", says: "without a status", checks: "turn/order"},
		{bug: "unknown-status", says: `"waiting"`, checks: "turn/ends"},
		{bug: "unwrapped-content", says: "wrapped in content", checks: "turn/ends"},
		{bug: "unknown-update", says: "closed union", checks: "turn/ends"},
		{bug: "no-title", says: "title", checks: "turn/ends"},
		{bug: "calls-fs", says: "did not offer", checks: "turn/ends"},
		{bug: "no-version", says: "jsonrpc is absent", checks: "turn/ends"},
		{bug: "both", says: "a result and an error", checks: "turn/ends"},
		{bug: "array-line", says: "not a JSON object", checks: "turn/ends"},
		{bug: "null-update", says: "update", checks: "turn/ends"},
		{bug: "second-cancels-first", says: "not cancelled", checks: "turn/second"},
		{bug: "second-is-refusal", says: "was accepted", checks: "turn/second"},
		{bug: "cancel-is-error", says: "a result was due", checks: "cancel/running cancel/packet cancel/stubborn permission/cancel output/stalled"},
		{bug: "cancel-is-end-turn", says: "not cancelled", checks: "cancel/running cancel/many"},
		{bug: "cancel-hangs", hangs: true, checks: "cancel/running"},
		{bug: "reorders", hangs: true, checks: "cancel/packet"},
		{bug: "stubborn-stays", hangs: true, checks: "cancel/stubborn"},
		{bug: "answers-cancel", says: "does not know", checks: "cancel/nothing"},
		{bug: "cancel-poisons", says: "cancelled", checks: "cancel/nothing"},
		{bug: "answers-cancel-request", says: "should have been silence", checks: "cancel/request"},
		{bug: "ignores-cancel-request", hangs: true, checks: "cancel/request"},
		{bug: "leaves-programs", process: true, hangs: true, says: "still running", checks: "cancel/running session/close leave/eof/running leave/sigterm/running leave/sigkill/running leave/sigkill-group/running leave/sigterm-sigkill/running leave/stdout-closed/running leave/client-gone/running"},

		{bug: "never-allows", says: "did not complete", checks: "permission/allow"},
		{bug: "allows-anything", says: "not allowed", checks: "permission/reject permission/unknown-option permission/no-option permission/cancelled permission/odd-outcome permission/wrong-case permission/empty permission/null permission/error permission/cancel permission/cancel-allow"},
		{bug: "allows-odd", says: "not allowed", checks: "permission/odd-outcome"},
		{bug: "two-of-a-kind", says: "two options", checks: "permission/one-a-kind"},
		{bug: "gate-stays", hangs: true, checks: "permission/cancel permission/others"},
		{bug: "holds-all", hangs: true, checks: "permission/others"},
		{bug: "gate-keeps-place", hangs: true, checks: "permission/others"},

		{bug: "no-commands", hangs: true, checks: "session/commands"},
		{bug: "double-commands", says: "twice", checks: "session/commands"},
		{bug: "replays-late", says: "replayed", checks: "session/load"},
		{bug: "null-load", says: "not an object", checks: "session/load"},
		// The load that ends the turn races with the turn's own end: either is found.
		{bug: "load-cancels", checks: "session/load-running"},
		{bug: "resume-replays", says: "unexpected", checks: "session/resume"},
		{bug: "forgets", says: "no session", checks: "session/durable"},
		{bug: "empty-list", says: "does not hold", checks: "session/list"},
		{bug: "close-keeps", hangs: true, checks: "session/close"},
		{bug: "close-keeps-running", hangs: true, checks: "session/close"},
		{bug: "any-option", says: "was accepted", checks: "session/options"},
		{bug: "forgets-options", says: "was set to", checks: "session/options"},

		{bug: "mute", says: "the line hello", checks: "output/shown"},
		{bug: "huge-line", says: "clients read up to", checks: "output/big"},
		{bug: "big-is-error", says: "max_tokens", checks: "output/big output/two"},
		{bug: "mixes-sessions", says: "without a word", checks: "output/two"},
		{bug: "raw-bytes", says: "not UTF-8", checks: "output/awkward"},
		{bug: "drains-for-ever", hangs: true, checks: "output/stalled-end"},
		{bug: "terminal-unannounced", says: "not announced", checks: "output/terminal"},
		{bug: "terminal-stays", says: "has not exited", checks: "output/terminal"},

		{bug: "exits-3", process: true, says: "exited with 3", checks: "leave/at-once leave/eof/idle leave/sigterm/idle leave/sigterm/running leave/sigterm/asking"},
		{bug: "ignores-signals", process: true, hangs: true, checks: "leave/sigterm/idle leave/sigterm/running leave/sigterm/asking leave/sighup/idle leave/sighup/running leave/sighup/asking leave/sigint/idle leave/sigint/running leave/sigint/asking"},
		{bug: "leaks-stdout", process: true, hangs: true, checks: "leave/sigkill/idle leave/sigkill/running leave/sigkill/asking leave/sigterm-sigkill/idle leave/sigterm-sigkill/running leave/sigterm-sigkill/asking"},
		{bug: "leaks-stdout", process: true, hangs: true, checks: "leave/sigkill-group/idle leave/sigkill-group/running leave/sigkill-group/asking"},
		{bug: "ignores-write-errors", hangs: true, checks: "leave/stdout-closed/idle leave/stdout-closed/running leave/stdout-closed/asking"},
		{bug: "talks-on-stderr", process: true, says: "standard error", checks: "initialize"},
		{bug: "hog", process: true, says: "bytes of memory", checks: "initialize"},
	}
}

// Every check fails for an agent that breaks its rule: a check that can't fail
// says nothing.
func TestEveryCheckCanFail(t *testing.T) {
	byName := map[string]check{}
	failed := map[string]bool{}
	for _, c := range checks() {
		byName[c.name] = c
	}
	for _, m := range mutants() {
		for name := range strings.FieldsSeq(m.checks) {
			c, ok := byName[name]
			if !ok {
				t.Fatalf("there is no check %q", name)
			}
			failed[name] = true
			t.Run(m.bug+"/"+name, func(t *testing.T) {
				t.Parallel()
				tryMutant(t, m, c)
			})
		}
	}
	for name := range byName {
		if !failed[name] {
			t.Errorf("no mutant breaks the check %s", name)
		}
	}
}

func tryMutant(t *testing.T, m mutant, c check) {
	dial := scriptedHere
	if m.process {
		dial = scriptedProcess
	}
	a := dial(t, m.bug)
	a.MaxRead = 1 << 20 // less than the agent reads, but enough for its bugs
	if m.hangs {
		a.Patience = time.Second
		if m.process { // which takes a while to start
			a.Patience = 3 * time.Second
		}
	}
	if m.bug == "hog" {
		a.MaxMemory = 128 << 20
	}
	s, err := a.withDefaults(t)
	if err != nil {
		t.Fatal(err)
	}
	err = s.attempt(t, c)
	if _, skip := err.(skipped); err == nil || skip {
		t.Fatalf("the check passed (%v)", err)
	}
	if !strings.Contains(err.Error(), m.says) {
		t.Errorf("the report does not say %q: %v", m.says, err)
	}
}

// Names are unique: they are what -run selects.
func TestNames(t *testing.T) {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	slices.Sort(names)
	if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
		t.Errorf("%d checks have %d names", len(names), n)
	}
}
