package pause_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host/pause"
)

func store(t *testing.T) *pause.Store {
	t.Helper()
	return pause.New(filepath.Join(t.TempDir(), "state"))
}

func TestNames(t *testing.T) {
	s := store(t)
	for name, ok := range map[string]bool{
		"a": true, "_x": true, "9": true, "A.b-c_d": true, "a..b": true,
		"": false, ".hidden": false, "-x": false, "a/b": false, "../x": false, "a b": false, "ä": false, "a\n": false,
	} {
		err := s.SaveCheckpoint(name, 1)
		var bad *pause.NameError
		if ok != (err == nil) || !ok && !errors.As(err, &bad) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{s.SaveCheckpoint("a b", 1), `checkpoint name must match ^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$ (got "a b")`},
		{s.SaveAgent("", 1), `agent name must match ^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$ (got "")`},
		{s.SaveRuntime("/", 1), `runtime name must match ^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$ (got "/")`},
		{s.SavePause(pause.Record{PauseID: "-"}), `pause name must match ^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$ (got "-")`},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
}

func TestFilesAreWhereTheContractSays(t *testing.T) {
	s := store(t)
	for _, err := range []error{
		s.SaveAgent("a", map[string]int{"n": 1}), s.SaveRuntime("r", "blob"), s.SaveCheckpoint("c", nil),
		s.SavePause(pause.Record{PauseID: "p", Request: json.RawMessage(`{ "kind": "custom" }`)}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"agent-a.json": `{"n":1}`, "runtime-r.json": `"blob"`, "checkpoints/c.json": `null`,
		"pauses/p.json": `{"pauseId":"p","request":{"kind":"custom"}}`,
	} {
		path := filepath.Join(s.Root(), name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}

func TestPresence(t *testing.T) {
	s := store(t)
	if _, found, err := s.Checkpoint("c"); found || err != nil {
		t.Errorf("missing: %t, %v", found, err)
	}
	if err := s.SaveCheckpoint("c", nil); err != nil {
		t.Fatal(err)
	}
	if v, found, err := s.Checkpoint("c"); !found || err != nil || string(v) != "null" {
		t.Errorf("null: %s, %t, %v", v, found, err)
	}
	if _, found, err := s.Pause("p"); found || err != nil {
		t.Errorf("no pause: %t, %v", found, err)
	}
	if err := s.SaveCheckpoint("c", make(chan int)); err == nil || !strings.Contains(err.Error(), "pause state values must be JSON-serialisable") {
		t.Errorf("what is no JSON: %v", err)
	}
	if v, _, _ := s.Checkpoint("c"); string(v) != "null" {
		t.Errorf("and the old value is %s", v)
	}
}

func TestResetTouchesItsFolderOnly(t *testing.T) {
	s := store(t)
	if err := s.Reset(); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	beside := s.Root() + "-beside"
	for _, dir := range []string{beside, s.Root()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(pause.StateVar, beside)
	if err := os.Symlink(beside, filepath.Join(s.Root(), "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(beside, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveCheckpoint("c", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Root()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(beside, "kept")); err != nil {
		t.Error(err)
	}
}

func TestRecords(t *testing.T) {
	for _, c := range []struct{ text, problem string }{
		{`{"pauseId":"p","request":{}}`, ""},
		{`{"pauseId":"p","request":null}`, ""},
		{`{"pauseId":"p","request":1,"resolved":false}`, ""},
		{`{"resolved":true,"expired":false,"resumePayload":null}`, ""},
		{`{"pauseId":"p","request":{},"resolved":true,"expired":true,"resumePayload":{"a":1}}`, ""},
		{`[]`, "expected object"},
		{`null`, "expected object"},
		{`"p"`, "expected object"},
		{`{"pauseId":"q","request":{}}`, "pauseId mismatch"},
		{`{"pauseId":1,"request":{}}`, "pauseId mismatch"},
		{`{"pauseId":null,"request":{}}`, "pauseId mismatch"},
		{`{"pauseId":"q","resolved":true,"expired":false,"resumePayload":1}`, "pauseId mismatch"},
		{`{"resolved":true,"resumePayload":1}`, "resolved records require boolean expired"},
		{`{"resolved":true,"expired":0,"resumePayload":1}`, "resolved records require boolean expired"},
		{`{"resolved":true,"expired":null,"resumePayload":1}`, "resolved records require boolean expired"},
		{`{"resolved":true,"expired":false}`, "resolved records require resumePayload"},
		{`{"request":{}}`, "unresolved records require matching pauseId"},
		{`{"pauseId":"p"}`, "unresolved records require request"},
		{`{"pauseId":"p","request":{},"resolved":1}`, "resolved must be true, false, or absent"},
		{`{"pauseId":"p","request":{},"resolved":null}`, "resolved must be true, false, or absent"},
		{`{"pauseId":"p","request":{},"expired":false}`, "unresolved records must not include resolution fields"},
		{`{"pauseId":"p","request":{},"resolved":false,"resumePayload":null}`, "unresolved records must not include resolution fields"},
	} {
		r, err := pause.ParseRecord("p", []byte(c.text))
		if c.problem == "" {
			if err != nil || r.PauseID != "p" || r.Request == nil {
				t.Errorf("%s: %+v, %v", c.text, r, err)
			}
			continue
		}
		if want := "pause record p is malformed: " + c.problem; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", c.text, err, want)
		}
	}
}

func TestWritesAreChecked(t *testing.T) {
	s := store(t)
	for _, r := range []pause.Record{
		{PauseID: "p"},
		{PauseID: "p", Request: json.RawMessage("{}"), Payload: json.RawMessage("1")},
		{PauseID: "p", Request: json.RawMessage("{}"), Resolved: true},
	} {
		var bad *pause.MalformedError
		if err := s.SavePause(r); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, found, _ := s.Pause("p"); found {
		t.Error("something was written")
	}
}

func TestACorruptRecordIsKeptAside(t *testing.T) {
	s := store(t)
	if err := s.SavePause(pause.Record{PauseID: "p", Request: json.RawMessage("{}")}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Root(), "pauses", "p.json")
	for _, text := range []string{"", "{", "\x00\x00", `{"pauseId":"other","request":{}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, look := range []func() error{
			func() error { _, _, err := s.Pause("p"); return err },
			func() error { _, _, err := s.Look(t.Context(), "p", time.Now()); return err },
			func() error { _, err := s.Resolve(t.Context(), "p", time.Now(), accept("1")); return err },
		} {
			var corrupt *pause.CorruptError
			if err := look(); !errors.As(err, &corrupt) || corrupt.Path != path {
				t.Errorf("%q: %v", text, err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

func accept(payload string) func(pause.Request) (json.RawMessage, error) {
	return func(q pause.Request) (json.RawMessage, error) {
		return json.RawMessage(payload), q.Meets(json.RawMessage(payload))
	}
}

func TestTheFirstAnswerCounts(t *testing.T) {
	s := store(t)
	now := time.Now()
	if _, err := s.Resolve(t.Context(), "p", now, accept("1")); !errors.Is(err, pause.ErrNoPause) {
		t.Fatalf("nothing waits: %v", err)
	}
	if _, err := s.Ask(t.Context(), "p", pause.Decision("why", nil, time.Hour), now); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	won := make(chan string, 20)
	for i := range 20 {
		all.Go(func() {
			mine := string(rune('0' + i%10))
			r, err := pause.New(s.Root()).Resolve(t.Context(), "p", now, accept(mine))
			var second *pause.ResolvedError
			if err == nil {
				won <- string(r.Payload)
			} else if !errors.As(err, &second) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(won)
	var winners []string
	for w := range won {
		winners = append(winners, w)
	}
	r, found, err := s.Pause("p")
	if err != nil || !found || len(winners) != 1 || string(r.Payload) != winners[0] {
		t.Errorf("winners %q, kept %s, %v", winners, r.Payload, err)
	}
	if _, err := s.Resolve(t.Context(), "p", now, accept("1")); err == nil {
		t.Error("a later answer was taken")
	}
}

// A record that is there before the question is no answer to it.
func TestAskingTrustsNothingThatWasThere(t *testing.T) {
	s := store(t)
	now := time.Now()
	forged := pause.Record{PauseID: "p", Request: json.RawMessage("{}"), Resolved: true, Payload: json.RawMessage(`{"optionId":"approve"}`)}
	if err := s.SavePause(forged); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Root(), "pauses", "p.json")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		aside, err := s.Ask(t.Context(), "p", pause.Decision("why", nil, 0), now)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(aside); err != nil || string(got) != string(want) {
			t.Errorf("%s holds %s, %v", aside, got, err)
		}
		if r, found, err := s.Pause("p"); err != nil || !found || r.Resolved {
			t.Errorf("asked: %+v, %v", r, err)
		}
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil { // nor is one that can't be read
			t.Fatal(err)
		}
		want = []byte("{")
	}
	if aside, err := s.Ask(t.Context(), "q", pause.Sleep(1), now); err != nil || aside != "" {
		t.Errorf("the first of its name: %q, %v", aside, err)
	}
}

func TestTimeRunsOut(t *testing.T) {
	s := store(t)
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if _, err := s.Ask(t.Context(), "p", pause.Decision("why", nil, time.Hour), began); err != nil {
		t.Fatal(err)
	}
	if r, _, err := s.Look(t.Context(), "p", began.Add(time.Hour-1)); err != nil || r.Resolved {
		t.Errorf("in time: %+v, %v", r, err)
	}
	var late *pause.ExpiredError
	if _, err := s.Resolve(t.Context(), "p", began.Add(time.Hour), accept("1")); !errors.As(err, &late) || !strings.Contains(late.Error(), "2026-01-02T04:04:05Z") {
		t.Errorf("late: %v", err)
	}
	if _, err := s.Resolve(t.Context(), "p", began, accept("1")); !errors.As(err, &late) {
		t.Errorf("once it was seen it stays: %v", err)
	}
	r, _, err := s.Look(t.Context(), "p", began)
	if err != nil || !r.Resolved || !r.Expired || string(r.Payload) != "null" {
		t.Errorf("kept: %+v, %v", r, err)
	}
	if _, err := s.Ask(t.Context(), "q", pause.Sleep(time.Second), began); err != nil {
		t.Fatal(err)
	}
	if r, _, err := s.Look(t.Context(), "q", began.Add(time.Minute)); err != nil || !r.Expired {
		t.Errorf("looked at late: %+v, %v", r, err)
	}
}

func TestAnswersMeetTheSchema(t *testing.T) {
	s := store(t)
	schema := json.RawMessage(`{"type":"object","required":["version"],"properties":{"version":{"type":"string","pattern":"^v[0-9]+$"}},"additionalProperties":false}`)
	if err := pause.CheckSchema(schema); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context(), "p", pause.Decision("why", schema, 0), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{}`, `null`, `{"version":1}`, `{"version":"1"}`, `{"version":"v1","x":1}`, `{`} {
		var answer *pause.AnswerError
		if _, err := s.Resolve(t.Context(), "p", time.Now(), accept(bad)); !errors.As(err, &answer) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if r, _, _ := s.Pause("p"); r.Resolved {
		t.Error("a bad answer was kept")
	}
	if r, err := s.Resolve(t.Context(), "p", time.Now(), accept(`{"version":"v12"}`)); err != nil || string(r.Payload) != `{"version":"v12"}` {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{`{`, `{"type":1}`, `{"$ref":"#/$defs/none"}`, `{"$ref":"https://example.com/s.json"}`} {
		if pause.CheckSchema(json.RawMessage(bad)) == nil {
			t.Errorf("the schema %s can be used", bad)
		}
	}
}

func TestRequestsAsTheyAreWritten(t *testing.T) {
	event, err := pause.Event("r", "k", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pause.Event("r", "", nil, 0); err == nil {
		t.Error("an event without a key")
	}
	for _, c := range []struct {
		q    pause.Request
		want string
	}{
		{pause.Decision("r", nil, 0), `{"kind":"decision","reason":"r","schema":true}`},
		{pause.Decision("r", json.RawMessage(`{"type":"string"}`), time.Second), `{"kind":"decision","reason":"r","schema":{"type":"string"},"ttlMs":1000}`},
		{pause.Sleep(5 * time.Second), `{"kind":"sleep","reason":"sleep 5000ms","ttlMs":5000,"snapshot":false,"onExpiry":{"mode":"resolve"}}`},
		{event, `{"kind":"event","reason":"r","correlationKey":"k"}`},
	} {
		got, err := json.Marshal(c.q)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}
