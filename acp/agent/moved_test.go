package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// A session that is live goes with its folder: to where it is opened again, by
// this client or by another process.
func TestLiveSessionMoves(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		for _, method := range []string{"session/load", "session/resume"} {
			t.Run(method, func(t *testing.T) {
				root, h, top := t.TempDir(), newStub(t), t.TempDir()
				old, now := filepath.Join(top, "old"), filepath.Join(top, "new")
				for _, dir := range []string{old, now} {
					if err := os.Mkdir(dir, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				var dirs []string // where turns ran; read once they are over
				s := setup{options: agent.Options{TurnsWanted: func(dir string) bool {
					dirs = append(dirs, dir)
					return false
				}, TurnEnded: func(agent.SessionRecord, []agent.Event) {}}}
				w := process(t, root, h, s)
				var r acp.NewSessionResponse
				w.result(w.request("session/new", acp.NewSessionRequest{Cwd: old, McpServers: []acp.McpServer{}}), &r)
				id := r.SessionID
				w.prompt(id, "ok 1")
				if err := os.Remove(old); err != nil {
					t.Fatal(err)
				}
				opens := w
				if elsewhere {
					opens = process(t, root, h, setup{})
				}
				opens.result(opens.request(method, acp.LoadSessionRequest{SessionID: id, Cwd: now, McpServers: []acp.McpServer{}}), &struct{}{})
				w.prompt(id, "ok 2")
				w.answer(w.setOption(id, "output", "full"))
				w.prompt(id, "history")
				if !slices.Equal(dirs, []string{old, now, now}) {
					t.Errorf("turns ran in %q", dirs)
				}
				if got, err := disk(t, root).Get(context.Background(), id); err != nil || got.Cwd != now || got.Options["output"] != "full" {
					t.Errorf("%+v %v, want it in %s", got, err, now)
				}
			})
		}
	}
}

// What one process changes of a session does not take it back from where another
// has opened it.
func TestOptionKeepsFolder(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	w := process(t, root, h, setup{})
	id := w.newSession()
	store := disk(t, root)
	rec, err := store.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	rec.Cwd = t.TempDir()
	if err := store.Update(context.Background(), rec); err != nil {
		t.Fatal(err)
	}
	w.answer(w.setOption(id, "output", "full"))
	if got, err := store.Get(context.Background(), id); err != nil || got.Cwd != rec.Cwd || got.Options["output"] != "full" {
		t.Errorf("%+v %v", got, err)
	}
}

// A turn that is given up when the agent leaves is told of as it was shown, once.
func TestGivenUpTurnIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newStub(t)
		h.program("slow", func(r *stubRun) host.Result {
			r.print("begun\n")
			time.Sleep(time.Hour)
			r.print("too late\n")
			return host.Result{}
		})
		var told [][]agent.Event // TurnEnded is called by one at a time, for one session
		w := dial(t, setup{host: h, options: agent.Options{Store: disk(t, t.TempDir()), TurnEnded: func(_ agent.SessionRecord, turn []agent.Event) {
			told = append(told, turn)
		}}})
		w.begin(w.newSession(), "slow")
		w.begun()
		w.in.Close()
		if err := w.within(budget); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour) // what never ends does end with the process
		synctest.Wait()
		if len(told) != 1 {
			t.Fatalf("told of %d turns, want 1", len(told))
		}
		turn := told[0]
		last := turn[len(turn)-1]
		if turn[0].Kind != agent.EventPrompt || last.Kind != agent.EventEnd || last.End.State != "interrupted" {
			t.Errorf("it begins with %+v and ends with %+v", turn[0], last)
		}
		if !slices.ContainsFunc(turn, func(e agent.Event) bool { return strings.Contains(e.Text, "begun") }) {
			t.Error("what was shown is missing")
		}
	})
}
