package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

type sample struct {
	Name string            `json:"name"`
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env"`
	Cols uint16            `json:"cols"`
	Rows int               `json:"rows"`
	Wait *bool             `json:"wait"`
}

func TestDecode(t *testing.T) {
	wide := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, c := range []struct {
		body    string
		kind    string // "" where it is taken
		pointer string
		line    int
		column  int
	}{
		{`{}`, "", "", 0, 0},
		{` {"name":"a","argv":["b"],"env":{"c":"d"},"cols":1,"wait":true} `, "", "", 0, 0},
		{`{"name":null}`, "", "", 0, 0},
		{``, "bad-request", "", 1, 1},
		{`{`, "bad-request", "", 1, 1},
		{`{"name":"a"} {}`, "bad-request", "", 1, 14},
		{`{"name":"a"}x`, "bad-request", "", 1, 13},
		{"{\"name\":\n\"a\",}", "bad-request", "", 2, 5},
		{"{\"name\":\"\xff\"}", "bad-request", "", 0, 0},
		{`[]`, "invalid", "", 1, 1},
		{`"a"`, "invalid", "", 1, 1},
		{`null`, "invalid", "", 1, 1},
		{`{"nam":"a"}`, "invalid", "/nam", 1, 6},
		{`{"Name":"a"}`, "invalid", "/Name", 1, 7},
		{`{"name":"a","name":"b"}`, "invalid", "/name", 1, 18},
		{`{"env":{"A":"1","B":"2","A":"3"}}`, "invalid", "/env/A", 1, 27},
		{`{"env":{"a/b~":"1","a/b~":"3"}}`, "invalid", "/env/a~1b~0", 1, 25},
		{`{"name":1}`, "invalid", "/name", 1, 9},
		{`{"cols":-1}`, "invalid", "/cols", 0, 0},
		{`{"cols":70000}`, "invalid", "/cols", 0, 0},
		{`{"rows":1.5}`, "invalid", "/rows", 0, 0},
		{`{"wait":"yes"}`, "invalid", "/wait", 0, 0},
		{`{"argv":"a b"}`, "invalid", "/argv", 0, 0},
		{`{"argv":` + wide + `}`, "invalid", "", 0, 0},
	} {
		err := decode([]byte(c.body), &sample{})
		if c.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		var p *Problem
		if !errors.As(err, &p) {
			t.Errorf("%s: %v, want a problem", c.body, err)
			continue
		}
		if p.Type != c.kind || c.pointer != "" && p.Extra["pointer"] != c.pointer || p.Detail == "" {
			t.Errorf("%s: %+v, want %s at %s", c.body, p, c.kind, c.pointer)
		}
		if c.line != 0 && (p.Extra["line"] != c.line || p.Extra["column"] != c.column) {
			t.Errorf("%s: %v:%v, want %d:%d", c.body, p.Extra["line"], p.Extra["column"], c.line, c.column)
		}
	}
}

// FuzzDecode: what is taken is what encoding/json makes of it, and has nothing
// that it would have dropped.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"name":"a","argv":["b"]}`, `{"name":1}`, `{"env":{"a":"b","a":"c"}}`, `[[[]]]`, "\xff", `{"a\u0000":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got sample
		err := decode(raw, &got)
		var p *Problem
		if err != nil && !errors.As(err, &p) {
			t.Fatalf("%q: %v is no problem document", raw, err)
		}
		if err != nil {
			return
		}
		var want sample
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, and encoding/json: %+v %v", raw, got, want, err)
		}
	})
}

func TestReadBody(t *testing.T) {
	for _, c := range []struct {
		media, body string
		status      int
	}{
		{"application/json", `{}`, 0},
		{"application/json; charset=UTF-8", `{}`, 0},
		{"", ``, 0},
		{"", `{}`, http.StatusUnsupportedMediaType},
		{"text/plain", `{}`, http.StatusUnsupportedMediaType},
		{"application/x-www-form-urlencoded", `{}`, http.StatusUnsupportedMediaType},
		{"application/json; charset=latin1", `{}`, http.StatusUnsupportedMediaType},
		{"application/json", ``, 0},
		{"application/x-www-form-urlencoded", ``, 0},
		{"application/json", ` `, http.StatusBadRequest},
		{"application/json", `{"name":"` + strings.Repeat("a", maxBody) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		for _, known := range []bool{true, false} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
			if r.Header.Set("Content-Type", c.media); c.media == "" {
				r.Header.Del("Content-Type")
			}
			if !known {
				r.ContentLength = -1
			}
			err := readBody(httptest.NewRecorder(), r, &sample{})
			var p *Problem
			if errors.As(err, &p); c.status == 0 && err != nil || c.status != 0 && (p == nil || p.Status != c.status) {
				t.Errorf("%s, %d bytes: %v, want %d", c.media, len(c.body), err, c.status)
			}
		}
	}
}

// TestProblemsAreExplained: the type of a problem is an address in the documents.
func TestProblemsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`= kind\{"([a-z-]+)", "[^"]+", http\.Status(\w+)\}`).FindAllSubmatch(source, -1)
	if len(kinds) < 10 {
		t.Fatalf("only %d types were found", len(kinds))
	}
	for _, k := range kinds {
		if !strings.Contains(string(page), "\n### "+string(k[1])+"\n") {
			t.Errorf("docs/gateway.md does not explain %s", k[1])
		}
	}
}

func TestProblemsAreDocuments(t *testing.T) {
	w := httptest.NewRecorder()
	writeProblem(w, conflict.problem("so %d", 1).with("bad", func() {}))
	a := answer{w.Code, w.Header(), w.Body.String()}
	wantProblem(t, a, http.StatusConflict, "conflict")
	if got := fmt.Sprint(invalid.problem("that is %s", "it")); got != "that is it" {
		t.Error(got)
	}
}
