package turn

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// outcome is how a turn ended.
type outcome struct {
	reason acp.StopReason
	state  string
	line   string // the command line, where there was one
	title  string
	ran    bool // a program was started
	meta   chantMeta
	took   time.Duration
}

func cancelledOutcome(state string) outcome { return outcome{reason: acp.StopCancelled, state: state} }

// Turn is one prompt, from its registration to its response.
type Turn struct {
	session *Thread
	conn    *Conn
	req     *acp.Request
	id      string // unique for ever
	blocks  []acp.ContentBlock
	meta    acp.Meta // of the prompt
	client  view.Client

	*recorder             // what happens in it
	stopper               // what ends it
	stage     *view.Stage // its tool calls

	// repeats is the command line that was cancelled right before this prompt.
	repeats string

	cutContext    bool           // lines that the client added were left out
	justRefreshed bool           // the allow-list was looked at just now
	next          func() outcome // what is left to do after prepare
	// loaded is closed once the loads before this turn are answered; nil for none.
	loaded chan struct{}
	// release, where set, lets other processes run turns of the thread.
	release func()
}

// New makes the Turn of a prompt, on the reading goroutine. loaded is closed once
// the loads before it are answered; nil for none.
func New(s *Thread, r *acp.Request, p acp.PromptRequest, loaded chan struct{}) *Turn {
	id, client := s.conn.nextID(), s.Seen()
	t := &Turn{
		session: s, conn: s.conn, req: r, id: id, blocks: p.Prompt, meta: p.Meta, client: client, loaded: loaded,
		recorder: newRecorder(s, id, client),
	}
	t.stage = &view.Stage{Recorder: t.recorder, Client: t.client}
	return t
}

// Begin does what needs no program, on the reading goroutine where nothing else
// has arrived: a refusal then costs no change of goroutine. It says whether the
// turn is over; else Run goes on.
func (t *Turn) Begin() bool {
	if t.conn.Pending() || t.loading() {
		return false
	}
	t.justRefreshed = true
	e := t.guarded(t.prepare)
	t.justRefreshed = false
	if t.next != nil {
		return false
	}
	t.finish(e)
	if t.observed {
		t.conn.Background(t.session.log.Deliver)
	}
	return true
}

// loading says whether the thread is still being replayed for a load that came
// before this prompt: its turn comes after the answer.
func (t *Turn) loading() bool {
	if t.loaded == nil {
		return false
	}
	select {
	case <-t.loaded:
		return false
	default:
		return true
	}
}

// Run is the turn's goroutine.
func (t *Turn) Run() {
	unwatch := context.AfterFunc(t.req.Context(), func() { t.stop(host.StopCancelled) })
	if t.loaded != nil {
		<-t.loaded // a replay is bounded, and waits for no turn that is not shown
	}
	e := t.guarded(func() outcome {
		t.settle() // a cancel in the same packet is seen before anything starts
		if t.next == nil {
			if e := t.prepare(); t.next == nil {
				return e
			}
		}
		return t.next()
	})
	unwatch()
	t.finish(e)
	if t.observed {
		t.session.log.Deliver()
	}
}

// settle takes note of every cancel that has arrived so far.
func (t *Turn) settle() {
	t.conn.Settle()
	if t.req.Context().Err() != nil {
		t.stop(host.StopCancelled)
	}
}

// guarded turns a panic into a failed turn: the client gets its answer on every
// path.
func (t *Turn) guarded(do func() outcome) (e outcome) {
	defer func() {
		if x := recover(); x != nil {
			t.conn.Options.Log.Error().Interface("panic", x).Bytes("stack", debug.Stack()).Msg("a turn panicked")
			t.crash()
			t.recorder.say("This turn failed inside the agent; its log on stderr says where. The command may have run in part.")
			t.next, e = nil, outcome{reason: acp.StopEndTurn, state: view.StateFailed}
		}
	}()
	return do()
}

// prepare decides what the prompt is, and ends the turn where that is all there
// is to do. It does not wait for anything.
func (t *Turn) prepare() outcome {
	t.Add(t.promptEvent())
	t.session.mu.Lock()
	t.repeats, t.session.cancelled = t.session.cancelled, ""
	t.session.mu.Unlock()
	if t.stopped() {
		return t.stoppedBeforeStart("")
	}
	allow := t.allowList()
	t.greet(allow)
	if p, ok := permissionOf(t.meta); ok {
		return t.permit(p)
	}
	root := t.session.host.Dir()
	inv, err := t.parse(allow, root)
	if err == nil && inv.Dir != root && hasLink(t.blocks) {
		inv, err = t.parse(allow, inv.Dir) // it runs in a folder of its own: links start there
	}
	if err != nil {
		return t.refuse(err)
	}
	if inv.Kind == command.KindBuiltin {
		return t.builtin(allow, inv)
	}
	return t.later(inv, func() outcome { return t.command(inv) })
}

// allowList is what may run now.
func (t *Turn) allowList() host.AllowList {
	if !t.justRefreshed {
		return t.session.Refresh()
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.session.allow
}

// parse reads the prompt as a command that runs in dir.
func (t *Turn) parse(allow host.AllowList, dir string) (*command.Invocation, error) {
	o := t.parseOptions()
	words, err := promptWords(t.blocks, dir, func(text string) ([]string, error) {
		return allow.Registry.Split(t.withoutContext(text), o)
	})
	if err != nil {
		return nil, err
	}
	return allow.Registry.Parse(words, o)
}

func (t *Turn) parseOptions() command.ParseOptions {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return command.ParseOptions{Environment: t.session.env, NoPerson: t.conn.noPerson()}
}

// say sends text at once. It does not wait for the client to read: a turn says
// little, and may hold the slot.
func (t *Turn) say(text string) {
	t.recorder.say(text)
	t.Flush()
}

// wait takes the slot, telling the person when that takes long.
func (t *Turn) wait(line string, front bool) error {
	return t.waitAt(t.conn.Slot, line, front)
}

// waitAt is wait for another slot.
func (t *Turn) waitAt(p *Slot, line string, front bool) error {
	return p.take(t.context(), line, front, func(holder string) {
		t.say(fmt.Sprintf("Waiting for %s to end: one command runs at a time. Cancel to give up.\n\n", view.Code(brief.Runes(holder, view.TitleRunes))))
	})
}

// StopAll stops turns of which none may start anything because another one ends.
func StopAll(turns []*Turn, why host.Stop) {
	for _, t := range turns { // all, before one that ends gives its slot to another
		t.forbidStart(why)
	}
	for _, t := range turns {
		t.stop(why)
	}
}

// Deliver passes the events of the thread's turns on to who observes them.
func (t *Turn) Deliver() {
	if t.session.log != nil {
		t.session.log.Deliver()
	}
}

// later leaves the rest of the turn to its goroutine, which has the thread for
// itself: no other process runs a turn of it meanwhile. inv is the command, nil
// where that is not known yet.
func (t *Turn) later(inv *command.Invocation, next func() outcome) outcome {
	return t.deferred(func() outcome {
		if t.session.log == nil {
			return next()
		}
		release, err := t.session.log.Lock(t.context())
		t.release = release
		switch {
		case t.context().Err() != nil && inv != nil:
			return t.stoppedBeforeStart(inv.Line).about(inv)
		case t.context().Err() != nil:
			return t.stoppedBeforeStart("")
		case err != nil:
			return t.refuse(err)
		}
		return next()
	})
}

// deferred leaves the rest of the turn to its goroutine. The prompt is kept before
// that waits for anything; where nothing waits, all is kept at once.
func (t *Turn) deferred(next func() outcome) outcome {
	t.Flush()
	t.next = next
	return outcome{}
}

// use keeps, before it returns, that a code is used up.
func (t *Turn) use(code string) error {
	return t.writeNow(view.Event{Kind: view.EventUsed, Text: code})
}
