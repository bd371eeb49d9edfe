package turn

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
	session *Thread
	view    *view.View
	keeps   bool // the thread has a Log

	// Of the turn's goroutine.
	batch *acp.Batch   // what is sent with the next flush
	list  []view.Event // what is kept with the next flush

	mu    sync.Mutex
	late  []acp.SessionUpdate // what Stream gave up: a tool call may be announced there
	over  bool                // it is answered
	after []func()            // functions to call once the turn is answered
	// observed says that somebody wants to know of the turn: all of it is in events,
	// which is bounded by outputBytes, the bytes of output there were.
	observed    bool
	events      []view.Event
	outputBytes int
}

var _ view.Recorder = (*recorder)(nil)

func newRecorder(s *Thread, turn string, c view.Client) *recorder {
	keeps := s.log != nil
	return &recorder{turn: turn, session: s, view: view.New(c), keeps: keeps, batch: s.conn.Batch(), observed: keeps && s.log.Observed()}
}

// Add implements view.Recorder.
func (r *recorder) Add(e view.Event) {
	if r.keeps {
		e = r.stamped(e)
		if r.list == nil {
			r.list = make([]view.Event, 0, 4) // a refusal's are three
		}
		r.list = append(r.list, e)
	}
	r.view.Show(e, r.Show)
}

// Show implements view.Recorder.
func (r *recorder) Show(u acp.SessionUpdate) { r.session.Notify(r.batch, u) }

// TextShown implements view.Recorder.
func (r *recorder) TextShown() bool { return r.view.TextShown() }

// say adds text that the agent says.
func (r *recorder) say(text string) {
	for _, piece := range view.Pieces(view.Visible(text)) {
		r.Add(view.Event{Kind: view.EventSay, Text: piece})
	}
}

// ask adds a request whose answer counts for nothing.
func (r *recorder) ask(method string, params any) { r.batch.Ask(method, params) }

// stamped is an event with its time and its turn, noted for who wants to know.
func (r *recorder) stamped(e view.Event) view.Event {
	e.Time, e.Turn = time.Now().UTC(), r.turn
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.observed || r.over {
		return e
	}
	if e.Kind == view.EventOutput {
		if r.outputBytes += len(e.Text); r.outputBytes > view.MaxReplay {
			return e // it is in the thread, and in the log
		}
	}
	r.events = append(r.events, e)
	return e
}

// Flush implements view.Recorder. What is collected is small.
func (r *recorder) Flush() {
	r.session.Wire.Lock()
	defer r.session.Wire.Unlock()
	r.write()
	late := r.session.conn.Batch()
	r.showLate(late)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over { // GiveUp may have answered while the program still ran
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
func (r *recorder) writeNow(e view.Event) error {
	if !r.keeps {
		return nil
	}
	r.Flush()
	return r.session.write([]view.Event{r.stamped(e)})
}

// Stream implements view.Recorder.
func (r *recorder) Stream(ctx context.Context, e view.Event) error {
	r.session.Wire.Lock()
	defer r.session.Wire.Unlock()
	if r.keeps {
		e = r.stamped(e)
		_ = r.session.write([]view.Event{e})
	}
	var updates []acp.SessionUpdate
	r.view.Show(e, func(u acp.SessionUpdate) { updates = append(updates, u) })
	for i, u := range updates {
		if err := r.session.conn.Update(ctx, r.session.ID, u); err != nil {
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
		r.session.Notify(b, u)
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

// takeEvents is what who observes is to hear of the turn.
func (r *recorder) takeEvents() []view.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}
