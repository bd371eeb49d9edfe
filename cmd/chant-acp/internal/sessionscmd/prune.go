package sessionscmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

func newPrune(std console.Streams) *cobra.Command {
	o := thread.PruneOptions{OlderThan: 30 * 24 * time.Hour, Keep: 10_000, MaxBytes: 4 << 30}
	c := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Remove old sessions and logs",
		Long: `Prune removes the sessions that one of its limits leaves out, with the logs of
their commands, and logs as old that belong to no session. A session whose
command runs stays, and so does one that can't be read: it is named, and prune
then exits with 1. Nothing else ever removes a session by itself.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if o.OlderThan < 0 || o.Keep < 0 || o.MaxBytes < 0 {
				return errors.New("--older-than, --keep and --max-bytes take what is not below 0")
			}
			return withKept(func(k kept) error { return prune(std, k, o) })
		},
	}
	c.Flags().DurationVar(&o.OlderThan, "older-than", o.OlderThan, "remove what has not changed for this long (0: no limit)")
	c.Flags().IntVar(&o.Keep, "keep", o.Keep, "keep the newest so many sessions (0: no limit)")
	c.Flags().Int64Var(&o.MaxBytes, "max-bytes", o.MaxBytes, "keep the newest sessions whose threads have together so many bytes (0: no limit)")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "only print what would be removed")
	return c
}

func prune(std console.Streams, k kept, o thread.PruneOptions) error {
	ctx := context.Background()
	calls := map[string][]string{}
	logs := 0
	o.Event = func(id string, e agent.Event) {
		if e.Kind == thread.EventCall {
			calls[id] = append(calls[id], e.CallID)
		}
	}
	o.Removed = func(id string) error {
		n, err := k.removeLogs(calls[id])
		logs += n
		return err
	}
	removed, err := k.Prune(ctx, o)
	for _, id := range removed {
		fmt.Fprintln(std.Out, id)
	}
	if o.DryRun {
		for _, id := range removed {
			logs += len(k.logsOf(calls[id]))
		}
	}
	strays, serr := k.strayLogs(ctx, o, calls)
	errs := []error{err, serr}
	for _, path := range strays {
		if o.DryRun {
			logs++
		} else if err := os.Remove(path); err == nil {
			logs++
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing an old log: %w", err))
		}
	}
	verb := "removed"
	if o.DryRun {
		verb = "would be removed"
	}
	fmt.Fprintf(std.Err, "%s: %s, %s\n", verb, brief.Plural(len(removed), "session"), brief.Plural(logs, "log"))
	return errors.Join(errs...)
}

// calls are the ids of a session's tool calls, which their logs are named by.
func (k kept) calls(ctx context.Context, id string) ([]string, error) {
	var ids []string
	_, err := k.Read(ctx, id, 0, func(e agent.Event) error {
		ids = append(ids, e.CallID)
		return nil
	}, thread.EventCall)
	return ids, err
}

const logExt = ".log"

// logsOf are the logs of calls that are there.
func (k kept) logsOf(calls []string) []string {
	var paths []string
	for _, id := range calls {
		if id == "" || filepath.Base(id) != id { // a thread may hold anything
			continue
		}
		path := filepath.Join(k.logs, id+logExt)
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}

func (k kept) removeLogs(calls []string) (removed int, err error) {
	var errs []error
	for _, path := range k.logsOf(calls) {
		if err := os.Remove(path); err == nil {
			removed++
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing a log: %w", err))
		}
	}
	return removed, errors.Join(errs...)
}

// strayLogs are the logs that are old enough to go and belong to no session.
// known are calls of sessions that are gone, or would be. Where a thread can't
// be read, nobody knows which logs are its own, and all stay.
func (k kept) strayLogs(ctx context.Context, o thread.PruneOptions, known map[string][]string) ([]string, error) {
	entries, err := os.ReadDir(k.logs)
	if errors.Is(err, fs.ErrNotExist) || o.OlderThan == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for old logs: %w", err)
	}
	before := time.Now().Add(-o.OlderThan)
	old := map[string]string{}
	for _, e := range entries {
		id, isLog := strings.CutSuffix(e.Name(), logExt)
		st, err := e.Info()
		if isLog && err == nil && st.Mode().IsRegular() && st.ModTime().Before(before) {
			old[id] = filepath.Join(k.logs, e.Name())
		}
	}
	for _, calls := range known {
		for _, id := range calls {
			delete(old, id)
		}
	}
	if len(old) == 0 {
		return nil, nil
	}
	if err := k.withoutOwn(ctx, old); err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(old))
	for _, path := range old {
		paths = append(paths, path)
	}
	return paths, nil
}

// withoutOwn takes the logs of sessions out of logs by id.
func (k kept) withoutOwn(ctx context.Context, logs map[string]string) error {
	threads, err := os.ReadDir(filepath.Join(filepath.Dir(k.logs), "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for old logs: %w", err)
	}
	for _, t := range threads {
		id, isThread := strings.CutSuffix(t.Name(), ".jsonl")
		if !isThread || strings.HasPrefix(id, ".") {
			continue
		}
		calls, err := k.calls(ctx, id)
		if errors.Is(err, agent.ErrUnknownSession) {
			continue // removed meanwhile
		}
		if err != nil {
			return fmt.Errorf("logs that belong to no session were left, because the session %s can't be read: %w", id, err)
		}
		for _, call := range calls {
			delete(logs, call)
		}
	}
	return nil
}
