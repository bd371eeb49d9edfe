package activity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/durable"
)

// interval is a pause between two looks, in ms; def where none is given.
func interval(ms int64, def time.Duration) time.Duration {
	if ms <= 0 {
		return def
	}
	return time.Duration(min(ms, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
}

type stackArgs struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Context    string `json:"context"`
	IntervalMs int64  `json:"intervalMs"`
}

func (a stackArgs) check() error {
	return errors.Join(required("name", a.Name), noFlags("namespace", a.Namespace, "context", a.Context))
}

// waitForStack waits until a deployment or stateful set of the name is rolled
// out, as long as the attempt may take.
func waitForStack(c Call, a stackArgs) (any, error) {
	for {
		for _, kind := range []string{"deployment/", "statefulset/"} {
			argv := []string{"kubectl", "rollout", "status", kind + a.Name}
			if a.Namespace != "" {
				argv = append(argv, "-n", a.Namespace)
			}
			if a.Context != "" {
				argv = append(argv, "--context", a.Context)
			}
			err := c.Run(Program{Argv: append(argv, "--timeout=30s")})
			if err == nil || ExitCode(err) == nil {
				return nil, err
			}
		}
		if err := c.Sleep(interval(a.IntervalMs, 10*time.Second)); err != nil {
			return nil, fmt.Errorf("neither a deployment nor a stateful set %s was rolled out: %w", a.Name, err)
		}
	}
}

// The targets of nativeApply.
const (
	targetStack     = "cloudformation"
	targetKubectl   = "kubectl"
	targetKustomize = "kustomize"
	targetARM       = "arm"
)

const deleteNever = "never"

type applyArgs struct {
	Target         string `json:"target"`
	Env            string `json:"env"`
	Output         string `json:"output"`
	DeleteMode     string `json:"deleteMode"`
	ForceConflicts bool   `json:"forceConflicts"`
}

// nativeApply applies with the target's own program. What only chant's packages
// do, such as to delete what is declared no more, is theirs.
func (p *Project) nativeApply(text json.RawMessage) (Action, error) {
	var a applyArgs
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("its arguments: %w", err)
	}
	if err := errors.Join(required("target", a.Target, "env", a.Env), noFlags("output", a.Output)); err != nil {
		return nil, err
	}
	switch a.Target {
	case targetStack:
		return func(c Call) (any, error) { return applyStack(c, a) }, nil
	case targetKubectl, targetKustomize:
		if why := p.needsLexicon(a.DeleteMode, a.Env, ""); why != "" {
			return p.handOverFrom("nativeApply", "k8s", why, text)
		}
		return func(c Call) (any, error) { return applyManifests(c, a) }, nil
	case targetARM:
		return p.handOverFrom("nativeApply", "azure", "templates for Azure are applied by chant's own package", text)
	}
	return nil, fmt.Errorf("there is no target %q", a.Target)
}

type commandResult struct {
	Command string `json:"command,omitempty"`
}

func applyStack(c Call, a applyArgs) (any, error) {
	argv := []string{"aws"}
	if endpoint := c.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		argv = append(argv, "--endpoint-url", endpoint)
	}
	output := a.Output
	if output == "" {
		output = "template.json"
	}
	argv = append(argv, "cloudformation", "deploy", "--template-file", output, "--stack-name", a.Env, "--capabilities", "CAPABILITY_NAMED_IAM")
	return commandResult{strings.Join(argv, " ")}, c.Run(Program{Argv: argv})
}

func applyManifests(c Call, a applyArgs) (any, error) {
	output := a.Output
	if output == "" {
		output = "dist"
	}
	if a.Target == targetKustomize {
		rendered, err := render(c, output)
		if err != nil {
			return nil, err
		}
		defer os.Remove(rendered)
		output = rendered
	}
	return kubectlApply(c, manifestArgs{Manifest: output, Force: a.ForceConflicts})
}

// render builds a kustomization into a file, which may be of any size.
func render(c Call, dir string) (string, error) {
	path := c.File("rendered", ".yaml")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("no file for the manifests: %w", err)
	}
	defer f.Close()
	err = c.Run(Program{Argv: []string{"kustomize", "build", dir}, Value: f, Quiet: true})
	var missing *process.NotFoundError
	if errors.As(err, &missing) {
		err = c.Run(Program{Argv: []string{"kubectl", "kustomize", dir}, Value: f, Quiet: true})
	}
	if err != nil {
		_ = os.Remove(path)
		return "", err
	}
	return path, nil
}

type manifestArgs struct {
	Manifest     string `json:"manifest"`
	Context      string `json:"context"`
	Environment  string `json:"environment"`
	FieldManager string `json:"fieldManager"`
	Stack        string `json:"stack"`
	Force        bool   `json:"force"`
	DeleteMode   string `json:"deleteMode"`
	DryRun       bool   `json:"dryRun"`
}

func (p *Project) kubectlApply(text json.RawMessage) (Action, error) {
	var a manifestArgs
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("its arguments: %w", err)
	}
	if err := errors.Join(required("manifest", a.Manifest), noFlags("context", a.Context)); err != nil {
		return nil, err
	}
	if why := p.needsLexicon(a.DeleteMode, a.Environment, a.Context); why != "" {
		return p.handOverFrom("kubectlApply", "k8s", why, text)
	}
	return func(c Call) (any, error) { return kubectlApply(c, a) }, nil
}

type applied struct {
	FieldManager string `json:"fieldManager"`
}

// kubectlApply is a server-side apply under chant's name.
func kubectlApply(c Call, a manifestArgs) (any, error) {
	manager := a.FieldManager
	if manager == "" {
		manager = "chant"
		if a.Stack != "" {
			manager += ":" + a.Stack
		}
	}
	argv := []string{"kubectl", "apply", "--server-side", "--field-manager=" + manager, "-f", a.Manifest}
	if a.Context != "" {
		argv = append(argv, "--context", a.Context)
	}
	if a.Force {
		argv = append(argv, "--force-conflicts")
	}
	if a.DryRun {
		argv = append(argv, "--dry-run=server")
	}
	return applied{manager}, c.Run(Program{Argv: argv})
}

// needsLexicon says why kubectl alone would not do what chant does: it deletes
// nothing, and it does not know which cluster an environment is.
func (p *Project) needsLexicon(deleteMode, env, context string) string {
	if deleteMode != "" && deleteMode != deleteNever {
		return fmt.Sprintf("deleteMode %q deletes what is declared no more, which kubectl can't tell", deleteMode)
	}
	if env == "" || context != "" {
		return ""
	}
	for _, name := range []string{"chant.config.ts", "chant.config.js", "chant.config.mjs", "chant.config.json"} {
		text, err := durable.Read(filepath.Join(p.Root, name), 1<<20)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Sprintf("%s can't be read, and it may say which cluster the environment %s is", name, env)
		case strings.Contains(string(text), "k8s") && strings.Contains(string(text), "profiles"):
			return fmt.Sprintf("%s says which cluster the environment %s is", name, env)
		}
	}
	return ""
}

type compensateArgs struct {
	Target  string `json:"target"`
	Env     string `json:"env"`
	Command string `json:"command"`
}

func (a compensateArgs) check() error {
	if a.Command != "" {
		return nil
	}
	return required("target", a.Target, "env", a.Env)
}

// compensateApply runs the author's command, or the target's own way back.
func compensateApply(c Call, a compensateArgs) (any, error) {
	if a.Command != "" {
		return commandResult{a.Command}, c.Run(Program{Argv: []string{"/bin/sh", "-c", a.Command}})
	}
	if a.Target != targetStack {
		warning := fmt.Sprintf("There is no way back for the target %s by itself: what was applied to %s stays. Give the Op a command to undo it (compensate.command).", a.Target, a.Env)
		c.Warn(warning)
		c.Say("%s", warning)
		return commandResult{}, nil
	}
	argv := []string{"aws", "cloudformation", "rollback-stack", "--stack-name", a.Env}
	if endpoint := c.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		argv = append([]string{"aws", "--endpoint-url", endpoint}, argv[1:]...)
	}
	return commandResult{strings.Join(argv, " ")}, c.Run(Program{Argv: argv})
}
