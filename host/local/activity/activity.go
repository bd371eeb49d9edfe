package activity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host/op"
)

// Project is what activities know of the project that they run in.
type Project struct {
	// Root is its folder, absolute and without links.
	Root string
	// Chant is the path of the chant program, "" where there is none.
	Chant func() string
	// Environ is the environment of programs, each name once.
	Environ func() []string
}

// Find makes the action of an activity, by its name in chant. Those that are not
// known here are handed to the package of chant that has them. The error says what is
// wrong with the arguments, or what is missing.
func (p *Project) Find(fn string, args json.RawMessage) (Action, error) {
	switch fn {
	case "shellCmd":
		return with(shellCmd)(args)
	case "chantBuild":
		return with(chantBuild)(args)
	case "chantTeardown":
		return with(chantTeardown)(args)
	case "lifecycleSnapshot":
		return p.withChant(fn, with(p.lifecycleSnapshot), args)
	case "lifecycleDiff":
		return p.withChant(fn, with(p.lifecycleDiff), args)
	case "httpCheck":
		return with(httpCheck)(args)
	case "waitForStack":
		return with(waitForStack)(args)
	case "nativeApply":
		return p.nativeApply(args)
	case "compensateApply":
		return with(compensateApply)(args)
	case "kubectlApply":
		return p.kubectlApply(args)
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
	return p.handOver(fn, args)
}

// Programs are what an activity other than shellCmd runs, by their names or paths: all
// that its arguments may make it run. One that runs none but this program's own has an
// empty list.
func (p *Project) Programs(fn string) []string {
	switch fn {
	case "chantBuild", "chantTeardown":
		return []string{"npm"}
	case "lifecycleSnapshot", "lifecycleDiff":
		return []string{cmp.Or(p.Chant(), "chant")}
	case "helmInstall":
		return []string{"helm"}
	case "gitlabPipeline":
		return []string{"glab"}
	case "k3dUp", "k3dDown":
		return []string{"k3d"}
	case "azGroupEnsure", "azGroupDelete":
		return []string{"az"}
	case "kubectlApply":
		return []string{"kubectl", "node"}
	case "waitForStack":
		return []string{"kubectl"}
	case "nativeApply":
		return []string{"kubectl", "kustomize", "aws", "node"}
	case "compensateApply":
		return []string{"/bin/sh", "aws"}
	case "httpCheck":
		return []string{} // this program's own
	}
	if _, emulator := emulatorStep(fn); emulator {
		return []string{"docker"}
	}
	return []string{"node"}
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

// Exec makes the action of a program with its arguments, without a shell.
func Exec(s *op.Step) (Action, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, errors.New("it names no program")
	}
	return func(c Call) (any, error) {
		return printed(c, Program{Argv: s.Argv, Dir: s.Dir, Env: s.Env})
	}, nil
}

// ShellArgs are the arguments of the activity shellCmd: a text for /bin/sh, variables
// over the environment, and a folder below the project's.
type ShellArgs struct {
	Cmd string            `json:"cmd"`
	Env map[string]string `json:"env"`
	Cwd string            `json:"cwd"`
}

func (a ShellArgs) check() error {
	if strings.TrimSpace(a.Cmd) == "" {
		return errors.New("it needs the argument cmd")
	}
	return nil
}

// shellCmd gives a shell the text that the author of the Op wrote.
func shellCmd(c Call, a ShellArgs) (any, error) {
	return printed(c, Program{Argv: []string{"/bin/sh", "-c", a.Cmd}, Dir: a.Cwd, Env: a.Env})
}

type buildArgs struct {
	Path   string            `json:"path"`
	Script string            `json:"script"`
	Env    map[string]string `json:"env"`
}

func (a buildArgs) check() error {
	return errors.Join(required("path", a.Path), noFlags("script", a.Script))
}

func chantBuild(c Call, a buildArgs) (any, error) {
	script := a.Script
	if script == "" {
		script = "build"
	}
	return nil, c.Run(Program{Argv: []string{"npm", "run", script}, Dir: a.Path, Env: a.Env})
}

// Scripts are the files that say what an activity's program does, relative to the
// project's folder: npm runs what package.json says.
func (p *Project) Scripts(fn string, args json.RawMessage) []string {
	if fn != "chantBuild" && fn != "chantTeardown" {
		return nil
	}
	var a buildArgs
	_ = json.Unmarshal(args, &a) // which Find has done before
	return []string{path.Join(a.Path, "package.json"), path.Join(a.Path, ".npmrc")}
}

func chantTeardown(c Call, a buildArgs) (any, error) {
	return nil, c.Run(Program{Argv: []string{"npm", "run", "teardown"}, Dir: a.Path})
}

// withChant makes the action of an activity that runs the chant program.
func (p *Project) withChant(fn string, make func(json.RawMessage) (Action, error), args json.RawMessage) (Action, error) {
	act, err := make(args)
	if err != nil {
		return nil, err
	}
	if p.Chant() == "" {
		return nil, fmt.Errorf("%s needs the chant program, of the package @intentius/chant, which is neither installed in this project nor found on PATH", fn)
	}
	return act, nil
}

type lifecycleArgs struct {
	Env  string `json:"env"`
	Live bool   `json:"live"`
}

func (a lifecycleArgs) check() error { return required("env", a.Env) }

func (p *Project) lifecycleSnapshot(c Call, a lifecycleArgs) (any, error) {
	return nil, c.Run(Program{Argv: []string{p.Chant(), "lifecycle", "snapshot", a.Env}})
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
func (p *Project) lifecycleDiff(c Call, a lifecycleArgs) (any, error) {
	argv := []string{p.Chant(), "lifecycle", "diff", a.Env}
	if a.Live {
		argv = append(argv, "--live")
	}
	var out capture
	err := c.Run(Program{Argv: argv, Copy: &out})
	r := diffResult{Output: out.String()}
	for _, header := range driftHeaders {
		r.Drifted = r.Drifted || strings.Contains(r.Output, header+" (") || strings.Contains(r.Output, "\n"+header)
	}
	if code := ExitCode(err); code != nil && *code < 128 {
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

func helmInstall(c Call, a helmArgs) (any, error) {
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
	return nil, c.Run(Program{Argv: argv})
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

func azGroupEnsure(c Call, a groupArgs) (any, error) {
	location := a.Location
	if location == "" {
		location = "eastus"
	}
	return nil, c.Run(Program{Argv: []string{"az", "group", "create", "--name", a.ResourceGroup, "--location", location, "--output", "none"}})
}

// azGroupDelete succeeds without a group: to have it gone is what is asked.
func azGroupDelete(c Call, a groupArgs) (any, error) {
	return nil, tolerate(c, c.Run(Program{Argv: []string{"az", "group", "delete", "--name", a.ResourceGroup, "--yes", "--no-wait"}}))
}
