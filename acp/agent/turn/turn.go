package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
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

// withoutContext is the text of a prompt without the lines of a buffer that the
// client put below it, and says so once.
func (t *Turn) withoutContext(text string) string {
	if !t.client.AddsContext {
		return text
	}
	line, source, ok := view.CutContext(text)
	if !ok {
		return text
	}
	if !t.cutContext {
		t.cutContext = true
		t.recorder.say(fmt.Sprintf("What %s added of %s is left out: a prompt is one command line. The variable `agent-shell-context-sources` says what it adds.\n\n", t.client.Name, view.Code(source)))
	}
	return line
}

func (t *Turn) parseOptions() command.ParseOptions {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return command.ParseOptions{Environment: t.session.env, NoPerson: t.conn.noPerson()}
}

// greet sends what a client should know before the turn and may have missed:
// the slash commands at the first prompt and after a change, the notice, and
// what is wrong with the manifest.
func (t *Turn) greet(allow host.AllowList) {
	s := t.session
	s.mu.Lock()
	news, changed := s.shown != allow.Version, s.listed != allow.Version
	if s.shown == 0 && !changed && t.client.KeepsCommands {
		news = false // the list that followed session/new was the same
	}
	s.shown = allow.Version
	problem := ""
	if allow.Problem != nil {
		problem = allow.Problem.Error()
	}
	tell := problem != s.problem && problem != ""
	s.problem = problem
	s.mu.Unlock()
	if news {
		t.Show(s.Commands())
	}
	if changed {
		t.Show(acp.ConfigOptionUpdate{ConfigOptions: s.ConfigOptions()})
	}
	noticed := t.notice()
	if tell {
		t.recorder.say("The project's commands are not available, because its manifest can't be used. The built-in commands still work.\n\n" + view.Fenced(problem) + "\n\n")
	}
	if news || changed || noticed || tell {
		t.Flush()
	}
}

// notice tells the client the agent's notice, if it was not told yet.
func (t *Turn) notice() bool {
	n := t.conn.Options.Notice
	if n.Text == "" || !t.conn.noticed.CompareAndSwap(false, true) {
		return false
	}
	text := n.Text + "\n\n"
	if n.Detail != "" {
		text += view.Fenced(n.Detail) + "\n\n"
	}
	t.recorder.say(text)
	return true
}

// say sends text at once. It does not wait for the client to read: a turn says
// little, and may hold the slot.
func (t *Turn) say(text string) {
	t.recorder.say(text)
	t.Flush()
}

// refuse ends a turn whose prompt is not a command. Nothing ran.
func (t *Turn) refuse(err error) outcome {
	if about, ok := errors.AsType[*host.OpRefusal](err); ok && t.noPerson() != "" {
		shown := *about
		shown.Lines = slices.DeleteFunc(slices.Clone(about.Lines), deciding)
		err = &shown
	}
	t.recorder.say(view.Refusal(err))
	reason := acp.StopRefusal
	switch t.conn.Options.Refusal {
	case "refusal":
	case "end_turn":
		reason = acp.StopEndTurn
	default:
		if t.client.EndsTurn {
			reason = acp.StopEndTurn
		}
	}
	return outcome{reason: reason, state: view.StateRefused}
}

// stoppedBeforeStart ends a turn that was stopped while no program ran.
func (t *Turn) stoppedBeforeStart(line string) outcome {
	e := cancelledOutcome(view.StateCancelled)
	if t.reason() == host.StopLeaving {
		e.state = view.StateInterrupted
	}
	e.line = line
	return e
}

// finish answers the prompt and frees the session for the next one. No update
// of this turn follows the answer, and none of the next precedes it.
func (t *Turn) finish(e outcome) {
	for _, f := range t.answer(e) {
		f()
	}
}

func (t *Turn) answer(e outcome) (after []func()) {
	s := t.session
	if !t.isOver() {
		t.Add(view.Event{Kind: view.EventEnd, Client: t.client.Name, End: &view.EndEvent{Reason: e.reason, State: e.state, Line: e.line, Ran: e.ran, Took: e.took}})
	}
	s.Wire.Lock()
	defer s.Wire.Unlock()
	t.write()
	late := t.conn.Batch()
	t.showLate(late)
	if !t.isOver() {
		late.Send()
	}
	if title, is := s.name(e, t.typed()); is {
		t.Show(acp.SessionInfoUpdate{Title: title, UpdatedAt: time.Now().UTC().Format(time.RFC3339)})
		if s.log != nil {
			s.log.Named()
		}
	}
	if t.release != nil {
		t.release() // no sooner: who gets the thread next finds the end of this turn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.line != "" {
		s.remember(entry{line: e.line, state: e.state, ran: e.ran, at: time.Now(), took: e.took, client: t.client.Name})
	}
	if s.log != nil {
		if events := t.takeEvents(); len(events) > 0 { // else it was given up
			s.log.Ended(events)
		}
		if text := s.log.Warning(); text != "" {
			t.Show(acp.AgentMessageChunk{Content: acp.Text(text)})
		}
	}
	if e.state == view.StateCancelled {
		s.cancelled = e.line
	}
	e.meta.Outcome = e.state
	t.batch.Reply(t.req, response{e.reason, e.meta})
	s.turn = nil
	after, _ = t.recorder.answer(t.batch)
	t.stopper.end()
	return after
}

// GiveUp answers for a turn that does not end in time, when the agent leaves.
func (t *Turn) GiveUp() {
	e := &view.EndEvent{Reason: acp.StopCancelled, State: view.StateInterrupted}
	b := t.conn.Batch()
	t.showLate(b)
	for i, c := range t.stage.Open() {
		if i == 0 {
			e.Line, e.Ran = c.Line, t.running()
		}
		for _, event := range c.GiveUp() {
			t.view.Show(event, func(u acp.SessionUpdate) { t.session.Notify(b, u) })
		}
	}
	b.Reply(t.req, response{acp.StopCancelled, chantMeta{Outcome: view.StateInterrupted}})
	after, gaveUp := t.recorder.answer(b)
	if !gaveUp {
		return
	}
	over := view.Event{Kind: view.EventEnd, Time: time.Now().UTC(), Turn: t.id, Client: t.client.Name, End: e}
	_ = t.session.write([]view.Event{over})
	if events := t.takeEvents(); len(events) > 0 {
		t.session.log.Ended(append(events, over))
	}
	for _, f := range after {
		f()
	}
}

// crash ends what runs and the open calls, after a panic in mid-run.
func (t *Turn) crash() {
	t.stopper.crash()
	for _, c := range t.stage.Open() {
		c.Crash()
	}
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

// typed is the first line of the prompt, as a title.
func (t *Turn) typed() string {
	for _, b := range t.blocks {
		if line, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n"); line != "" {
			return brief.Runes(view.Visible(view.OneLine(line)), view.TitleRunes)
		}
	}
	return ""
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

// Finish answers a turn that was not begun, because the agent leaves.
func (t *Turn) Finish() { t.finish(cancelledOutcome(view.StateInterrupted)) }

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
