package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host/op"
)

// activity makes the action of an activity. Those that are not known here are
// handed to the package of chant that has them.
func (rt *Runtime) activity(fn string, args json.RawMessage) (action, error) {
	switch fn {
	case "shellCmd":
		return with(shellCmd)(args)
	case "chantBuild":
		return with(chantBuild)(args)
	case "chantTeardown":
		return with(chantTeardown)(args)
	case "lifecycleSnapshot":
		return rt.withChant(fn, with(lifecycleSnapshot), args)
	case "lifecycleDiff":
		return rt.withChant(fn, with(lifecycleDiff), args)
	case "httpCheck":
		return with(httpCheck)(args)
	case "waitForStack":
		return with(waitForStack)(args)
	case "nativeApply":
		return rt.nativeApply(args)
	case "compensateApply":
		return with(compensateApply)(args)
	case "kubectlApply":
		return rt.kubectlApply(args)
	case "helmInstall":
		return with(helmInstall)(args)
	case "gitlabPipeline":
		return with(gitlabPipeline)(args)
	case "k3dUp":
		return with(k3dUp)(args)
	case "k3dDown":
		return with(k3dDown)(args)
	case "azGroupEnsure":
		return with(azGroupEnsure)(args)
	case "azGroupDelete":
		return with(azGroupDelete)(args)
	}
	if make, ok := emulatorStep(fn); ok {
		return make(args)
	}
	return rt.handOver(fn, args)
}

// required refuses arguments that are missing, or that a program would take for a
// flag. Pairs are a name and a value.
func required(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return fmt.Errorf("it needs the argument %s", pairs[i])
		}
	}
	return noFlags(pairs...)
}

func noFlags(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if strings.HasPrefix(pairs[i+1], "-") {
			return fmt.Errorf("its argument %s begins with -, and would be taken for a flag", pairs[i])
		}
	}
	return nil
}

// execStep makes the action of a program with its arguments, without a shell.
func execStep(s *op.Step) (action, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, errors.New("it names no program")
	}
	return func(c *call) (any, error) {
		return c.printed(program{argv: s.Argv, dir: s.Dir, env: s.Env})
	}, nil
}

// printed runs a program whose result is what it prints, where somebody asks for
// the result.
func (c *call) printed(p program) (any, error) {
	if c.step.Outcome == nil {
		return nil, c.run(p)
	}
	var out capture
	p.value = &out
	err := c.run(p)
	if out.more {
		c.warnings = append(c.warnings, fmt.Sprintf("of its output only the first %d KiB are kept as its result", maxValue>>10))
	}
	return out.String(), err
}

type shellArgs struct {
	Cmd string            `json:"cmd"`
	Env map[string]string `json:"env"`
	Cwd string            `json:"cwd"`
}

func (a shellArgs) check() error {
	if strings.TrimSpace(a.Cmd) == "" {
		return errors.New("it needs the argument cmd")
	}
	return nil
}

// shellCmd gives a shell the text that the author of the Op wrote.
func shellCmd(c *call, a shellArgs) (any, error) {
	return c.printed(program{argv: []string{"/bin/sh", "-c", a.Cmd}, dir: a.Cwd, env: a.Env})
}

type buildArgs struct {
	Path   string            `json:"path"`
	Script string            `json:"script"`
	Env    map[string]string `json:"env"`
}

func (a buildArgs) check() error {
	return errors.Join(required("path", a.Path), noFlags("script", a.Script))
}

func chantBuild(c *call, a buildArgs) (any, error) {
	script := a.Script
	if script == "" {
		script = "build"
	}
	return nil, c.run(program{argv: []string{"npm", "run", script}, dir: a.Path, env: a.Env})
}

func chantTeardown(c *call, a buildArgs) (any, error) {
	return nil, c.run(program{argv: []string{"npm", "run", "teardown"}, dir: a.Path})
}

// withChant makes the action of an activity that runs the chant program.
func (rt *Runtime) withChant(fn string, make func(json.RawMessage) (action, error), args json.RawMessage) (action, error) {
	act, err := make(args)
	if err != nil {
		return nil, err
	}
	if rt.o.Chant() == "" {
		return nil, fmt.Errorf("%s needs the chant program, of the package @intentius/chant, which is neither installed in this project nor found on PATH", fn)
	}
	return act, nil
}

type lifecycleArgs struct {
	Env  string `json:"env"`
	Live bool   `json:"live"`
}

func (a lifecycleArgs) check() error { return required("env", a.Env) }

func lifecycleSnapshot(c *call, a lifecycleArgs) (any, error) {
	return nil, c.run(program{argv: []string{c.leg.rt.o.Chant(), "lifecycle", "snapshot", a.Env}})
}

// driftHeaders are what chant prints above what differs.
var driftHeaders = [...]string{"MISSING", "ORPHAN", "DISAPPEARED", "DRIFTED", "ARTIFACTS ADDED", "ARTIFACTS REMOVED", "ARTIFACTS CHANGED"}

type diffResult struct {
	Output   string `json:"output"`
	ExitCode int    `json:"exitCode"`
	Drifted  bool   `json:"drifted"`
}

// lifecycleDiff succeeds whatever the diff's exit code is: a difference is a
// result.
func lifecycleDiff(c *call, a lifecycleArgs) (any, error) {
	argv := []string{c.leg.rt.o.Chant(), "lifecycle", "diff", a.Env}
	if a.Live {
		argv = append(argv, "--live")
	}
	var out capture
	err := c.run(program{argv: argv, copy: &out})
	r := diffResult{Output: out.String()}
	for _, header := range driftHeaders {
		r.Drifted = r.Drifted || strings.Contains(r.Output, header+" (") || strings.Contains(r.Output, "\n"+header)
	}
	if code := exitCode(err); code != nil && *code < 128 {
		r.ExitCode, err = *code, nil
	}
	return r, err
}

type helmArgs struct {
	Name      string                     `json:"name"`
	Chart     string                     `json:"chart"`
	Values    string                     `json:"values"`
	Namespace string                     `json:"namespace"`
	Set       map[string]json.RawMessage `json:"set"`
}

func (a helmArgs) check() error {
	return errors.Join(required("name", a.Name, "chart", a.Chart), noFlags("values", a.Values, "namespace", a.Namespace))
}

func helmInstall(c *call, a helmArgs) (any, error) {
	argv := []string{"helm", "upgrade", "--install", "--wait", a.Name, a.Chart}
	if a.Namespace != "" {
		argv = append(argv, "--namespace", a.Namespace, "--create-namespace")
	}
	if a.Values != "" {
		argv = append(argv, "-f", a.Values)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Set)) {
		argv = append(argv, "--set", key+"="+plain(a.Set[key]))
	}
	return nil, c.run(program{argv: argv})
}

// plain is JSON as a word: text as it is, the rest as JSON.
func plain(v json.RawMessage) string {
	var s *string
	if json.Unmarshal(v, &s) == nil && s != nil {
		return *s
	}
	return string(bytes.TrimSpace(v))
}

type groupArgs struct {
	ResourceGroup string `json:"resourceGroup"`
	Location      string `json:"location"`
}

func (a groupArgs) check() error {
	return errors.Join(required("resourceGroup", a.ResourceGroup), noFlags("location", a.Location))
}

func azGroupEnsure(c *call, a groupArgs) (any, error) {
	location := a.Location
	if location == "" {
		location = "eastus"
	}
	return nil, c.run(program{argv: []string{"az", "group", "create", "--name", a.ResourceGroup, "--location", location, "--output", "none"}})
}

// azGroupDelete succeeds without a group: to have it gone is what is asked.
func azGroupDelete(c *call, a groupArgs) (any, error) {
	return nil, c.tolerate(c.run(program{argv: []string{"az", "group", "delete", "--name", a.ResourceGroup, "--yes", "--no-wait"}}))
}

// tolerate lets a program's exit code pass, with a line about it; a program that
// can't be run at all, or was stopped, is an error still.
func (c *call) tolerate(err error) error {
	if exitCode(err) == nil {
		return err
	}
	c.out.say("%v; taken as done", err)
	return nil
}
