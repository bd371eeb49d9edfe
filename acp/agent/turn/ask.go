package turn

import (
	"errors"
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// Options of a permission request. One a kind: clients key them by kind.
const (
	optionAllow  = "allow"
	optionAlways = "allow_always"
	optionReject = "reject"
)

// askPerson asks through the client. It returns true with the slot taken; or
// how the turn ended. The slot is not held while a person thinks; if a command
// that changes things ran meanwhile, the person is asked again.
func (x *execution) askPerson() (outcome, bool) {
	t, slot := x.turn, x.turn.conn.Slot
	if why := t.noPerson(); why != "" {
		return t.refuse(fmt.Errorf("%s was not run: %s", view.Code(x.inv.Line), why)), false
	}
	if t.wait(x.inv.Line, false) != nil {
		return x.titled(t.stoppedBeforeStart(x.inv.Line)), false
	}
	if x.allowedAlways() {
		return outcome{}, true
	}
	for {
		before := slot.changed()
		slot.release(false)
		q, err := t.question(x.inv)
		if err != nil {
			x.Fail(err.Error())
			return x.titled(t.refuse(err)), false
		}
		x.asked = &q
		x.askedFor()
		if e, ok := x.answer(); !ok {
			return e, false
		}
		if t.wait(x.inv.Line, true) != nil {
			x.Fail("")
			return x.titled(t.stoppedBeforeStart(x.inv.Line)), false
		}
		if slot.changed() == before {
			return outcome{}, true
		}
		t.say(fmt.Sprintf("Another command changed things while %s waited for an answer, so it is asked for again.\n\n", view.Code(brief.Runes(x.inv.Line, view.TitleRunes))))
	}
}

// allowedAlways says whether a person has allowed the same, down to the bytes that
// would run, for the length of the session. It is not taken for a line that was
// stopped just now.
func (x *execution) allowedAlways() bool {
	s := x.turn.session
	s.mu.Lock()
	none := len(s.granted) == 0
	s.mu.Unlock()
	if none || x.turn.stoppedJustNow(x.inv) {
		return false
	}
	q, err := x.turn.asks(x.inv)
	if err != nil {
		return false // the question reads it again and says what is wrong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.granted[q.subject.Digest()] {
		return false
	}
	x.asked = &q
	return true
}

// maxAllowed bounds what is remembered of allow_always.
const maxAllowed = 1000

// allowAlways remembers what a person has allowed for the length of the session.
func (s *Thread) allowAlways(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.granted == nil || len(s.granted) >= maxAllowed {
		s.granted = map[string]bool{}
	}
	s.granted[digest] = true
}

// askedFor shows the call that the person is asked about.
func (x *execution) askedFor() {
	if x.Announced() { // asked before
		x.AskAgain()
		return
	}
	x.Announce(acp.ToolPending, x.rawInput(), x.describe())
}

// answer puts the question and judges the answer: anything but the option that
// allows is a no.
func (x *execution) answer() (outcome, bool) {
	t := x.turn
	answer, err := t.conn.RequestPermission(t.context(), acp.RequestPermissionRequest{
		SessionID: t.session.ID,
		ToolCall: acp.ToolCallUpdate{
			ToolCallID: x.ID, Title: x.Title, ToolKind: acp.ToolExecute, Status: acp.ToolPending, RawInput: view.Input(x.rawInput()),
			Content: []acp.ToolCallContent{acp.ToolText(view.Visible(x.describe()))},
		},
		Meta: acp.Meta{"chant": x.asked.meta()},
		Options: []acp.PermissionOption{
			{OptionID: optionAllow, Name: "Run it", Kind: acp.AllowOnce},
			{OptionID: optionReject, Name: "Don't run it", Kind: acp.RejectOnce},
			{OptionID: optionAlways, Name: "Run it, and don't ask again for this line in this session", Kind: acp.AllowAlways},
		},
	})
	if errors.Is(err, acp.ErrClosed) {
		t.stop(host.StopLeaving) // the client has left; conn.leave stops the turn a moment later
	}
	t.settle() // a cancel in the same packet as the answer wins
	if t.stopped() {
		x.Fail("it was cancelled before it started")
		return x.titled(t.stoppedBeforeStart(x.inv.Line)), false
	}
	if err == nil && answer.Outcome == acp.OutcomeSelected && (answer.OptionID == optionAllow || answer.OptionID == optionAlways) {
		if answer.OptionID == optionAlways {
			t.session.allowAlways(x.asked.subject.Digest())
		}
		return outcome{}, true
	}
	why := "was not run: it was rejected"
	switch {
	case err != nil:
		why = fmt.Sprintf("was not run: the client could not ask (%v)", err)
	case answer.Outcome != acp.OutcomeSelected:
		why = "was not run: the question was dismissed"
	case answer.OptionID != optionReject:
		why = "was not run: the client's answer was none of those offered"
	}
	x.Fail("it " + why)
	t.recorder.say(fmt.Sprintf("%s%s %s.\n", view.ProtectedMark(x.inv), view.Code(view.Cut(x.inv.Line, view.FieldBytes)), why))
	return x.titled(outcome{reason: acp.StopEndTurn, state: view.StateRefused}), false
}

func (x *execution) describe() string { return describe(x.inv, *x.asked) }
