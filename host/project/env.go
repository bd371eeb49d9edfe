package project

import (
	"strings"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/local"
)

func cutName(entry, name string) (string, bool) {
	if len(entry) > len(name) && entry[len(name)] == '=' && entry[:len(name)] == name {
		return entry[len(name)+1:], true
	}
	return "", false
}

// quietEnv are for programs that print into a thread, where nobody can answer a
// prompt or leave a pager.
var quietEnv = []string{"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}

// environment is what a program gets: what this process inherited, without what
// was said of another line; the defaults for its kind of output; and what the
// manifest and the line say, each over the last.
func (p *Project) environment(inv *command.Invocation, color bool) []string {
	return lastOnly(append(p.environ(inv.TTY, color), inv.Env...))
}

// environ is the part of environment that is the same for all programs.
func (p *Project) environ(tty, color bool) []string {
	vars := local.WithoutWords(p.o.Env)
	switch {
	case tty:
		if lookup(vars, "TERM") == "" {
			vars = append(vars, "TERM=xterm-256color")
		}
	case color:
		vars = append(drop(vars, "NO_COLOR"), quietEnv...)
		vars = append(vars, "TERM=xterm-256color", "FORCE_COLOR=1")
	default:
		vars = append(drop(vars, "FORCE_COLOR"), quietEnv...)
		vars = append(vars, "TERM=dumb", "NO_COLOR=1")
	}
	return vars
}

func drop(env []string, name string) []string {
	kept := env[:0]
	for _, e := range env {
		if _, ok := cutName(e, name); !ok {
			kept = append(kept, e)
		}
	}
	return kept
}

// lastOnly keeps the last entry of each name: programs differ in which of two
// they take.
func lastOnly(env []string) []string {
	at := make(map[string]int, len(env))
	out := env[:0]
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if i, ok := at[name]; ok {
			out[i] = e
			continue
		}
		at[name] = len(out)
		out = append(out, e)
	}
	return out
}
