package agent_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// stubAllowed keeps what was allowed in memory.
type stubAllowed struct {
	mu    sync.Mutex
	whole bool
	forms map[string]string // digests by name
	fail  error
}

func (s *stubAllowed) Look(_ string, o host.Offer) (host.Allowance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := host.Allowance{Project: s.whole, Allowed: s.forms[o.Name] == o.Subject.Digest()}
	if s.forms[o.Name] != "" && !a.Allowed {
		a.Before, a.Changed, a.Difference = time.Unix(1, 0), "version changed at 14:02, after it was allowed", "- one\n+ two"
	}
	return a, s.fail
}

func (s *stubAllowed) Allow(_ string, offers []host.Offer, whole bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forms == nil {
		s.forms = map[string]string{}
	}
	for _, o := range offers {
		s.forms[o.Name] = o.Subject.Digest()
	}
	s.whole = s.whole || whole
	return s.fail
}

func (s *stubAllowed) names() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.forms)
}

var allowLine = regexp.MustCompile("\nallow ([a-z0-9]{6})\n")

// allowCode sends a line that is not allowed and returns the code to allow with.
func (w *wire) allowCode(session, line string) string {
	w.t.Helper()
	o, log := w.prompt(session, line)
	m := allowLine.FindStringSubmatch(log.text())
	if o.String() != "end_turn/waiting" || m == nil || len(w.host.runs()) > 0 {
		w.t.Fatalf("ended %s and said %q; ran %v", o, log.text(), w.host.runs())
	}
	return m[1]
}

// The first line of a project that nobody has allowed shows what it offers; the
// code allows that and runs the line. What comes later or changes is shown once
// more.
func TestAllowing(t *testing.T) {
	allowed := &stubAllowed{}
	w := dial(t, setup{options: agent.Options{Allowed: allowed}})
	s := w.newSession()
	o, log := w.prompt(s, "help")
	if o.String() != "end_turn/completed" {
		t.Errorf("help ended %s: %s", o, log.text())
	}
	key := w.allowCode(s, "ok a")
	text := turnLog(w.seen).text()
	for _, want := range []string{"No person has allowed this project", "ok ", "read ", "wipe ", "destroy ", "ok --force", "run `ok a`"} {
		if !strings.Contains(text, want) {
			t.Errorf("it said %q, want %q in it", text, want)
		}
	}
	if o, log := w.prompt(s, "confirm "+key); o.String() != "refusal/refused" || !strings.Contains(log.text(), "the code is for `allow "+key+"`") {
		t.Errorf("confirm ended %s: %s", o, log.text())
	}
	if o, _ := w.prompt(s, "allow "+key); o.String() != "end_turn/completed" || fmt.Sprint(w.host.runs()) != "[ok a]" {
		t.Fatalf("allow ended %s, ran %v", o, w.host.runs())
	}
	if o, log := w.prompt(s, "allow "+key); o.String() != "refusal/refused" || !strings.Contains(log.text(), "othing waits for the code") {
		t.Errorf("again ended %s: %s", o, log.text())
	}
	if o, _ := w.prompt(s, "write"); o.String() != "end_turn/completed" {
		t.Errorf("another command ended %s", o)
	}
	w.host.file("changed")
	for _, want := range []string{"end_turn/waiting", "end_turn/completed", "end_turn/completed"} {
		o, log := w.prompt(s, "ok b")
		if o.String() != want {
			t.Fatalf("ended %s: %s, want %s", o, log.text(), want)
		}
		if want == "end_turn/waiting" && (!strings.Contains(log.text(), "`ok` is not what was allowed on ") || !strings.Contains(log.text(), "version changed") || !strings.Contains(log.text(), "- one\n+ two") || !strings.Contains(log.text(), "send the line again")) {
			t.Errorf("it said %q", log.text())
		}
	}
}

// What was shown is what is allowed: what changed meanwhile is shown anew.
func TestWhatChangedBeforeItWasAllowed(t *testing.T) {
	allowed := &stubAllowed{}
	w := dial(t, setup{options: agent.Options{Allowed: allowed}})
	s := w.newSession()
	key := w.allowCode(s, "ok")
	w.host.file("changed")
	if o, log := w.prompt(s, "allow "+key); o.String() != "end_turn/waiting" || len(w.host.runs()) > 0 || !strings.Contains(log.text(), "is not what was allowed") {
		t.Errorf("ended %s and said %q; ran %v", o, log.text(), w.host.runs())
	}
	w.host.file("changed again") // and so it is between two times that the line is sent
	if o, _ := w.prompt(s, "ok"); o.String() != "end_turn/waiting" || len(w.host.runs()) > 0 {
		t.Errorf("ended %s; ran %v", o, w.host.runs())
	}
}

// A client that asks a person is asked once, for both.
func TestAllowingThroughTheClient(t *testing.T) {
	for name, c := range map[string]struct {
		answer, outcome string
		ran             int
	}{
		"yes": {allowed, "end_turn/completed", 1}, "no": {rejected, "end_turn/refused", 0},
		"an error": {`"error":{"code":-32601,"message":"no"}`, "end_turn/refused", 0},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &stubAllowed{}
			w := dial(t, setup{client: "zed", options: agent.Options{Allowed: kept}})
			s := w.newSession()
			id := w.begin(s, "ok")
			ask := w.asked()
			if text := ask.Params.ToolCall.text(); !strings.Contains(text, "No person has allowed this project") {
				t.Errorf("the question is %q", text)
			}
			w.send(answerLine(ask, c.answer))
			if o := w.ended(id); o.String() != c.outcome || len(w.host.runs()) != c.ran || kept.names() > 0 != (c.ran > 0) {
				t.Errorf("ended %s, ran %v, allowed %d", o, w.host.runs(), kept.names())
			}
		})
	}
}

// With nobody to ask, nothing is allowed, and what is not allowed does not run.
func TestNobodyToAllow(t *testing.T) {
	for _, origin := range []agent.Origin{agent.OriginMCP, agent.OriginHeartbeat, agent.OriginProgram} {
		allowed := &stubAllowed{}
		w := dial(t, setup{origin: origin, client: "zed", options: agent.Options{Allowed: allowed, AllowNamed: true}})
		s := w.newSession()
		if o, log := w.prompt(s, "ok"); !strings.HasSuffix(o.String(), "refused") || !strings.Contains(log.text(), "no person has allowed it") || !strings.Contains(log.text(), "`chant-acp allow "+w.host.root) {
			t.Errorf("ended %s: %s", o, log.text())
		}
		if o, _ := w.prompt(s, "allow abcdef"); !strings.HasSuffix(o.String(), "refused") {
			t.Errorf("allow ended %s", o)
		}
		if allowed.names() > 0 || len(w.host.runs()) > 0 {
			t.Errorf("allowed %d, ran %v", allowed.names(), w.host.runs())
		}
		_ = allowed.Allow("", w.offers(), true)
		if o, _ := w.prompt(s, "ok"); !strings.HasSuffix(o.String(), "completed") {
			t.Errorf("what is allowed ended %s", o)
		}
		w.host.file("changed")
		if o, log := w.prompt(s, "ok"); !strings.HasSuffix(o.String(), "refused") || !strings.Contains(log.text(), "it is not what a person allowed: version changed") {
			t.Errorf("what changed ended %s: %s", o, log.text())
		}
	}
}

func (w *wire) offers() []host.Offer {
	offers, err := w.host.Offers(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return offers
}

// A line that a person typed for a command is the yes for it, and for it alone.
func TestALineThatNamesItsCommand(t *testing.T) {
	allowed := &stubAllowed{}
	w := dial(t, setup{options: agent.Options{Allowed: allowed, AllowNamed: true}})
	if o, _ := w.prompt(w.newSession(), "ok"); o.String() != "end_turn/completed" || allowed.names() != 1 || allowed.whole {
		t.Errorf("ended %s, allowed %d", o, allowed.names())
	}
}

// What can't be looked up or kept runs nothing.
func TestAllowingThatFails(t *testing.T) {
	allowed := &stubAllowed{fail: errors.New("the disk is full")}
	w := dial(t, setup{options: agent.Options{Allowed: allowed}})
	if o, log := w.prompt(w.newSession(), "ok"); !strings.HasSuffix(o.String(), "refused") || !strings.Contains(log.text(), "the disk is full") || len(w.host.runs()) > 0 {
		t.Errorf("ended %s: %s", o, log.text())
	}
}

// A command that changed while it waited for its turn does not start.
func TestWhatChangedInTheQueue(t *testing.T) {
	h := newStub(t)
	hold := make(chan struct{})
	h.program("slow", func(r *stubRun) host.Result {
		r.print("begun\n")
		<-hold
		return host.Result{}
	})
	allowed := &stubAllowed{}
	w := dial(t, setup{host: h, options: agent.Options{Allowed: allowed}})
	_ = allowed.Allow("", w.offers(), true)
	first := w.begin(w.newSession(), "slow")
	w.begun()
	session := w.newSession()
	id := w.begin(session, "ok")
	w.said(session, "Waiting for")
	h.file("changed")
	close(hold)
	w.ended(first)
	checkStart(t, w, h, id, "ok", "it is not what a person allowed")
}
