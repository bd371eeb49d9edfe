package turn

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/brief"
)

const (
	confirmFor      = 5 * time.Minute // how long a code is good
	confirmLength   = 6
	confirmLetters  = "abcdefghjkmnpqrstuvwxyz23456789" // none that looks like another
	maxPending      = 16                                // codes kept a session
	maxWrongGuesses = 5                                 // then all codes are void
)

// pendingConfirm is a command that waits for its code.
type pendingConfirm struct {
	words  []string
	env    string
	asked  asked
	until  time.Time
	unkept bool // no other process can know of it
	// offers are what is allowed with the code; nil for one of `confirm`.
	offers []host.Offer
}

// asked is what a person was asked about, and when: the answer is for nothing
// else.
type asked struct {
	subject subject.Subject
	at      time.Time
	// commit and clean are where the project was, for people.
	commit string
	clean  *bool
}

// question is asks, with what else a person is shown.
func (t *Turn) question(inv *command.Invocation) (asked, error) {
	q, err := t.asks(inv)
	if err == nil {
		q.commit, q.clean = t.session.host.Commit(t.context())
	}
	return q, err
}

// asks is the question whether inv may run.
func (t *Turn) asks(inv *command.Invocation) (asked, error) {
	at := time.Now() // before, so that a change meanwhile comes after it
	s, err := t.session.host.Subject(t.context(), inv)
	if err != nil {
		return asked{}, fmt.Errorf("%s was not run, because what it would run can't be read: %w", view.Code(inv.Line), err)
	}
	return asked{subject: s, at: at}, nil
}

// holds says why the answer to a question is void: what would run now is something
// else.
func (a asked) holds(t *Turn, inv *command.Invocation) error {
	now, err := t.asks(inv)
	if err != nil {
		return err
	}
	if what := subject.Compare(a.subject, now.subject, a.at, "the question"); what != "" {
		return fmt.Errorf("%s would run something else now than when it was asked for: %s. Type it again to see what", view.Code(inv.Line), view.Prose(what))
	}
	return nil
}

// stoppedJustNow says whether the same line was cancelled right before: there are
// clients that send a line once more by themselves where the answer to it was cut
// short. So what changes something is not taken to be meant.
func (t *Turn) stoppedJustNow(inv *command.Invocation) bool {
	return t.repeats != "" && t.repeats == inv.Line && inv.Effect != command.Read
}

// confirmation decides how this turn's command is confirmed.
func (t *Turn) confirmation(inv *command.Invocation) command.Confirm {
	if inv.Confirm != command.ConfirmAsk && (inv.Confirm == command.ConfirmRetype || !t.stoppedJustNow(inv)) {
		return inv.Confirm
	}
	if t.asksThroughClient() {
		return command.ConfirmAsk
	}
	return command.ConfirmRetype
}

// asksThroughClient says whether questions to a person go through the client.
func (t *Turn) asksThroughClient() bool {
	switch t.conn.Options.Confirm {
	case "ask":
		return true
	case "retype":
		return false
	}
	return t.client.AsksPerson
}

// noPerson says why this turn can't be confirmed at all, "" where it can.
func (t *Turn) noPerson() string {
	why := t.conn.noPerson()
	if why == "" {
		return ""
	}
	return "it has to be confirmed by a person, and " + why
}

// askRetype ends the turn with a line to type.
func (t *Turn) askRetype(inv *command.Invocation) outcome {
	if why := t.noPerson(); why != "" {
		return t.refuse(fmt.Errorf("%s was not run: %s", view.Code(inv.Line), why))
	}
	q, err := t.question(inv)
	if err != nil {
		return t.refuse(err)
	}
	p := pendingConfirm{words: inv.Words, env: t.environment(), asked: q, until: time.Now().Add(confirmFor)}
	key := t.session.keep(p)
	t.Add(view.Event{Kind: view.EventCode, Code: &view.CodeEvent{
		Code: key, Words: p.words, Environment: p.env, Digest: q.subject.Digest(), Until: p.until.UTC(), Subject: &q.subject,
	}})
	why := "has to be confirmed"
	if t.stoppedJustNow(inv) {
		why = "was stopped just now and came again, so it has to be confirmed"
	}
	t.recorder.say(fmt.Sprintf("%s%s %s. It will run\n\n%s\n\nTo run it, type this within %s:\n\n%s\n",
		view.ProtectedMark(inv), view.Code(view.Cut(inv.Line, view.FieldBytes)), why, describe(inv, q), brief.Duration(confirmFor), view.Fenced("confirm "+key)))
	if t.client.CodeHint != "" {
		t.recorder.say("\n" + t.client.CodeHint + "\n")
	}
	return outcome{
		reason: acp.StopEndTurn, state: view.StateWaiting, line: inv.Line, title: view.Title(inv),
		meta: chantMeta{Confirm: key, Digest: q.short()},
	}
}

// environment is the session's.
func (t *Turn) environment() string { return t.parseOptions().Environment }

// keep stores a command, as it was asked for, under a new code.
func (s *Thread) keep(p pendingConfirm) (key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := ""
	for k, p := range s.pending {
		if time.Now().After(p.until) {
			delete(s.pending, k)
		} else if oldest == "" || p.until.Before(s.pending[oldest].until) {
			oldest = k
		}
	}
	if len(s.pending) >= maxPending {
		delete(s.pending, oldest)
	}
	key = newCode()
	s.guesses = 0
	s.pending[key] = p
	return key
}

func newCode() string {
	b := make([]byte, confirmLength)
	_, _ = rand.Read(b) // never fails: it crashes the process first
	for i := range b {
		b[i] = confirmLetters[int(b[i])%len(confirmLetters)]
	}
	return string(b)
}

// isCode says whether a word has the form of a code.
func isCode(word string) bool {
	return len(word) == confirmLength && strings.Trim(strings.ToLower(word), confirmLetters) == ""
}

// take removes and returns the command of a code, or says why there is none. allow
// says that the code is to be one that allows.
func (s *Thread) take(key string, allow bool) (pendingConfirm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, there := s.pending[key]; there && (p.offers != nil) != allow {
		word := "confirm"
		if p.offers != nil {
			word = "allow"
		}
		return pendingConfirm{}, fmt.Errorf("nothing was run: the code is for %s", view.Code(word+" "+key))
	}
	p, ok := s.use(key)
	if !ok {
		return p, fmt.Errorf("nothing waits for the code %s in this session: it was used, or never given out here. Type the command again to get a new one", view.Code(key))
	}
	if time.Now().After(p.until) {
		return p, fmt.Errorf("the code %s is older than %s. Type the command again to get a new one", view.Code(key), brief.Duration(confirmFor))
	}
	return p, nil
}

// use takes a code away, and after too many that were none all of them; the
// caller holds the session's lock.
func (s *Thread) use(key string) (pendingConfirm, bool) {
	p, ok := s.pending[key]
	delete(s.pending, key)
	if !ok {
		if s.guesses++; s.guesses >= maxWrongGuesses {
			clear(s.pending)
		}
	}
	return p, ok
}

// confirm runs the command of a code, if it still means the same.
func (t *Turn) confirm(allow host.AllowList, key string) outcome {
	if why := t.conn.noPerson(); why != "" {
		return t.refuse(fmt.Errorf("nothing was confirmed: %s", why))
	}
	t.session.catchUp(t.context())
	key = strings.ToLower(key)
	p, err := t.session.take(key, false)
	used := t.use(key) // recorded as used before the command is looked at, so that it never counts twice
	if err != nil {
		return t.refuse(err)
	}
	if used != nil && !p.unkept {
		return t.refuse(fmt.Errorf("nothing was run: that the code %s is used up could not be kept, so that another process could use it again (%w). Make room, or type the command in a new thread", view.Code(key), used))
	}
	inv, err := allow.Registry.Parse(p.words, command.ParseOptions{Environment: p.env})
	if err != nil {
		return t.refuse(err)
	}
	if err := p.asked.holds(t, inv); err != nil {
		return t.refuse(err)
	}
	x := newExecution(t, inv)
	x.asked = &p.asked
	return x.queued()
}

// describe shows what would run and where, in full as far as it fits, and the
// digest of it.
func describe(inv *command.Invocation, q asked) string {
	return view.FencedAs("sh", view.Cut(view.Visible(command.Quote(inv.Argv)), view.FieldBytes)) + "\n\nin " + view.Code(inv.Dir) + q.about()
}

func (a asked) short() string { return subject.Short(a.subject.Digest()) }

// about says which bytes the question is for.
func (a asked) about() string {
	text := ", digest " + view.Code(a.short())
	if commit := view.CommitText(a.commit, a.clean); commit != "" {
		text += ", commit " + view.Code(commit)
	}
	return text
}

// meta is _meta.chant of the question.
func (a asked) meta() map[string]any {
	m := map[string]any{"digest": a.short(), "steps": view.Lines(a.subject.Steps)}
	if a.commit != "" {
		m["commit"] = a.commit
	}
	if a.clean != nil {
		m["clean"] = *a.clean
	}
	return m
}
