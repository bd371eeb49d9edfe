package command

import (
	"reflect"
	"testing"
)

func TestOpLines(t *testing.T) {
	r := sample(t, "")
	for line, want := range map[string]OpLine{
		"run hello": {Op: "hello"},
		"run hello --env dev --param a=1 --param=b=x=y --no-depends": {Op: "hello", Env: "dev", Params: map[string]string{"a": "1", "b": "x=y"}, NoDepends: true},
		"run hello --param a=":                   {Op: "hello", Params: map[string]string{"a": ""}},
		"run --run r1 hello --resume":            {Op: "hello", Run: "r1", Resume: true},
		"run hello --restart":                    {Op: "hello", Restart: true},
		"run -- --odd":                           {Op: "--odd"},
		"run hello --context ticket=7":           {Op: "hello", Context: map[string]string{"ticket": "7"}},
		"run list":                               {},
		"run list hello --open":                  {Op: "hello", Open: true},
		"run status --run r1":                    {Run: "r1"},
		"run log hello --follow":                 {Op: "hello", Follow: true},
		"run cancel --run=r1":                    {Run: "r1"},
		"approve hello ship@0a1b --run r1":       {Op: "hello", Gate: "ship@0a1b", Run: "r1"},
		`approve hello ship --answer '{"n":1}'`:  {Op: "hello", Gate: "ship", Answer: []byte(`{"n":1}`)},
		"reject hello ship --note 'not tonight'": {Op: "hello", Gate: "ship", Note: "not tonight"},
		"signal paid":                            {Key: "paid"},
		`signal paid '{"by": "me"}' --run r1`:    {Key: "paid", Payload: []byte(`{"by": "me"}`), Run: "r1"},
		"ops":                                    {},
		"chant ops --json":                       {JSON: true},
	} {
		inv := mustParse(t, r, line)
		if inv.Kind != KindBuiltin || inv.Argv != nil || inv.Op == nil || !reflect.DeepEqual(*inv.Op, want) {
			t.Errorf("%s: %+v is %+v, want %+v", line, inv, inv.Op, want)
		}
	}
}

// The session's environment is for new runs: one that is named has its own.
func TestEnvironmentOfRuns(t *testing.T) {
	r := sample(t, "")
	for _, tt := range []struct {
		line, session, env string
		protected, refused bool
	}{
		{line: "run hello"},
		{line: "run hello", session: "dev", env: "dev"},
		{line: "run hello --env staging", session: "dev", env: "staging"},
		{line: "run hello --env prod", session: "dev", env: "prod", protected: true},
		{line: "run hello", session: "prod", refused: true},
		{line: "run hello", session: "gone", refused: true},
		{line: "run hello --run r1", session: "dev"},
		{line: "run hello --run r1", session: "prod"},
		{line: "run hello --run r1 --env dev", session: "staging", env: "dev"},
		{line: "run status hello", session: "dev"},
		{line: "approve hello ship", session: "dev"},
	} {
		inv, err := parse(t, r, tt.line, ParseOptions{Environment: tt.session})
		if tt.refused {
			if err == nil {
				t.Errorf("%s in %s is not refused", tt.line, tt.session)
			}
			continue
		}
		if err != nil || inv.Op.Env != tt.env || inv.Environment != tt.env || inv.Protected != tt.protected {
			t.Errorf("%s in %q: %+v, %v", tt.line, tt.session, inv, err)
		}
	}
	bare := NewRegistry(RegistryOptions{Root: "/p"})
	if inv := mustParse(t, bare, "run hello --env anything"); inv.Op.Env != "anything" {
		t.Errorf("without environments in a manifest: %+v", inv.Op)
	}
}
