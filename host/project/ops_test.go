package project_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/host/project"
)

const helloOp = "name: hello\nphases:\n  - name: Greet\n    steps: [{shell: 'echo $OWN $CHANT_ENV $TERM >said'}]\n"

// runOp takes an Op as far as it goes.
func runOp(t *testing.T, p *project.Project, ref host.RunRef) host.OpResult {
	t.Helper()
	rt, err := p.Ops()
	if err != nil {
		t.Fatal(err)
	}
	run, err := rt.StartOp(context.Background(), host.OpRequest{Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	return run.Wait()
}

func TestOps(t *testing.T) {
	state := t.TempDir()
	p, dir := open(t, "", project.Options{
		Env:  append(os.Environ(), "OWN=mine", "TERM=xterm"),
		Runs: filepath.Join(state, "runs"), OpCache: filepath.Join(state, "ops"),
	})
	write(t, filepath.Join(dir, "hello.op.yaml"), helloOp)
	write(t, filepath.Join(dir, "bad.op.yaml"), "nonsense: 1\n")
	set, err := p.OpSet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text := set.List(func(name string) string { return "never, for " + name })
	for _, want := range []string{"hello  (hello.op.yaml)", "last run: never, for hello", "bad.op.yaml:1:1:"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	var b strings.Builder
	if err := set.WriteJSON(&b); err != nil || strings.Count(b.String(), "\n") != 2 || !strings.HasPrefix(b.String(), `{"name":"hello","file":"hello.op.yaml","config":{`) {
		t.Errorf("%q, %v", b.String(), err)
	}
	if entries, err := os.ReadDir(filepath.Join(state, "runs")); err == nil {
		t.Errorf("looking made %v", entries)
	}
	if res := runOp(t, p, host.RunRef{Op: "hello", Env: "dev"}); res.Run.State != host.RunCompleted {
		t.Fatalf("%+v", res)
	}
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if string(said) != "mine dev dumb\n" {
		t.Errorf("the step found %q (%v), not what a program finds", said, err)
	}
	first, _ := p.Ops()
	again, _ := p.Ops()
	if first != again {
		t.Error("a second runtime of one project")
	}
	var refusal *host.OpRefusal
	if _, err := first.StartOp(context.Background(), host.OpRequest{Ref: host.RunRef{Op: "helo"}}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "bad.op.yaml") {
		t.Errorf("an Op that is not there: %v", err)
	}
}

// TestOpsShowNoValues looks at what goes into a thread: values of the environment
// by their names. What is written for programs stays as it is.
// A run that was begun by a step of another one goes on without that: neither its
// Op nor its steps are made of what the other one was given.
func TestARunIsMadeOfItsOwnWords(t *testing.T) {
	state := t.TempDir()
	o := project.Options{Env: append(os.Environ(), "CHANT_ENV=parents", "CHANT_PARAM_TAG=parents"), Runs: filepath.Join(state, "runs")}
	p, dir := open(t, "", o)
	write(t, filepath.Join(dir, "a.op.ts"), `import { Op, gate, phase, shell } from "@intentius/chant/op";
const env = process.env.CHANT_ENV, tag = process.env.CHANT_PARAM_TAG;
export default Op({ name: "a", overview: "x", phases: [phase("P", [shell("echo " + env + tag + " $CHANT_ENV$CHANT_PARAM_TAG >said"), gate("go")])] });
`)
	res := runOp(t, p, host.RunRef{Op: "a"})
	if said, err := os.ReadFile(filepath.Join(dir, "said")); res.Run.State != host.RunWaiting || string(said) != "undefinedundefined\n" {
		t.Fatalf("%+v, %q, %v", res.Run, said, err)
	}
	o.Env = os.Environ()
	later := project.New(dir, o)
	if again := runOp(t, later, host.RunRef{ID: res.Run.ID, Op: "a"}); again.Run.State != host.RunWaiting {
		t.Errorf("%+v", again.Run)
	}
}

func TestOpsShowNoValues(t *testing.T) {
	const secret = "p@ss \"word\"  <1>"
	p, dir := open(t, "", project.Options{Env: append(os.Environ(), "SECRET="+secret, "SHORT=1234567", "REGION=eu-central-1"), Runs: t.TempDir()})
	write(t, filepath.Join(dir, "reads.op.ts"), `import { Op, phase, shell } from "@intentius/chant/op";
export default Op({ name: "reads", overview: "with " + process.env.SECRET, phases: [phase("p " + process.env.SECRET, [shell("echo " + process.env.SECRET + process.env.SHORT)])] });`)
	write(t, filepath.Join(dir, "says.op.yaml"), "name: says\noverview: in eu-central-1\nphases: [{name: P, steps: [{shell: 'echo '}]}]\n")
	write(t, filepath.Join(dir, "throws.op.ts"), `throw new Error("not with " + process.env.SECRET);`)
	set, err := p.OpSet(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := set.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	rt, err := p.Ops()
	if err != nil {
		t.Fatal(err)
	}
	_, missing := rt.StartOp(context.Background(), host.OpRequest{Ref: host.RunRef{Op: "other"}})
	if missing == nil {
		t.Fatal("an Op that is not there was started")
	}
	for what, text := range map[string]string{"json": b.String(), "list": set.List(nil), "refusal": missing.Error()} {
		if strings.Contains(text, "word") || !strings.Contains(text, "${SECRET}") || what != "refusal" && !strings.Contains(text, "in eu-central-1") {
			t.Errorf("%s: %s", what, text)
		}
	}
	if want := `{"name":"reads","file":"reads.op.ts","config":{"name":"reads","overview":"with ${SECRET}","phases":[{"name":"p ${SECRET}","steps":[{"kind":"activity","fn":"shellCmd","args":{"cmd":"echo ${SECRET}1234567"}}]}]}}` + "\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %s, want %s first", b.String(), want)
	}
	offers, err := p.Offers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offers { // what a person is asked to allow
		text := o.Summary + o.Text + o.Runs
		if strings.Contains(text, "word") || o.Name == "run says" && !strings.Contains(text, "in eu-central-1") || o.Name == "run reads" && !strings.Contains(text, "${SECRET}") {
			t.Errorf("%s: %s", o.Name, text)
		}
	}
	t.Setenv("SECRET", secret)
	exact, err := eval.Load(context.Background(), dir, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := project.WriteOps(&b, exact); err != nil || !strings.Contains(b.String(), `"overview":"with p@ss \"word\"  <1>"`) {
		t.Errorf("%v, %s", err, b.String())
	}
}

func TestOpsWithoutAFolder(t *testing.T) {
	p, _ := open(t, "", project.Options{})
	if _, err := p.Ops(); err == nil {
		t.Error("runs that are kept nowhere")
	}
}
