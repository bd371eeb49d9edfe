package sessionscmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/console/consoletest"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// keeps is a state folder with sessions.
func keeps(t *testing.T, ids ...string) (state string) {
	t.Helper()
	state = t.TempDir()
	t.Setenv("CHANT_ACP_STATE", state)
	s := thread.New(state)
	for _, id := range ids {
		if err := s.Create(context.Background(), agent.SessionRecord{ID: id, Cwd: "/shop", Title: "plan " + id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestSessions(t *testing.T) {
	keeps(t, "sess_one", "sess_two")
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"list"}, console.OK, "plan sess_one", ""},
		{[]string{"list", "--json"}, console.OK, `"sess_two"`, ""},
		{[]string{"list", "--cwd", "/elsewhere"}, console.OK, "", ""},
		{[]string{"export", "sess_o"}, console.OK, "id: sess_one\n", ""},
		{[]string{"show", "--json", "sess_t"}, console.OK, `"sess_two"`, ""},
		{[]string{"show", "sess_"}, console.Failed, "", "is the beginning of 2 sessions"},
		{[]string{"delete", "sess_o", "sess_x"}, console.Failed, "", `there is no session "sess_x"`},
		{[]string{"delete", "sess_o"}, console.OK, "sess_one\n", ""},
		{[]string{"show", "sess_o"}, console.Failed, "", "there is no session"},
		{[]string{"prune", "--keep", "-1"}, console.Usage, "", "what is not below 0"},
		{[]string{"prune", "--older-than", "1ns", "--dry-run"}, console.OK, "sess_two\n", "would be removed: 1 session, 0 logs"},
		{[]string{"prune", "--older-than", "1ns"}, console.OK, "sess_two\n", "removed: 1 session"},
	} {
		r := consoletest.Run(t, New, c.args...)
		if r.Code != c.code || !strings.Contains(r.Out, c.out) || !strings.Contains(r.Err, c.err) {
			t.Errorf("sessions %q: %+v", c.args, r)
		}
	}
}

// What can't be read is named, can't be opened, and can be deleted.
func TestUnreadable(t *testing.T) {
	file := filepath.Join(keeps(t, "sess_one"), "sessions", "sess_one.jsonl")
	for name, damage := range map[string]struct{ content, says string }{
		"garbage":         {"no thread at all\n", file},
		"a newer version": {`{"format":"chant-acp/thread","version":99,"session":{}}` + "\n", "update chant-acp"},
	} {
		if err := os.WriteFile(file, []byte(damage.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"show", "--json", "sess_one"}, {"export", "sess_one"}} {
			if r := consoletest.Run(t, New, args...); r.Code != console.Failed || !strings.Contains(r.Err, damage.says) {
				t.Errorf("%s: %q: %+v", name, args, r)
			}
		}
		if r := consoletest.Run(t, New, "show", "sess_one"); r.Code != console.Failed || !strings.Contains(r.Err, "sess_one") {
			t.Errorf("%s: show: %+v", name, r)
		}
	}
	if r := consoletest.Run(t, New, "delete", "sess_one"); r.Code != console.OK {
		t.Errorf("delete: %+v", r)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the thread is still there: %v", err)
	}
}
