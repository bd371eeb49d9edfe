package command

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// project resolves a command of the manifest.
func (r *Registry) project(e *entry, inv *Invocation, o ParseOptions) *Refusal {
	s := e.spec
	b, reason := s.bind(inv.Args)
	if reason != "" {
		return e.refuse(reason)
	}
	if reason := r.projectEnvironment(s, b, inv, o); reason != "" {
		return e.refuse(reason)
	}
	if reason := s.complete(b); reason != "" {
		return e.refuse(reason)
	}
	inv.Dir = filepath.Join(r.root, filepath.FromSlash(s.cwd))
	if reason := s.checkFolder(r.root); reason != "" {
		return e.refuse(reason)
	}
	inv.paths = pathValues(s, b)
	inv.root = r.root
	if err := inv.CheckPaths(); err != nil {
		return e.refuse(err.Error())
	}
	argv, bad, value := s.expand(b.values)
	if bad != nil {
		return e.refuse(fmt.Sprintf("%s cannot be %s: a value that begins with a hyphen could be taken for an option of %s", bad.label(), show(value), argv0(s)))
	}
	inv.Argv = append(argv, b.rest...)
	if strings.ContainsRune(inv.Argv[0], '/') && !filepath.IsAbs(inv.Argv[0]) {
		inv.Argv[0] = filepath.Join(r.root, filepath.FromSlash(inv.Argv[0]))
	}
	if reason := s.checkProgram(r.root); reason != "" {
		return e.refuse(reason)
	}
	inv.spec = s
	inv.Env = variableList(s.env, inv.Environment)
	inv.Confirm, inv.Timeout, inv.Grace, inv.TTY, inv.Success = s.confirm, s.timeout, s.grace, s.tty, s.success
	return nil
}

// argv0 is the program as the manifest names it.
func argv0(s *spec) string {
	text, _ := s.exec[0].literal()
	return text
}

// variableList writes the variables as K=V, sorted.
func variableList(fixed map[string]string, environment string) []string {
	all := maps.Clone(fixed)
	if environment != "" {
		if all == nil {
			all = make(map[string]string, 1)
		}
		all[envVariable] = environment
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		list = append(list, k+"="+all[k])
	}
	return list
}

// projectEnvironment decides on the environment in force: what the line says,
// then the session's, then the default of the parameter env.
func (r *Registry) projectEnvironment(s *spec, b *binding, inv *Invocation, o ParseOptions) string {
	p := s.envParam()
	fixed, isFixed := s.env[envVariable]
	switch {
	case isFixed:
		inv.Environment = fixed
	case p == nil:
		name, reason := r.sessionEnvironment(o)
		if reason != "" {
			return reason
		}
		if e, _ := r.manifest.environment(name); e.Protected {
			inv.Notice = fmt.Sprintf("%s is not set: %s is protected, and this line cannot name it.", envVariable, name)
			return ""
		}
		inv.Environment = name
	default:
		if reason := r.envValue(p, b, o); reason != "" {
			return reason
		}
		if v := b.values[p.index]; len(v) > 0 {
			inv.Environment = v[0]
		} else if len(p.defaults) > 0 {
			inv.Environment = p.defaults[0]
		}
	}
	e, _ := r.manifest.environment(inv.Environment)
	inv.Protected = e.Protected
	return ""
}

// envValue gives the parameter env the session's environment where the line says
// nothing.
func (r *Registry) envValue(p *param, b *binding, o ParseOptions) string {
	if b.given[p.index] || o.Environment == "" {
		return ""
	}
	name, reason := r.sessionEnvironment(o)
	if reason != "" {
		return reason
	}
	if e, _ := r.manifest.environment(name); e.Protected {
		return mustBeNamed(name, p.label())
	}
	if reason := p.check(name); reason != "" {
		return fmt.Sprintf("the session's environment %s does not fit %s: %s; name one in the line", name, p.label(), reason)
	}
	b.values[p.index] = []string{name}
	return ""
}

func mustBeNamed(name, label string) string {
	return fmt.Sprintf("%s is missing, and the session's environment %s is protected, so it is never filled in: write %s in the line itself", label, name, name)
}

// sessionEnvironment is the session's environment, which the manifest must still
// declare: of one that it does not know, nobody can tell if it is protected.
func (r *Registry) sessionEnvironment(o ParseOptions) (name, reason string) {
	if o.Environment == "" {
		return "", ""
	}
	if _, declared := r.manifest.environment(o.Environment); !declared {
		return "", fmt.Sprintf("the session's environment %s is not declared in %s (any more); choose another one, or none, in the session's options", show(o.Environment), ManifestName)
	}
	return o.Environment, ""
}

// checkFolder refuses a cwd that is not there or leads out of the project.
func (s *spec) checkFolder(root string) string {
	if s.cwd == "" {
		return ""
	}
	rel := filepath.FromSlash(s.cwd)
	if err := insideProject(root, root, rel); err != nil {
		return fmt.Sprintf("its folder %s (cwd in %s) cannot be used: %s", s.cwd, ManifestName, err)
	}
	if info, err := os.Stat(filepath.Join(root, rel)); err != nil || !info.IsDir() {
		return fmt.Sprintf("its folder %s (cwd in %s) does not exist in the project; create it, or correct the manifest", s.cwd, ManifestName)
	}
	return ""
}

// checkProgram refuses a program of the project that another user could have put
// there. It says nothing of one that is not there, or lies outside.
func (s *spec) checkProgram(root string) string {
	program := filepath.FromSlash(argv0(s))
	if !strings.ContainsRune(program, filepath.Separator) {
		return ""
	}
	if filepath.IsAbs(program) {
		rel, err := filepath.Rel(root, program)
		if err != nil || !filepath.IsLocal(rel) {
			return ""
		}
		program = rel
	}
	if reason := DistrustBelow(root, program); reason != "" {
		return fmt.Sprintf("its program %s is not used: %s", argv0(s), reason)
	}
	return ""
}

// A pathValue is a value of type path and the parameter that it was given for.
type pathValue struct{ label, value string }

func pathValues(s *spec, b *binding) []pathValue {
	var list []pathValue
	for _, p := range s.params {
		if p.kind != typePath {
			continue
		}
		for _, v := range b.values[p.index] {
			list = append(list, pathValue{p.label(), v})
		}
	}
	return list
}

// CheckPaths refuses values of type path that lead out of the project, or into
// what git and chant-acp keep there. They are followed from the folder in which
// the program will follow them.
//
// [Registry.Parse] has checked them. Whoever starts the program checks them again
// last thing before: a link may have been put there since.
func (i *Invocation) CheckPaths() error {
	for _, p := range i.paths {
		if err := checkPath(i.root, i.Dir, p.value); err != nil {
			return fmt.Errorf("%s cannot be %s: %w", p.label, show(p.value), err)
		}
	}
	return nil
}
