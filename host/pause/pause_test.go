package pause_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

// What is published is there for others to read, and what stood in its place and
// is something else is kept.
func TestPublish(t *testing.T) {
	s := store(t)
	path := filepath.Join(s.Root(), "pauses", "p.json")
	asked := pause.Record{PauseID: "p", Request: json.RawMessage(`{"kind":"decision","reason":"why"}`)}
	decided := asked
	decided.Resolved, decided.Payload = true, json.RawMessage(`{"optionId":"reject"}`)
	forged := decided
	forged.Payload = json.RawMessage(`{"optionId":"approve"}`)
	other := asked
	other.Request = json.RawMessage(`{"kind":"decision","reason":"why not"}`)
	publish := func(r pause.Record) string {
		t.Helper()
		aside, err := s.Publish(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, found, err := s.Pause("p"); err != nil || !found || !reflect.DeepEqual(got, r) {
			t.Errorf("there is %+v, %v, want %+v", got, err, r)
		}
		return aside
	}
	for _, r := range []pause.Record{asked, asked, decided, decided} { // as it goes
		if aside := publish(r); aside != "" {
			t.Errorf("%s was set aside", aside)
		}
	}
	for _, was := range []pause.Record{forged, other} {
		for _, r := range []pause.Record{asked, decided} {
			if err := s.SavePause(was); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(publish(r)); err != nil || string(got) != string(want) {
				t.Errorf("%s is kept, %v, want %s", got, err, want)
			}
		}
	}
	for name, put := range map[string]func() error{
		"damaged":  func() error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a link":   func() error { return os.Symlink("/etc/passwd", path) },
		"a folder": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := s.Withdraw("p"); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if aside := publish(asked); !strings.HasPrefix(aside, path+".corrupt-") {
			t.Errorf("%s: kept as %q", name, aside)
		}
	}
	for range 2 {
		if err := s.Withdraw("p"); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.Pause("p"); found || err != nil {
			t.Errorf("it is still there: %v", err)
		}
	}
}

func TestDeadlines(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := pause.Decision("why", nil, time.Hour)
	if _, ok := q.Deadline(); ok {
		t.Error("what was not asked yet has no deadline")
	}
	q.CreatedAt = began
	if at, ok := q.Deadline(); !ok || !at.Equal(began.Add(time.Hour)) {
		t.Errorf("%v, %t", at, ok)
	}
	q.TTLMs = 0
	if _, ok := q.Deadline(); ok {
		t.Error("what waits for ever has a deadline")
	}
}

func TestAnswersMeetTheSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["version"],"properties":{"version":{"type":"string","pattern":"^v[0-9]+$"}},"additionalProperties":false}`)
	if err := pause.CheckSchema(schema); err != nil {
		t.Fatal(err)
	}
	q := pause.Decision("why", schema, 0)
	for _, bad := range []string{`{}`, `null`, `{"version":1}`, `{"version":"1"}`, `{"version":"v1","x":1}`, `{`} {
		var answer *pause.AnswerError
		if err := q.Meets(json.RawMessage(bad)); !errors.As(err, &answer) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := q.Meets(json.RawMessage(`{"version":"v12"}`)); err != nil {
		t.Error(err)
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
