package command

import (
	"fmt"
	"slices"
	"strings"
)

// Decides says whether the line is the decision of a person, whatever the project
// and its environments are: over a gate or an event, over what may run, or to give
// a run up, to undo it, to begin it anew or without what it depends on. Callers who
// may not decide are refused it. (That only a person resumes what was cancelled, the
// runtime sees to: the line does not say what the run is.)
func (i *Invocation) Decides() bool {
	return i.Kind == KindBuiltin && (decides(i.Name) || i.Op != nil && (i.Op.Restart || i.Op.NoDepends))
}

// decides is Decides of a built-in with any arguments.
func decides(name string) bool {
	switch name {
	case "approve", "reject", "signal", "confirm", "allow", "run cancel", "run undo":
		return true
	}
	return false
}

func (e *entry) decides() bool { return e.kind == KindBuiltin && decides(e.name) }

// decides says whether a flag makes a line one that decides.
func (p *param) decides() bool { return p.name == "restart" || p.name == "no-depends" }

// shown are the commands that are listed, in order: none that decides where the
// lines come from nobody who may.
func (o ParseOptions) shown(list []*entry) []*entry {
	if o.NoPerson == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), (*entry).decides)
}

// shownFlags is shown for the flags of a verb.
func (o ParseOptions) shownFlags(flags []verbFlag) []verbFlag {
	if o.NoPerson == "" {
		return flags
	}
	return slices.DeleteFunc(slices.Clone(flags), func(f verbFlag) bool { return f.vouches() })
}

// confine refuses what a verb of chant does for a person only: to name somebody who
// acted or approved, and to follow a path out of the project. The paths are kept
// for [Invocation.CheckPaths].
func (v *verb) confine(line *verbLine, inv *Invocation, root string, o ParseOptions) string {
	if o.NoPerson == "" {
		return ""
	}
	instead := fmt.Sprintf("%s. A person may type it in an editor or a terminal: chant-acp prompt --cwd %s %s", o.NoPerson, Quote([]string{root}), Quote([]string{Quote(inv.Words)}))
	inv.root = root
	for i, p := range v.positionals {
		if p.path && i < len(line.positionals) {
			inv.paths = append(inv.paths, pathValue{"<" + p.name + ">", line.positionals[i]})
		}
	}
	for _, f := range v.flags {
		values := line.values[f.name]
		switch {
		case len(values) == 0:
		case f.vouches():
			return fmt.Sprintf("--%s says who it was, which is a person's to say, and %s", f.name, instead)
		case f.path:
			for _, value := range values {
				inv.paths = append(inv.paths, pathValue{"--" + f.name, strings.TrimPrefix(value, "@")}) // of --node-sizes
			}
		}
	}
	for _, p := range inv.paths {
		if scheme, _, is := strings.Cut(p.value, "://"); is && scheme != "https" && scheme != "http" {
			return fmt.Sprintf("%s cannot be %s: it is the address of something outside the project, and %s", p.label, show(p.value), instead)
		}
	}
	if err := inv.CheckPaths(); err != nil {
		return err.Error() + ", and " + instead
	}
	return ""
}
