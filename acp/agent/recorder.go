package agent

import (
	"context"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// recorder is the one list of what happens in a turn. Each event is put into it
// once; from there it is kept, then shown, and told to who wants to know of the
// turn. It ends with the answer to the prompt: nothing is sent after that.
type recorder struct {
	turn    string // the turn's id
	session *session
	view    *view.View
	keeps   bool // there is a store

	// Of the turn's goroutine.
	batch *acp.Batch // what is sent with the next flush
	list  []Event    // what is kept with the next flush

	mu    sync.Mutex
	late  []acp.SessionUpdate // what Stream gave up: a tool call may be announced there
	over  bool                // it is answered
	after []func()            // what waits for that
	// wanted says that somebody wants to know of the turn: all of it is in told,
	// which is bounded by toldOutput, the bytes of output there were.
	wanted     bool
	told       []Event
	toldOutput int
}

var _ view.Recorder = (*recorder)(nil)

func newRecorder(s *session, turn string, c view.Client, wanted bool) *recorder {
	return &recorder{turn: turn, session: s, view: view.New(c), keeps: s.conn.agent.o.Store != nil, batch: s.conn.Batch(), wanted: wanted}
}

// Add implements view.Recorder.
func (r *recorder) Add(e Event) {
	if r.keeps {
		e = r.stamped(e)
		if r.list == nil {
			r.list = make([]Event, 0, 4) // a refusal's are three
		}
		r.list = append(r.list, e)
	}
	r.view.Show(e, r.Show)
}

// Show implements view.Recorder.
func (r *recorder) Show(u acp.SessionUpdate) { r.session.notify(r.batch, u) }

// Said implements view.Recorder.
func (r *recorder) Said() bool { return r.view.Said() }

// say adds text that the agent says.
func (r *recorder) say(text string) {
	for _, piece := range view.Pieces(text) {
		r.Add(Event{Kind: EventSay, Text: piece})
	}
}

// ask adds a request whose answer counts for nothing.
func (r *recorder) ask(method string, params any) { r.batch.Ask(method, params) }

// stamped is an event with its time and its turn, noted for who wants to know.
func (r *recorder) stamped(e Event) Event {
	e.Time, e.Turn = time.Now().UTC(), r.turn
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wanted || r.over {
		return e
	}
	if e.Kind == EventOutput {
		if r.toldOutput += len(e.Text); r.toldOutput > view.MaxReplay {
			return e // it is in the thread, and in the log
		}
	}
	r.told = append(r.told, e)
	return e
}

// Flush implements view.Recorder. What is collected is small.
func (r *recorder) Flush() {
	r.session.wire.Lock()
	defer r.session.wire.Unlock()
	r.write()
	late := r.session.conn.Batch()
	r.showLate(late)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over { // else it was answered without waiting for what runs
		late.Send()
		r.batch.Send()
	}
	r.batch = r.session.conn.Batch()
}

// write puts what was collected into the store; the caller holds the session's
// wire.
func (r *recorder) write() {
	if len(r.list) > 0 {
		_ = r.session.write(r.list)
		r.list = r.list[:0]
	}
}

// writeNow keeps an event that is not shown before it returns, and says whether it
// could be.
func (r *recorder) writeNow(e Event) error {
	if !r.keeps {
		return nil
	}
	r.Flush()
	return r.session.write([]Event{r.stamped(e)})
}

// Stream implements view.Recorder.
func (r *recorder) Stream(ctx context.Context, e Event) error {
	r.session.wire.Lock()
	defer r.session.wire.Unlock()
	if r.keeps {
		e = r.stamped(e)
		_ = r.session.write([]Event{e})
	}
	var updates []acp.SessionUpdate
	r.view.Show(e, func(u acp.SessionUpdate) { updates = append(updates, u) })
	for i, u := range updates {
		if err := r.session.conn.Update(ctx, r.session.id, u); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, u := range updates[i:] {
				if _, text := u.(acp.AgentMessageChunk); !text && !isTerminalOutput(u) {
					r.late = append(r.late, u)
				}
			}
			return err
		}
	}
	return nil
}

// isTerminalOutput says whether an update is nothing but output, which the log has.
func isTerminalOutput(u acp.SessionUpdate) bool {
	call, ok := u.(acp.ToolCallUpdate)
	return ok && call.Meta["terminal_output"] != nil
}

// showLate adds to b what a client that did not read in time has to know before
// anything else of the turn.
func (r *recorder) showLate(b *acp.Batch) {
	r.mu.Lock()
	late := r.late
	r.late = nil
	r.mu.Unlock()
	for _, u := range late {
		r.session.notify(b, u)
	}
}

// isOver says whether the turn is answered.
func (r *recorder) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// whenOver calls f once the turn is answered. f must not block.
func (r *recorder) whenOver(f func()) {
	r.mu.Lock()
	over := r.over
	if !over {
		r.after = append(r.after, f)
	}
	r.mu.Unlock()
	if over {
		f()
	}
}

// answer sends b, which holds the answer, unless the turn is answered already. It
// returns what waited for that, to be called by the caller.
func (r *recorder) answer(b *acp.Batch) (after []func(), answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, false
	}
	b.Send()
	r.over = true
	after, r.after = r.after, nil
	return after, true
}

// takeTold is what TurnEnded is to hear of the turn.
func (r *recorder) takeTold() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	r.told = nil
	return told
}
