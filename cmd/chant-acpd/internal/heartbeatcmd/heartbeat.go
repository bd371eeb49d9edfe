// Package heartbeatcmd is the command heartbeat: what a workspace's HEARTBEAT.md would
// run, and whether it is trusted. It is beside the gateway, which runs it.
package heartbeatcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/heartbeat"
)

// New is the command, with those below it.
func New(std console.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "heartbeat",
		Short: "See what a workspace's HEARTBEAT.md would run, and allow it",
		Long: `HEARTBEAT.md, at the root of a workspace, holds command lines that run by
themselves: in code blocks of the language chant, with every: or cron: (five
fields, UTC), and jitter: where wanted. They run only while a gateway runs here
that was told to, and only after a person has trusted the file's present content.
A file that changes is not run until it is trusted again.`,
	}
	c.AddCommand(newHeartbeatTrust(std), newHeartbeatUntrust(std), newHeartbeatStatus(std))
	return c
}

// workspaceFlag adds --workspace.
func workspaceFlag(c *cobra.Command, dir *string) *cobra.Command {
	c.Flags().StringVar(dir, "workspace", ".", "the folder of the HEARTBEAT.md")
	return c
}

func newHeartbeatTrust(std console.Streams) *cobra.Command {
	var dir string
	var yes bool
	c := &cobra.Command{
		Use:   "trust [flags]",
		Short: "Show what would run and when, and allow it",
		Long: `Trust shows each line of HEARTBEAT.md, when it is due, and whether the
allow-list takes it today. On yes, or with --yes, the content that was shown is
trusted. It exits with 1 when the file has errors or nothing to run, and with 3
when nobody said yes.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withHeartbeat(dir, func(s *heartbeat.Status, stateDir string) error {
				return trustHeartbeat(std, s, stateDir, yes)
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return workspaceFlag(c, &dir)
}

func newHeartbeatUntrust(std console.Streams) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "untrust [flags]",
		Short: "Take the trust back: nothing more is started",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withHeartbeat(dir, func(s *heartbeat.Status, stateDir string) error {
				was, err := heartbeat.Untrust(stateDir, s.Workspace)
				if err != nil {
					return err
				}
				text := "Nothing of %s runs by itself any more.\n"
				if !was {
					text = "Nothing of %s was trusted.\n"
				}
				fmt.Fprintf(std.Out, text, console.Printable(s.Workspace))
				return nil
			})
		},
	}
	return workspaceFlag(c, &dir)
}

func newHeartbeatStatus(std console.Streams) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show whether the file is trusted, what ran last, and what is due",
		Long: `Status changes nothing. It exits with 1 when the file has errors, must not be
used, or what is kept about it can't be read.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withHeartbeat(dir, func(s *heartbeat.Status, _ string) error { return heartbeatStatus(std, s) })
		},
	}
	return workspaceFlag(c, &dir)
}

// withHeartbeat gives do how things stand, and makes errors those of a command
// that failed.
func withHeartbeat(dir string, do func(s *heartbeat.Status, stateDir string) error) error {
	if err := stateroot.Check(os.Getenv); err != nil {
		return console.Exit(console.Usage, err)
	}
	stateDir := stateroot.Dir(os.Getenv)
	s, err := heartbeat.Look(stateDir, dir, time.Now())
	if err != nil {
		return console.Exit(console.Usage, err)
	}
	err = do(s, stateDir)
	var exit *console.ExitError
	if err != nil && !errors.As(err, &exit) {
		err = console.Exit(console.Failed, err)
	}
	return err
}

// fileErrors prints the errors of the file, and returns one when there are any.
func fileErrors(out io.Writer, s *heartbeat.Status) error {
	if s.File == nil {
		return s.FileErr
	}
	var bad *heartbeat.PlanError
	if !errors.As(s.File.Err, &bad) {
		return nil
	}
	for _, d := range bad.Diagnostics {
		fmt.Fprintln(out, console.Printable(d.String()))
	}
	return fmt.Errorf("%s: %s", s.File.Path, brief.Plural(len(bad.Diagnostics), "error"))
}

func trustHeartbeat(std console.Streams, s *heartbeat.Status, stateDir string, yes bool) error {
	if err := fileErrors(std.Out, s); err != nil {
		return err
	}
	if len(s.Jobs) == 0 {
		return heartbeat.Trust(stateDir, s.File, nil, time.Now()) // says why not
	}
	now := time.Now() // before, so that a change meanwhile comes after the yes
	commands := lineSubjects(s)
	fmt.Fprintf(std.Out, "%s (SHA-256 %s)\n\n", console.Printable(s.File.Path), s.File.Digest)
	printJobs(std.Out, s, commands, false)
	if s.Trusted() && len(changedLines(s, commands)) == 0 {
		fmt.Fprintln(std.Out, "This is trusted already.")
		return nil
	}
	if err := serve.Consent(std, yes, "May these run by themselves, as you?", "nothing was trusted"); err != nil {
		return err
	}
	if err := heartbeat.Trust(stateDir, s.File, commands, now); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, "Trusted. Any change of the file ends that, and a change of what a line runs ends it for that line.")
	return nil
}

func heartbeatStatus(std console.Streams, s *heartbeat.Status) error {
	if s.File == nil && errors.Is(s.FileErr, heartbeat.ErrNoFile) {
		fmt.Fprintln(std.Out, console.Printable(s.FileErr.Error())+".")
		return nil
	}
	broken := fileErrors(std.Out, s)
	if s.File != nil {
		fmt.Fprintf(std.Out, "%s (SHA-256 %s)\n%s\n%s\n\n", console.Printable(s.File.Path), s.File.Digest, trustText(s), loopText(s))
	}
	printJobs(std.Out, s, lineSubjects(s), true)
	return errors.Join(broken, s.GrantErr, s.StateErr)
}

func trustText(s *heartbeat.Status) string {
	const how = `; look at it and trust it with "chant-acp heartbeat trust"`
	switch {
	case s.File.Err == nil && len(s.Jobs) == 0:
		return "It holds no chant block, so there is nothing to run."
	case s.File.Err != nil:
		return "It has errors and does not run."
	case s.Trusted():
		return "Trusted since " + stamp(s.Grant.At) + "."
	case s.Grant != nil:
		return "It has changed since it was trusted, " + stamp(s.Grant.At) + ", and does not run" + how + "."
	}
	return "It is not trusted and does not run" + how + "."
}

func loopText(s *heartbeat.Status) string {
	if s.Alive {
		return "Its heartbeat beats: a gateway runs it."
	}
	return "No gateway runs it now."
}

// lineSubjects are what the lines would run now, by Job.ID; without those of which
// that can't be said, because they are not allowed, say.
func lineSubjects(s *heartbeat.Status) map[string]subject.Subject {
	f := serve.DefaultFlags()
	_ = f.Configure() // the command config reports what can't be used
	h := f.Projects(os.Environ())(s.Workspace)
	all := map[string]subject.Subject{}
	for _, j := range s.Jobs {
		if is, err := serve.LineSubject(context.Background(), h, j.Command); err == nil {
			all[j.ID] = is
		}
	}
	return all
}

// changedLines says of the lines of a trusted file which run something else than
// when it was trusted, by Job.ID.
func changedLines(s *heartbeat.Status, commands map[string]subject.Subject) map[string]string {
	changed := map[string]string{}
	if !s.Trusted() {
		return changed
	}
	for _, j := range s.Jobs {
		is, known := commands[j.ID]
		if !known {
			continue // verdict says that the file is not trusted
		}
		if why := s.Grant.Changed(j.Job, is); why != "" {
			changed[j.ID] = why
		}
	}
	return changed
}

// printJobs prints each line, when it is due, and what the allow-list says to it
// today; with runs, what is known of the last one, too.
func printJobs(out io.Writer, s *heartbeat.Status, commands map[string]subject.Subject, runs bool) {
	if len(s.Jobs) == 0 {
		return
	}
	f := serve.DefaultFlags()
	_ = f.Configure() // the command config reports what can't be used
	allow := f.Projects(os.Environ())(s.Workspace).AllowList()
	if allow.Problem != nil {
		fmt.Fprintf(out, "The manifest is not in use: %v\n\n", allow.Problem)
	}
	changed := changedLines(s, commands)
	for _, j := range s.Jobs {
		fmt.Fprintf(out, "line %d: %s\n", j.Line, console.Printable(j.Command))
		fmt.Fprintf(out, "  %s; %s\n", j.Schedule, nextText(s, j))
		fmt.Fprintf(out, "  %s\n", verdict(allow.Registry, j.Command))
		if is, known := commands[j.ID]; known {
			fmt.Fprintf(out, "  runs %s (digest %s)\n", console.Printable(strings.Join(is.Steps[:min(len(is.Steps), maxShown)], "; ")), subject.Short(is.Digest()))
		}
		if why := changed[j.ID]; why != "" {
			fmt.Fprintf(out, "  DOES NOT RUN until it is trusted again: %s\n", console.OneLine(why))
		}
		if runs {
			fmt.Fprintf(out, "  %s\n", lastText(j))
		}
		fmt.Fprintln(out)
	}
}

// maxShown bounds the steps of an Op that are shown with a line.
const maxShown = 20

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func nextText(s *heartbeat.Status, j heartbeat.JobStatus) string {
	switch {
	case j.Next.IsZero():
		return "never due"
	case !s.Trusted():
		return "once trusted, due " + stamp(j.Next)
	case j.Missed > 0 && j.Schedule.SkipMissed:
		return "due " + stamp(j.Next) + "; " + missedText(j) + ", and left out"
	case j.Missed > 0:
		return missedText(j) + ", and runs once when a gateway does"
	case j.Next.Before(time.Now()) && !s.Alive:
		return "due since " + stamp(j.Next) + ", and runs once when a gateway does"
	}
	return "due " + stamp(j.Next)
}

// missedText says what came and went while no gateway ran.
func missedText(j heartbeat.JobStatus) string {
	more := ""
	if j.Missed == heartbeat.MaxMissed {
		more = " or more"
	}
	return fmt.Sprintf("missed %s%s since %s, when no gateway ran", brief.Plural(j.Missed, "run"), more, stamp(j.MissedSince))
}

// verdict says whether the allow-list takes a line.
func verdict(r *command.Registry, line string) string {
	o := command.ParseOptions{NoPerson: "HEARTBEAT.md is not one"}
	words, err := r.Split(line, o)
	var inv *command.Invocation
	if err == nil {
		inv, err = r.Parse(words, o)
	}
	var refusal *command.Refusal
	switch {
	case errors.As(err, &refusal):
		return "NOT ALLOWED: " + console.OneLine(refusal.Reason)
	case err != nil:
		return "NOT ALLOWED: " + err.Error()
	case inv.Decides():
		return "NOT ALLOWED: " + inv.Name + " is a person's to type"
	}
	if inv.Confirm != command.ConfirmNone {
		return fmt.Sprintf("NOT ALLOWED: a person has to confirm it each time (confirm: %s)", inv.Confirm)
	}
	return fmt.Sprintf("allowed: %s, effect %s", inv.Kind, inv.Effect)
}

func lastText(j heartbeat.JobStatus) string {
	if j.Last == nil {
		return "has not run yet"
	}
	text := fmt.Sprintf("last run %s: %s", stamp(j.Last.Started), j.Last.State)
	switch {
	case j.Last.Open() && j.Last.State == heartbeat.Waiting:
		text += " for a person, and counts as running until that is settled"
	case j.Last.State == heartbeat.Interrupted && j.Last.Ended.IsZero(): // a crash: nobody saw when
	case !j.Last.Ended.IsZero():
		text += fmt.Sprintf(" after %s", j.Last.Ended.Sub(j.Last.Started).Round(time.Millisecond))
	}
	if j.Last.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *j.Last.ExitCode)
	}
	if j.Last.Text != "" {
		text += " (" + console.OneLine(j.Last.Text) + ")"
	}
	if j.Skipped > 0 {
		text += fmt.Sprintf("; %s skipped since", brief.Plural(j.Skipped, "tick"))
	}
	return text
}
