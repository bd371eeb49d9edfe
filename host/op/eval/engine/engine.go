package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
)

// An engine evaluates scripts, each in a world of its own.
type engine struct {
	shims []byte // compiled
	env   map[string]string
	world string // what __chant_boot is told
	// running is the evaluation under way, for whoever interrupts it.
	running atomic.Pointer[quickjs.VM]
}

func newEngine(environ []string, dir string) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	defer vm.Close()
	compiled, err := vm.Compile(wire.ShimSource(), quickjs.EvalGlobal)
	if err != nil {
		return nil, err
	}
	env := make(map[string]string, len(environ))
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	world, err := json.Marshal(map[string]any{"env": env, "cwd": dir, "activityProfiles": activityProfiles()})
	return &engine{shims: compiled, env: env, world: string(world)}, err
}

// result is what the shims say of a file.
type result struct {
	Config string `json:"config"`
	Error  string `json:"error"`
	// Environ says that the file read variables of the environment, or the
	// working directory.
	Environ bool `json:"-"`
	// Reads are the variables whose values it read, sorted.
	Reads []string `json:"-"`
}

// evaluate runs the script of a file.
func (e *engine) evaluate(script string) (r result, err error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return r, err
	}
	defer vm.Close()
	e.running.Store(vm)
	defer e.running.Store(nil)
	vm.SetMemoryLimit(wire.MaxMemory)
	vm.SetCanBlock(false)
	// Noted here, where no code of a file can keep it from being noted.
	var read bool
	reads := make(map[string]bool)
	note := func(name string) {
		read = true
		if _, ok := e.env[name]; ok {
			reads[name] = true
		}
	}
	if err := vm.RegisterFunc("__chant_note", note, false); err != nil {
		return r, err
	}
	err = e.run(vm, script, &r)
	r.Environ, r.Reads = read, slices.Sorted(maps.Keys(reads))
	return r, err
}

func (e *engine) run(vm *quickjs.VM, script string, r *result) error {
	if _, err := vm.EvalBytecode(e.shims); err != nil {
		return err
	}
	if _, err := vm.Call("__chant_boot", e.world); err != nil {
		return err
	}
	// A CommonJS module, as esbuild wrote it.
	answer, err := vm.Eval("(() => { const module = { exports: {} }; (function (module, exports) {\n"+script+"\n})(module, module.exports); return __chant_finish(module.exports); })()", quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	return read(answer, r)
}

func read(answer any, r *result) error {
	text, ok := answer.(string)
	if !ok {
		return fmt.Errorf("the evaluator answered with %T", answer)
	}
	return json.Unmarshal([]byte(text), r)
}

// interrupt ends the evaluation under way, if there is one.
func (e *engine) interrupt() {
	if vm := e.running.Load(); vm != nil {
		vm.Interrupt()
	}
}

// activityProfiles are chant's TEMPORAL_ACTIVITY_PROFILES.
func activityProfiles() map[string]any {
	all := make(map[string]any)
	for _, p := range op.Profiles() {
		retry := map[string]any{"maximumAttempts": p.Attempts}
		set(retry, "initialInterval", p.Initial)
		if p.Backoff > 0 {
			retry["backoffCoefficient"] = p.Backoff
		}
		set(retry, "maximumInterval", p.MaxInterval)
		if p.NonRetryable != nil {
			retry["nonRetryableErrorTypes"] = p.NonRetryable
		}
		profile := map[string]any{"retry": retry}
		set(profile, "startToCloseTimeout", p.StartToClose)
		set(profile, "heartbeatTimeout", p.Heartbeat)
		all[p.Name] = profile
	}
	return all
}

// set writes a duration as chant does, in the unit that its profiles use.
func set(to map[string]any, key string, d time.Duration) {
	switch {
	case d == 0:
	case d >= 24*time.Hour:
		to[key] = fmt.Sprintf("%dh", d/time.Hour)
	case d > time.Minute && d%time.Minute == 0, d == time.Minute && key == "maximumInterval":
		to[key] = fmt.Sprintf("%dm", d/time.Minute)
	default:
		to[key] = fmt.Sprintf("%ds", d/time.Second)
	}
}
