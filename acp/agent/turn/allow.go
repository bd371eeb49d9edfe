package turn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// Allowed keeps what a person has allowed projects to run. Implementations are
// safe for concurrent use.
type Allowed interface {
	// Look says whether a command may run in the project of a folder, as it is
	// offered.
	Look(root string, o host.Offer) (host.Allowance, error)
	// Allow keeps a person's yes to commands as they are offered; whole says that it
	// is to all that the project offers.
	Allow(root string, offers []host.Offer, whole bool) error
}

// allowed says whether a person has allowed what a line runs, in this form. Where
// nobody has, a person is told or asked; then it returns how the turn ended.
func (t *Turn) allowed(inv *command.Invocation) (outcome, bool) {
	store := t.conn.Options.Allowed
	if store == nil {
		return outcome{}, true
	}
	root := t.session.host.Dir()
	o, of, err := t.session.host.Offer(t.context(), inv)
	if err != nil {
		return t.nothingDone(err), false
	}
	if !of {
		return outcome{}, true
	}
	a, err := store.Look(root, o)
	switch {
	case err != nil:
		return t.refuse(fmt.Errorf("%s was not run: %w", view.Code(inv.Line), err)), false
	case a.Allowed:
		return outcome{}, true
	case t.noPerson() != "":
		return t.refuse(notAllowed(inv, root, a)), false
	case t.conn.Options.AllowNamed:
		if err := store.Allow(root, []host.Offer{o}, false); err != nil {
			return t.refuse(fmt.Errorf("%s was not run: %w", view.Code(inv.Line), err)), false
		}
		return outcome{}, true
	case !a.Project && a.Before.IsZero():
		return t.offerAll(inv, root)
	}
	return t.offerOne(inv, root, o, a)
}

// stillInForm is allowed for a program that is about to start: nobody is asked.
func (t *Turn) stillInForm(inv *command.Invocation) error {
	store := t.conn.Options.Allowed
	if store == nil {
		return nil
	}
	root := t.session.host.Dir()
	o, of, err := t.session.host.Offer(t.context(), inv)
	if err != nil || !of {
		return err
	}
	a, err := store.Look(root, o)
	if err != nil || a.Allowed {
		return err
	}
	return notAllowed(inv, root, a)
}

// notAllowed is for callers with nobody to ask.
func notAllowed(inv *command.Invocation, root string, a host.Allowance) error {
	why := "no person has allowed it in this project"
	if !a.Before.IsZero() {
		why = "it is not what a person allowed"
		if a.Changed != "" {
			why += ": " + view.Prose(a.Changed)
		}
	}
	return fmt.Errorf("%s was not run: %s. To look at it and allow it, a person types %s", view.Code(inv.Line), why,
		view.Code("chant-acp allow "+command.Quote([]string{root})))
}

// offerAll shows all that a project offers which no person has looked at yet.
func (t *Turn) offerAll(inv *command.Invocation, root string) (outcome, bool) {
	offers, err := t.session.host.Offers(t.context())
	if err != nil {
		return t.nothingDone(err), false
	}
	text := "No person has allowed this project yet to run anything here. It offers\n\n" + view.Fenced(view.Cut(offerTable(offers), view.PieceBytes))
	if t.asksThroughClient() {
		return t.askToAllow(inv, root, text, offers, true)
	}
	key := t.session.keep(pendingConfirm{words: inv.Words, env: t.environment(), until: time.Now().Add(confirmFor), unkept: true, offers: offers})
	t.recorder.say(fmt.Sprintf("%s\n\nTo allow all of that as it is now, and run %s, type this within %s:\n\n%s\n",
		text, view.Code(view.Cut(inv.Line, view.FieldBytes)), brief.Duration(confirmFor), view.Fenced("allow "+key)))
	return waitingFor(inv, chantMeta{Allow: key}), false
}

// offerOne shows a command that is new, or not what was allowed. Sent again, the
// line is the yes to what was shown.
func (t *Turn) offerOne(inv *command.Invocation, root string, o host.Offer, a host.Allowance) (outcome, bool) {
	text := offerText(o, a)
	if t.asksThroughClient() {
		return t.askToAllow(inv, root, text, []host.Offer{o}, false)
	}
	if t.session.shownBefore(o) {
		if err := t.conn.Options.Allowed.Allow(root, []host.Offer{o}, false); err != nil {
			return t.refuse(fmt.Errorf("%s was not run: %w", view.Code(inv.Line), err)), false
		}
		return outcome{}, true
	}
	t.recorder.say(text + "\n\nTo allow it as it is now, and run it, send the line again.\n")
	return waitingFor(inv, chantMeta{}), false
}

func waitingFor(inv *command.Invocation, meta chantMeta) outcome {
	return outcome{reason: acp.StopEndTurn, state: view.StateWaiting, line: inv.Line, title: view.Title(inv), meta: meta}
}

// shownBefore says whether the session was shown this form of a command, and notes
// that it is shown now.
func (s *Thread) shownBefore(o host.Offer) bool {
	digest := o.Subject.Digest()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered[o.Name] == digest {
		delete(s.offered, o.Name)
		return true
	}
	if s.offered == nil {
		s.offered = map[string]string{}
	}
	s.offered[o.Name] = digest
	return false
}

// askToAllow asks through the client, once for allowing and running.
func (t *Turn) askToAllow(inv *command.Invocation, root, text string, offers []host.Offer, whole bool) (outcome, bool) {
	call := &view.Call{Stage: t.stage, ID: "allow_" + newID(), Title: brief.Runes("Allow this project: "+view.Title(inv), view.TitleRunes), Line: inv.Line, Cwd: inv.Dir, Silent: true}
	text = view.Cut(text, view.PieceBytes)
	input := map[string]any{"command": view.Cut(inv.Line, view.FieldBytes)}
	call.Announce(acp.ToolPending, input, text)
	answer, err := t.conn.RequestPermission(t.context(), acp.RequestPermissionRequest{
		SessionID: t.session.ID,
		ToolCall: acp.ToolCallUpdate{
			ToolCallID: call.ID, Title: call.Title, ToolKind: acp.ToolExecute, Status: acp.ToolPending, RawInput: view.Input(input),
			Content: []acp.ToolCallContent{acp.ToolText(view.Visible(text))},
		},
		Options: []acp.PermissionOption{
			{OptionID: optionAllow, Name: "Allow it as it is now, and run the line", Kind: acp.AllowOnce},
			{OptionID: optionReject, Name: "Run nothing", Kind: acp.RejectOnce},
		},
		Meta: acp.Meta{"chant": map[string]any{"allow": true}},
	})
	if errors.Is(err, acp.ErrClosed) {
		t.stop(host.StopLeaving) // the client has left, which leave will only say next
	}
	t.settle() // a cancel in the same packet as the answer wins
	if t.stopped() {
		call.Fail("it was cancelled before it was answered")
		return t.stoppedBeforeStart(inv.Line).about(inv), false
	}
	if err != nil || answer.Outcome != acp.OutcomeSelected || answer.OptionID != optionAllow {
		call.Fail("it was not allowed")
		t.recorder.say(fmt.Sprintf("%s was not run: it was not allowed.\n", view.Code(view.Cut(inv.Line, view.FieldBytes))))
		return outcome{reason: acp.StopEndTurn, state: view.StateRefused}.about(inv), false
	}
	if err := t.conn.Options.Allowed.Allow(root, offers, whole); err != nil {
		call.Fail(err.Error())
		return t.refuse(err).about(inv), false
	}
	call.End(view.ResultEvent{Status: acp.ToolCompleted, Content: "It is allowed."})
	return outcome{}, true
}

// allow is `allow <code>`: a person allows what was shown, and the line that waited
// runs; or `allow just`, which takes the tasks of a task runner.
func (t *Turn) allow(list host.AllowList, args []string) outcome {
	if why := t.conn.noPerson(); why != "" {
		return t.refuse(fmt.Errorf("nothing was allowed, for a person has to: %s", why))
	}
	key := args[0]
	if !isCode(key) || len(args) > 1 {
		return t.allowTasks(args)
	}
	if t.conn.Options.Allowed == nil {
		return t.refuse(errors.New("nothing waits to be allowed: this agent runs what a project offers without asking (agent.allow)"))
	}
	p, err := t.session.take(strings.ToLower(key), true)
	if err != nil {
		return t.refuse(err)
	}
	if err := t.conn.Options.Allowed.Allow(t.session.host.Dir(), p.offers, true); err != nil {
		return t.refuse(err)
	}
	inv, err := list.Registry.Parse(p.words, command.ParseOptions{Environment: p.env})
	if err != nil {
		return t.refuse(err)
	}
	t.say("Allowed.\n\n")
	if inv.Kind == command.KindBuiltin {
		return t.opAgain(inv)
	}
	return t.command(inv)
}

// allowTasks is `allow [--off] <task runner> [name…]`: a person takes its tasks, all
// or those that are named, as commands, or does so no more.
func (t *Turn) allowTasks(args []string) outcome {
	sources, ok := t.session.host.(host.TaskSources)
	if !ok {
		return t.refuse(fmt.Errorf("%s is no code", view.Code(args[0])))
	}
	if args[0] == "--off" {
		if len(args) != 2 {
			return t.refuse(fmt.Errorf("name one task runner after %s", view.Code("allow --off")))
		}
		was, err := sources.Drop(args[1])
		switch {
		case err != nil:
			return t.refuse(err)
		case !was:
			return t.refuse(fmt.Errorf("nothing of %s was taken here", view.Code(args[1])))
		}
		t.session.Refresh()
		return t.sayText(fmt.Sprintf("The tasks of %s are no commands here any more.\n", view.Code(args[1])))
	}
	offers, notes, err := sources.Take(t.context(), command.Source{Tool: args[0], Names: args[1:]})
	if err == nil && t.conn.Options.Allowed != nil {
		err = t.conn.Options.Allowed.Allow(t.session.host.Dir(), offers, false)
	}
	if err != nil {
		return t.refuse(fmt.Errorf("nothing was allowed: %w", err))
	}
	t.session.Refresh()
	text := fmt.Sprintf("These are commands here now, for you:\n\n%s\n", view.Fenced(view.Cut(offerTable(offers), view.PieceBytes)))
	if len(notes) > 0 {
		text += fmt.Sprintf("\nNot as it stands there:\n\n%s\n", view.Fenced(view.Cut(view.Visible(strings.Join(notes, "\n")), view.PieceBytes)))
	}
	return t.sayText(text)
}

// maxOffers bounds a list of what a project offers.
const maxOffers = 200

// offerTable lists what a project offers: names, effects, and what they start.
func offerTable(offers []host.Offer) string {
	width := 4
	for _, o := range offers {
		width = max(width, min(len([]rune(o.Name)), 30))
	}
	var b strings.Builder
	for i, o := range offers {
		if i == maxOffers {
			fmt.Fprintf(&b, "… and %d more\n", len(offers)-i)
			break
		}
		fmt.Fprintf(&b, "%-*s  %-7s  %s\n", width, view.Visible(o.Name), o.Effect, brief.Runes(view.Visible(view.OneLine(o.Runs)), view.TitleRunes))
	}
	return b.String()
}

// offerText shows one command that is new or changed.
func offerText(o host.Offer, a host.Allowance) string {
	name := view.Code(o.Name)
	if a.Before.IsZero() {
		return fmt.Sprintf("%s is new in this project, and no person has allowed it. It is\n\n%s", name, view.Fenced(view.Cut(offerTable([]host.Offer{o})+o.Text, view.FieldBytes)))
	}
	text := fmt.Sprintf("%s is not what was allowed on %s", name, view.Moment(a.Before))
	if a.Changed != "" {
		text += ": " + view.Prose(a.Changed)
	}
	text += "."
	if a.Difference != "" {
		text += "\n\n" + view.Fenced(view.Cut(view.Visible(a.Difference), view.FieldBytes))
	}
	return text
}
