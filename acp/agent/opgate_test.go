package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

const (
	gateAllowed   = `"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}`
	gateRejected  = `"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}`
	gateDismissed = `"result":{"outcome":{"outcome":"cancelled"}}`
)

var asking = setup{options: agent.Options{Gates: "ask"}}

// gateStates are the statuses of the tool calls of gates.
func (l turnLog) gateStates() string {
	var list []string
	for _, s := range l.order() {
		if status, ok := strings.CutPrefix(s, "gate "); ok {
			list = append(list, status)
		}
	}
	return strings.Join(list, " ")
}

func (o *stubOps) decisions() (list []bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.decided {
		list = append(list, d.Approve)
	}
	return list
}

func (o *stubOps) state(op string) host.RunState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[op].State
}

func TestGatesThatAsk(t *testing.T) {
	for _, tt := range []struct {
		name, answer, outcome, gate, text string
		decided                           []bool
		state                             host.RunState
	}{
		{"allow", gateAllowed, "end_turn/completed", "pending completed", "made b", []bool{true}, host.RunCompleted},
		{"reject", gateRejected, "end_turn/failed", "pending failed", "Compensation:", []bool{false}, host.RunFailed},
		{"dismissed", gateDismissed, "end_turn/waiting", "pending failed", "still waits at the gate `ship`: the question was dismissed", nil, host.RunWaiting},
		{"another option", `"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`, "end_turn/waiting", "pending failed", "none of those offered", nil, host.RunWaiting},
		{"no option", `"result":{"outcome":{"outcome":"selected"}}`, "end_turn/waiting", "pending failed", "approve gated ship --run r_gated", nil, host.RunWaiting},
		{"nonsense", `"result":{"outcome":"yes"}`, "end_turn/waiting", "pending failed", "could not ask", nil, host.RunWaiting},
		{"an error", `"error":{"code":-32601,"message":"no"}`, "end_turn/waiting", "pending failed", "could not ask", nil, host.RunWaiting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := dialOps(t, asking)
			s := w.newSession()
			from := len(w.seen)
			id := w.begin(s, "run gated")
			ask := w.asked()
			if kinds := []string{ask.Params.Options[0].Kind, ask.Params.Options[1].Kind}; !slices.Equal(kinds, []string{"allow_once", "reject_once"}) {
				t.Errorf("options %v", kinds)
			}
			w.send(answerLine(ask, tt.answer))
			o := w.ended(id)
			log := turnLog(w.seen[from:])
			if o.String() != tt.outcome || !strings.Contains(log.text(), tt.text) || log.gateStates() != tt.gate {
				t.Errorf("%v, gate %q, %q", o, log.gateStates(), log.text())
			}
			if got := w.host.ops.decisions(); !slices.Equal(got, tt.decided) || w.host.ops.state("gated") != tt.state {
				t.Errorf("decided %v, the run is %s", got, w.host.ops.state("gated"))
			}
			if tt.state == host.RunWaiting { // and goes on from there
				id := w.begin(s, "run gated")
				w.send(answerLine(w.asked(), gateAllowed))
				if o := w.ended(id); o.String() != "end_turn/completed" {
					t.Errorf("later: %v", o)
				}
			}
		})
	}
}

// Whatever ends the turn while a gate waits, the run waits on.
func TestLeavingAGate(t *testing.T) {
	for _, how := range []string{"cancel", "cancel and allow", "end of the input"} {
		t.Run(how, func(t *testing.T) {
			w := dialOps(t, asking)
			s := w.newSession()
			id := w.begin(s, "run gated")
			ask := w.asked()
			switch how {
			case "cancel":
				w.send(cancelLine(s))
			case "cancel and allow":
				w.send(answerLine(ask, gateAllowed), cancelLine(s))
			default:
				if err := w.hangUp(); err != nil {
					t.Error(err)
				}
			}
			if o := w.ended(id); o.String() != "cancelled/waiting" || o.Meta.Chant.Gate != "ship" {
				t.Errorf("%v", o)
			}
			if got := w.host.ops.decisions(); len(got) > 0 || w.host.ops.state("gated") != host.RunWaiting {
				t.Errorf("decided %v, the run is %s", got, w.host.ops.state("gated"))
			}
		})
	}
}

func TestGatesDecidedElsewhere(t *testing.T) {
	for state, want := range map[host.WaitState]struct{ outcome, gate, text string }{
		host.WaitApproved: {"end_turn/completed", "pending completed", "was approved by somebody"},
		host.WaitRejected: {"end_turn/failed", "pending failed", "was rejected by somebody"},
		host.WaitExpired:  {"end_turn/waiting", "pending failed", "its time ran out"},
	} {
		t.Run(string(state), func(t *testing.T) {
			w := dialOps(t, asking)
			s := w.newSession()
			from := len(w.seen)
			id := w.begin(s, "run gated")
			ask := w.asked()
			w.host.ops.elsewhere("gated", state)
			o := w.ended(id)
			w.send(answerLine(ask, gateRejected)) // too late, and of no account
			log := turnLog(w.seen[from:])
			if o.String() != want.outcome || log.gateStates() != want.gate || !strings.Contains(log.text(), want.text) {
				t.Errorf("%v, gate %q, %q", o, log.gateStates(), log.text())
			}
			if got := w.host.ops.decisions(); len(got) > 0 {
				t.Errorf("decided %v", got)
			}
		})
	}
}

// A run that is ended while it is asked about is told of as it is.
func TestGateOfARunThatIsCancelled(t *testing.T) {
	w := dialOps(t, asking)
	one, two := w.newSession(), w.newSession()
	id := w.begin(one, "run gated")
	w.asked()
	if o, _ := w.prompt(two, "run cancel gated"); o.String() != "end_turn/completed" {
		t.Errorf("run cancel: %v", o)
	}
	if o := w.ended(id); o.String() != "end_turn/cancelled" {
		t.Errorf("%v", o)
	}
}

// While a gate waits others have the place. What they changed is a reason to ask
// again before anything is recorded.
func TestGatesGiveUpThePlace(t *testing.T) {
	w := dialOps(t, asking)
	one, two := w.newSession(), w.newSession()
	id := w.begin(one, "run gated")
	ask := w.asked()
	if o, _ := w.prompt(two, "write"); o.String() != "end_turn/completed" {
		t.Fatalf("beside a waiting gate: %v", o)
	}
	w.send(answerLine(ask, gateAllowed))
	w.said(one, "Another command changed things while the gate `ship` waited")
	again := w.asked()
	if got := w.host.ops.decisions(); len(got) > 0 {
		t.Errorf("decided %v already", got)
	}
	w.send(answerLine(again, gateAllowed))
	if o := w.ended(id); o.String() != "end_turn/completed" {
		t.Errorf("%v", o)
	}
}

func TestApproveAndReject(t *testing.T) {
	w := dialOps(t, setup{})
	s := w.newSession()
	w.prompt(s, "run gated")
	if o, log := w.prompt(s, "approve gated ship"); o.String() != "end_turn/completed" || len(log.order()) > 0 {
		t.Errorf("%v, %v", o, log.order())
	}
	if o, log := w.prompt(s, "run gated --run r_gated"); o.String() != "end_turn/completed" || log.gateStates() != "pending completed" {
		t.Errorf("%v, %v", o, log.order())
	}
	w.prompt(s, "run other")
	o, log := w.prompt(s, "reject other ship --note 'not now'")
	if o.String() != "end_turn/failed" || !strings.Contains(log.text(), "unmade") || !strings.Contains(log.text(), "`run other --run r_other` failed") {
		t.Errorf("%v, %q", o, log.text())
	}
	if got := w.host.ops.decisions(); !slices.Equal(got, []bool{true, false}) || w.host.ops.decided[1].Note != "not now" {
		t.Errorf("decided %v", got)
	}
}

// permitting is a prompt that answers a request. Its text is not read.
func (w *wire) permitting(session, request, option string) int {
	w.t.Helper()
	p := promptParams(session, acp.Text("run good"))
	p.Meta = acp.Meta{"chant": map[string]any{"permission": map[string]any{"requestId": request, "optionId": option}}}
	return w.request("session/prompt", p)
}

func TestDurableGates(t *testing.T) {
	for option, want := range map[string]string{"allow_once": "end_turn/completed", "reject_once": "end_turn/failed"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in another process %v", option, restart), func(t *testing.T) {
				durable := setup{options: agent.Options{Gates: "durable"}}
				w := dialOps(t, durable)
				s := w.newSession()
				from := len(w.seen)
				id := w.begin(s, "run gated")
				ask := w.asked()
				if o := w.ended(id); o.String() != "waiting/waiting" || o.Meta.Chant.RunID != "r_gated" {
					t.Errorf("%v", o)
				}
				if log := turnLog(w.seen[from:]); log.gateStates() != "pending failed" {
					t.Errorf("order %v", log.order())
				}
				w.send(answerLine(ask, gateAllowed)) // counts for nothing
				request := ask.Params.Meta.Chant.RequestID
				if restart {
					h := newStub(t)
					h.ops = w.host.ops
					durable.host = h
					w = dial(t, durable)
					s = w.newSession()
				}
				for _, bad := range [][2]string{{"req_nobody", option}, {request, "allow_always"}, {request, ""}, {"", option}} {
					if o := w.ended(w.permitting(s, bad[0], bad[1])); o.String() != "refusal/refused" {
						t.Errorf("%v: %v", bad, o)
					}
				}
				if got := w.host.ops.decisions(); len(got) > 0 || w.host.ops.state("gated") != host.RunWaiting {
					t.Fatalf("decided %v, the run is %s", got, w.host.ops.state("gated"))
				}
				if o := w.ended(w.permitting(s, request, option)); o.String() != want || o.Meta.Chant.RunID != "r_gated" {
					t.Errorf("%v, want %s", o, want)
				}
				if w.host.ops.legs["good"] > 0 {
					t.Error("the text of the answer was run")
				}
				if o := w.ended(w.permitting(s, request, option)); o.String() != "refusal/refused" {
					t.Errorf("a second answer: %v", o)
				}
			})
		}
	}
}

func TestAnswersInOtherModes(t *testing.T) {
	for _, gates := range []string{"", "reply", "ask"} {
		w := dialOps(t, setup{options: agent.Options{Gates: gates}})
		s := w.newSession()
		if o := w.ended(w.permitting(s, "req_r_gated", "allow_once")); o.String() != "refusal/refused" || len(w.host.ops.started) > 0 {
			t.Errorf("%q: %v", gates, o)
		}
	}
	w := dialOps(t, setup{origin: agent.OriginMCP, options: agent.Options{Gates: "durable"}})
	if o := w.ended(w.permitting(w.newSession(), "req_r_gated", "allow_once")); o.String() != "refusal/refused" {
		t.Errorf("over MCP: %v", o)
	}
}

// An answer that could not be kept decides nothing.
func TestAnswerThatIsNotTaken(t *testing.T) {
	w := dialOps(t, asking)
	s := w.newSession()
	w.host.ops.decideErr = errors.New("the disk is full")
	id := w.begin(s, "run gated")
	w.send(answerLine(w.asked(), gateAllowed))
	w.said(s, "the answer was not taken: the disk is full")
	if o := w.ended(id); o.String() != "end_turn/waiting" || w.host.ops.state("gated") != host.RunWaiting {
		t.Errorf("%v, the run is %s", o, w.host.ops.state("gated"))
	}
	if o, _ := w.prompt(s, "run good"); o.String() != "end_turn/completed" {
		t.Errorf("afterwards: %v", o)
	}
}
