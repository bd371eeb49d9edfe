package activity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/trust"
)

const (
	// chantPackage is the package that all of chant's packages build on.
	chantPackage = "@intentius/chant"
	// lexiconPackage is how the names of those that have activities begin; the rest is
	// what lexicon returns.
	lexiconPackage = "@intentius/chant-lexicon-"
)

// lexicon is the package of chant that has an activity; "" where none is known
// to.
func lexicon(fn string) string {
	switch fn {
	case "reconcilePr", "policyGate", "workflowSupplyChainAudit", "pipelineSupplyChainAudit", "lexiconUpgrade":
		return "temporal"
	case "awsApply", "awsDelete", "awsAgentCoreFetchTrace":
		return "aws"
	case "azApply", "azDelete":
		return "azure"
	case "gcpApply", "gcpDelete":
		return "gcp"
	case "waitForReady", "waitForArgoSync":
		return "k8s"
	case "flyApply", "flyDelete":
		return "fly"
	case "dogwoodReplay", "dogwoodReplayReport":
		return "cedar"
	case "fountainApply", "fountainRun":
		return "fountain"
	}
	if strings.HasPrefix(fn, "sprite") || fn == "listCheckpoints" {
		return "fly"
	}
	return ""
}

func (p *Project) handOver(fn string, args json.RawMessage) (Action, error) {
	from := lexicon(fn)
	if from == "" {
		return nil, fmt.Errorf("there is no activity %q", fn)
	}
	return p.handOverFrom(fn, from, "", args)
}

// handOverFrom makes the action of an activity that the project's own chant
// does: Node calls the function that the lexicon exports for it, as chant would.
// why says what can't be done here; "" where nothing can.
func (p *Project) handOverFrom(fn, lexicon, why string, args json.RawMessage) (Action, error) {
	name := lexiconPackage + lexicon
	if fn == "nativeApply" { // which is temporal's and loads the other
		if err := p.installed(fn, lexiconPackage+"temporal", why); err != nil {
			return nil, err
		}
	}
	if err := p.installed(fn, name, why); err != nil {
		return nil, err
	}
	if _, err := process.LookPath("node", p.Root, p.Environ()); err != nil {
		return nil, fmt.Errorf("%s is done by %s, which needs Node: %w", fn, name, err)
	}
	if fn == "nativeApply" {
		name = lexiconPackage + "temporal"
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return func(c Call) (any, error) { return p.node(c, name, fn, args) }, nil
}

func (p *Project) installed(fn, name, why string) error {
	if p.modules(name) != "" {
		return nil
	}
	if why != "" {
		why = " (" + why + ")"
	}
	return fmt.Errorf("%s is done by chant's own package%s, and %s is not installed in this project; install it (npm install --save-dev %s)", fn, why, name, name)
}

// modules is the node_modules folder that holds a package, as Node finds it; ""
// where there is none, or one that somebody else may write to.
func (p *Project) modules(name string) string {
	for dir := p.Root; ; dir = filepath.Dir(dir) {
		modules := filepath.Join(dir, "node_modules")
		if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(name), "package.json")); err == nil {
			if !ownFolder(dir) || !ownFolder(modules) {
				return ""
			}
			return modules
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Code are the folders of installed packages whose code an activity may run,
// absolute.
func (p *Project) Code(fn string) (folders []string) {
	packages := []string{chantPackage, "tsx"}
	switch from := lexicon(fn); {
	case fn == "nativeApply":
		packages = append(packages, lexiconPackage+"temporal", lexiconPackage+"k8s", lexiconPackage+"azure")
	case fn == "kubectlApply":
		packages = append(packages, lexiconPackage+"k8s")
	case fn == "lifecycleSnapshot" || fn == "lifecycleDiff":
		packages = packages[:1]
	case from == "":
		return nil
	default:
		packages = append(packages, lexiconPackage+from)
	}
	for _, name := range packages {
		if modules := p.modules(name); modules != "" {
			folders = append(folders, filepath.Join(modules, filepath.FromSlash(name)))
		}
	}
	return folders
}

// ownFolder says whether nobody else may change what is in a folder.
func ownFolder(dir string) bool {
	st, err := os.Stat(dir)
	return err == nil && trust.Reason(dir, st) == ""
}

// callScript calls one exported function and writes down what came of it.
const callScript = `
import { writeFileSync } from "node:fs";
const [pkg, fn, args, out] = process.argv.slice(-4);
const before = { ...process.env };
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
let result;
try {
  const activities = await import(pkg + "/op/activities");
  if (typeof activities[fn] !== "function") throw new Error(pkg + " exports no activity " + fn);
  const value = await activities[fn](JSON.parse(args), stop.signal);
  const set = {};
  for (const [k, v] of Object.entries(process.env)) if (before[k] !== v) set[k] = v;
  result = { Value: value ?? null, set };
} catch (e) {
  result = { name: String(e?.name ?? ""), error: String(e?.message ?? e) };
}
writeFileSync(out, JSON.stringify(result), { mode: 0o600 });
process.exit(result.error === undefined ? 0 : 1);
`

// maxResult bounds what a function returns, in bytes of JSON.
const maxResult = 16 << 20

// node calls an activity of a package.
func (p *Project) node(c Call, name, fn string, args json.RawMessage) (any, error) {
	out := c.File("result", ".json")
	if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	defer os.Remove(out)
	argv := []string{"node"}
	if p.modules("tsx") != "" { // the packages export TypeScript
		argv = append(argv, "--import", "tsx")
	}
	argv = append(argv, "--input-type=module", "--eval", callScript, "--", name, fn, string(args), out)
	ran := c.Run(Program{Argv: argv})
	text, err := durable.Read(out, maxResult)
	if err != nil {
		if ran != nil {
			return nil, ran
		}
		return nil, fmt.Errorf("%s left no result: %w", fn, err)
	}
	var result struct {
		Value json.RawMessage
		Set   map[string]string
		Name  string
		Error *string
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("the result of %s can't be read: %w", fn, err)
	}
	if result.Error != nil {
		return nil, &Error{Text: *result.Error, Name: result.Name}
	}
	c.Set(result.Set)
	return result.Value, ran
}
