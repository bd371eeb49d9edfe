package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// end is how a turn ended.
type end struct {
	reason acp.StopReason
	state  string
	line   string // the command line, where there was one
	title  string
	ran    bool // a program was started
	meta   chantMeta
	took   time.Duration
}

func cancelledEnd(state string) end { return end{reason: acp.StopCancelled, state: state} }

// turn is one prompt, from its registration to its response.
type turn struct {
	session *session
	conn    *conn
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

	looked bool       // the allow-list was looked at just now
	next   func() end // what is left to do after prepare
	// loaded is closed once the loads before this turn are answered; nil for none.
	loaded chan struct{}
	// release, where set, lets other processes run turns of the thread.
	release func()
}

// newTurn is called on the reading goroutine.
func newTurn(s *session, r *acp.Request, blocks []acp.ContentBlock) *turn {
	c := s.conn
	c.count++
	id := c.instance() + "." + strconv.FormatUint(c.count, 10)
	o := c.agent.o
	client := s.client()
	wanted := o.TurnEnded != nil && (o.TurnsWanted == nil || o.TurnsWanted(s.dir))
	t := &turn{
		session: s, conn: c, req: r, id: id, blocks: blocks, client: client, loaded: s.loaded,
		recorder: newRecorder(s, id, client, wanted),
	}
	t.stage = &view.Stage{Recorder: t.recorder, Client: t.client}
	return t
}

// begin does what needs no program, on the reading goroutine where nothing else
// has arrived: a refusal then costs no change of goroutine. It says whether the
// turn is over; else run goes on.
func (t *turn) begin() bool {
	if t.conn.Pending() || t.loading() {
		return false
	}
	t.looked = true
	e := t.guarded(t.prepare)
	t.looked = false
	if t.next != nil {
		return false
	}
	t.finish(e)
	if t.wanted {
		t.conn.aside(t.session.tell)
	}
	return true
}

// loading says whether the thread is still being replayed for a load that came
// before this prompt: its turn comes after the answer.
func (t *turn) loading() bool {
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

// run is the turn's goroutine.
func (t *turn) run() {
	defer t.conn.forget(t)
	unwatch := context.AfterFunc(t.req.Context(), func() { t.stop(host.StopCancelled) })
	if t.loaded != nil {
		<-t.loaded // a replay is bounded, and waits for no turn that is not shown
	}
	e := t.guarded(func() end {
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
	t.session.tell()
}

// settle takes note of every cancel that has arrived so far.
func (t *turn) settle() {
	t.conn.Settle()
	if t.req.Context().Err() != nil {
		t.stop(host.StopCancelled)
	}
}

// guarded turns a panic into a failed turn: the client gets its answer on every
// path.
func (t *turn) guarded(do func() end) (e end) {
	defer func() {
		if x := recover(); x != nil {
			t.conn.agent.o.Log.Error().Interface("panic", x).Bytes("stack", debug.Stack()).Msg("a turn panicked")
			t.crash()
			t.recorder.say("This turn failed inside the agent; its log on stderr says where. The command may have run in part.")
			t.next, e = nil, end{reason: acp.StopEndTurn, state: view.StateFailed}
		}
	}()
	return do()
}

// prepare decides what the prompt is, and ends the turn where that is all there
// is to do. It does not wait for anything.
func (t *turn) prepare() end {
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
	return t.later(inv, func() end { return t.command(inv) })
}

// allowList is what may run now.
func (t *turn) allowList() host.AllowList {
	if !t.looked {
		return t.session.refresh()
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.session.allow
}

// parse reads the prompt as a command that runs in dir.
func (t *turn) parse(allow host.AllowList, dir string) (*command.Invocation, error) {
	o := t.parseOptions()
	words, err := promptWords(t.blocks, dir, func(text string) ([]string, error) { return allow.Registry.Split(text, o) })
	if err != nil {
		return nil, err
	}
	return allow.Registry.Parse(words, o)
}

func (t *turn) parseOptions() command.ParseOptions {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return command.ParseOptions{Environment: t.session.env}
}

// greet sends what a client should know before the turn and may have missed:
// the slash commands at the first prompt and after a change, the notice, and
// what is wrong with the manifest.
func (t *turn) greet(allow host.AllowList) {
	s := t.session
	s.mu.Lock()
	news, changed := s.shown != allow.Version, s.listed != allow.Version
	s.shown = allow.Version
	problem := ""
	if allow.Problem != nil {
		problem = allow.Problem.Error()
	}
	tell := problem != s.told && problem != ""
	s.told = problem
	s.mu.Unlock()
	if news {
		t.Show(s.commands())
	}
	if changed {
		t.Show(acp.ConfigOptionUpdate{ConfigOptions: s.configOptions()})
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
func (t *turn) notice() bool {
	n := t.conn.agent.o.Notice
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
// little, and may hold the place.
func (t *turn) say(text string) {
	t.recorder.say(text)
	t.Flush()
}

// refuse ends a turn whose prompt is not a command. Nothing ran.
func (t *turn) refuse(err error) end {
	t.recorder.say(view.Refusal(err))
	reason := acp.StopRefusal
	switch t.conn.agent.o.Refusal {
	case "refusal":
	case "end_turn":
		reason = acp.StopEndTurn
	default:
		if t.client.EndsTurn {
			reason = acp.StopEndTurn
		}
	}
	return end{reason: reason, state: view.StateRefused}
}

// stoppedBeforeStart ends a turn that was stopped while no program ran.
func (t *turn) stoppedBeforeStart(line string) end {
	e := cancelledEnd(view.StateCancelled)
	if t.reason() == host.StopLeaving {
		e.state = view.StateInterrupted
	}
	e.line = line
	return e
}

// finish answers the prompt and frees the session for the next one. No update
// of this turn follows the answer, and none of the next precedes it.
func (t *turn) finish(e end) {
	for _, f := range t.answer(e) {
		f()
	}
}

func (t *turn) answer(e end) (after []func()) {
	s := t.session
	if !t.isOver() {
		t.Add(Event{Kind: EventEnd, Client: t.client.Name, End: &EndEvent{Reason: e.reason, State: e.state, Line: e.line, Ran: e.ran, Took: e.took}})
	}
	s.wire.Lock()
	defer s.wire.Unlock()
	t.write()
	late := t.conn.Batch()
	t.showLate(late)
	if !t.isOver() {
		late.Send()
	}
	if s.name(e) {
		t.Show(acp.SessionInfoUpdate{Title: e.title, UpdatedAt: time.Now().UTC().Format(time.RFC3339)})
		s.update()
	}
	if t.release != nil {
		t.release() // no sooner: who gets the thread next finds the end of this turn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.line != "" {
		s.remember(entry{line: e.line, state: e.state, ran: e.ran, at: time.Now(), took: e.took, client: t.client.Name})
	}
	if told := t.takeTold(); len(told) > 0 {
		s.untold = append(s.untold, told)
	}
	if text := s.lossText(); text != "" {
		t.Show(acp.AgentMessageChunk{Content: acp.Text(text)})
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

// giveUp answers for a turn that does not end in time, when the agent leaves.
func (t *turn) giveUp() {
	e := &EndEvent{Reason: acp.StopCancelled, State: view.StateInterrupted}
	b := t.conn.Batch()
	t.showLate(b)
	for i, c := range t.stage.Open() {
		if i == 0 {
			e.Line, e.Ran = c.Line, t.running()
		}
		for _, event := range c.GiveUp() {
			t.view.Show(event, func(u acp.SessionUpdate) { t.session.notify(b, u) })
		}
	}
	b.Reply(t.req, response{acp.StopCancelled, chantMeta{Outcome: view.StateInterrupted}})
	after, gaveUp := t.recorder.answer(b)
	if !gaveUp {
		return
	}
	over := Event{Kind: EventEnd, Time: time.Now().UTC(), Turn: t.id, Client: t.client.Name, End: e}
	_ = t.session.write([]Event{over})
	if told := t.takeTold(); len(told) > 0 {
		t.session.mu.Lock()
		t.session.untold = append(t.session.untold, append(told, over))
		t.session.mu.Unlock()
	}
	for _, f := range after {
		f()
	}
}

// crash ends what runs and the open calls, after a panic in mid-run.
func (t *turn) crash() {
	t.stopper.crash()
	for _, c := range t.stage.Open() {
		c.Crash()
	}
}

// wait takes the place, telling the person when that takes long.
func (t *turn) wait(line string, front bool) error {
	return t.waitAt(&t.conn.agent.place, line, front)
}

// waitAt is wait for another place.
func (t *turn) waitAt(p *place, line string, front bool) error {
	return p.take(t.context(), line, front, func(holder string) {
		t.say(fmt.Sprintf("Waiting for %s to end: one command runs at a time. Cancel to give up.\n\n", view.Code(brief.Runes(holder, view.TitleRunes))))
	})
}
