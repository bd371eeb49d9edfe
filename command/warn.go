package command

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// warnings finds the places where the manifest lets through more than it seems
// to, in the order of the file. None of them makes it invalid.
func warnings(m *Manifest) []Diagnostic {
	w := &warner{file: m.file}
	for _, s := range m.commands {
		w.name(s)
		w.rest(s)
		w.params(s, m)
		if s.effect == Destroy && s.confirm == ConfirmNone {
			w.at(s.line, s.column, "%s destroys and asks nobody; leave confirm out for retype, or say ask", s.name)
		}
	}
	sortDiagnostics(w.found)
	return w.found
}

// warner collects what is allowed in a manifest and is probably not meant.
type warner struct {
	file  string
	found []Diagnostic
}

func (w *warner) at(line, column int, format string, args ...any) {
	w.found = append(w.found, Diagnostic{w.file, line, column, fmt.Sprintf(format, args...)})
}

// name warns of names that a client takes for itself (agent-shell 0.74, seen in
// Emacs 30).
func (w *warner) name(s *spec) {
	if s.name == "clear" || s.name == "config" {
		w.at(s.line, s.column, "%s alone in a line never arrives from agent-shell, which takes the word for itself: there, type /%s, or choose another name", s.name, s.name)
	}
}

// rest looks at what a command passes on unnamed.
func (w *warner) rest(s *spec) {
	if s.rest.none() {
		return
	}
	l := s.leak()
	if s.rest.any {
		text := s.name + " passes on any argument (rest: any)"
		if l.why != "" {
			text += ", and " + l.why
		}
		w.at(s.line, s.column, "%s; allow what is needed with rest: {pattern: …}", text)
		return
	}
	for _, probe := range l.probes {
		if s.rest.allows(probe) {
			w.at(s.line, s.column, "the pattern of rest in %s lets %q through, and %s; narrow the pattern", s.name, probe, l.why)
			return
		}
	}
	// No program has all of these options, so a pattern that takes one of the long
	// ones, or all of the short ones, names none of them.
	for _, probes := range [][]string{{"--no-such-option=x"}, {"--no-such-option"}, {"-q", "-x", "-j", "-z"}} {
		if !slices.ContainsFunc(probes, func(probe string) bool { return !s.rest.allows(probe) }) {
			w.at(s.line, s.column, "the pattern of rest in %s lets every option of %s through (it matches %q); name the options that are meant", s.name, argv0(s), strings.Join(probes, " "))
			return
		}
	}
}

// params looks at the parameters of a command.
func (w *warner) params(s *spec, m *Manifest) {
	l := s.leak()
	for _, p := range s.params {
		used := s.uses(p)
		switch {
		case !used && !p.namesEnvironment():
			w.at(p.line, p.column, "the parameter %s of %s is used nowhere in exec, so what is given is lost", p.name, s.name)
		case !p.namesEnvironment() && m.protectsOneOf(p.defaults):
			w.at(p.line, p.column, "the parameter %s of %s is %s where it is not given, which is the name of a protected environment; call it env if it is one, or drop the default", p.name, s.name, p.defaults[0])
		case used && p.free() && l.interprets:
			w.at(p.line, p.column, "the parameter %s of %s is handed to %s, which may interpret it, and takes any text; give it an enum or a pattern", p.name, s.name, l.program)
		}
	}
}

// protectsOneOf says whether one of the names is that of a protected environment.
func (m *Manifest) protectsOneOf(names []string) bool {
	return slices.ContainsFunc(m.environments, func(e Environment) bool { return e.Protected && slices.Contains(names, e.Name) })
}

// uses says whether exec holds the parameter.
func (s *spec) uses(p *param) bool {
	return slices.ContainsFunc(s.exec, func(t template) bool {
		return slices.ContainsFunc(t, func(part templatePart) bool { return part.param == p })
	})
}

// A leak is how a program can be made to run another one by its arguments.
type leak struct {
	program    string
	probes     []string // arguments that do it, alone or with the next one
	why        string   // a clause for a message; "" for a program not known to
	interprets bool     // plain text given to it may be run, too
}

// leak tells how the command's program can be turned into another. It follows
// programs such as env, sudo and docker exec to the one they start.
func (s *spec) leak() leak {
	words := make([]string, len(s.exec))
	for i, t := range s.exec {
		words[i], _ = t.literal()
	}
	for len(words) > 0 {
		name := strings.TrimSuffix(path.Base(words[0]), ".exe")
		started, launches := launched(name, words[1:])
		if !launches {
			return leakOf(name, words[1:])
		}
		if len(started) == 0 || started[0] == "" {
			return leak{name, anyProgram(), name + " runs the program that its arguments name", true}
		}
		words = started
	}
	return leak{}
}

// launched returns what follows a program that starts the one named after its
// own options: the words from that name on. ok is false for other programs.
func launched(name string, words []string) (started []string, ok bool) {
	if launches(name) {
		words = skipOptions(words, valueOptions(name))
		if name == "chroot" || name == "flock" { // a folder and a lock come first
			words = skipOptions(words[min(1, len(words)):], "")
		}
		return words, true
	}
	if !startsInContainer(name) {
		return nil, false
	}
	words = skipOptions(words, "nHlc")
	if len(words) > 0 && words[0] == "compose" {
		words = skipOptions(words[1:], "fp")
	}
	if len(words) == 0 || words[0] != "exec" && words[0] != "run" {
		return nil, false
	}
	words = skipOptions(words[1:], "euwcnfvp")
	words = skipOptions(words[min(1, len(words)):], "cnf") // the container or image
	return words, true
}

func startsInContainer(name string) bool {
	switch name {
	case "docker", "podman", "nerdctl", "kubectl", "oc":
		return true
	}
	return false
}

// valueOptions are the letters of those options of a launcher that take the next
// word as their value.
func valueOptions(name string) string {
	switch name {
	case "sudo":
		return "ughpCrtTUDR"
	case "doas":
		return "uC"
	case "env":
		return "uC"
	case "xargs", "parallel":
		return "InPLsdEaj"
	case "timeout":
		return "ks"
	case "ionice", "nice":
		return "cnp"
	case "watch":
		return "n"
	case "stdbuf":
		return "ioe"
	}
	return ""
}

// skipOptions drops what stands between a launcher and its program: options, the
// values of those whose letters are given, assignments and numbers.
func skipOptions(words []string, valued string) []string {
	for len(words) > 0 && words[0] != "" {
		w := words[0]
		switch {
		case w == "--":
			return words[1:]
		case len(w) == 2 && w[0] == '-' && strings.ContainsRune(valued, rune(w[1])):
			words = words[min(2, len(words)):]
		case w[0] == '-' || strings.Contains(w, "=") || w[0] >= '0' && w[0] <= '9':
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

func launches(name string) bool {
	switch name {
	case "env", "xargs", "sudo", "doas", "nice", "nohup", "setsid", "stdbuf", "time", "timeout", "watch", "ionice", "chroot", "flock", "parallel", "npx", "bunx", "uvx":
		return true
	}
	return false
}

// anyProgram are arguments that name a program or a script.
func anyProgram() []string { return []string{"x", "./x", "sh", "-c", "-e", "echo x"} }

// leakOf knows the programs that take a program, or a place to read one from, as
// an argument. words are the fixed arguments after the name, "" where a
// parameter stands.
func leakOf(name string, words []string) leak {
	l := leak{program: name}
	options := func(why string, probes ...string) leak {
		l.why, l.probes = why, probes
		return l
	}
	// A script that is fixed takes the arguments that follow it. It is the first
	// word that is no option; a parameter in its place is not fixed.
	first := slices.IndexFunc(words, func(w string) bool { return w == "" || w[0] != '-' })
	scripted := first >= 0 && words[first] != ""
	switch strings.TrimRight(name, "0123456789.") {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd":
		l.interprets = true
		if !scripted {
			return options(name+" runs what its arguments say", anyProgram()...)
		}
	case "python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "tclsh", "osascript", "Rscript":
		if !scripted {
			l.interprets = true
			return options(name+" runs the script that its arguments name", anyProgram()...)
		}
	case "awk", "gawk", "mawk", "sed":
		l.interprets = !scripted
		return options(name+" takes programs as arguments", "-e", "-f", "-fx", "-ex", "--expression=x", "--file=x")
	case "psql", "mysql", "mariadb", "sqlite", "duckdb":
		l.interprets = true
		return options(name+" runs the statements and the shell lines that its arguments hold", "-c", "-cx", "--command=x", "-f", "-fx", "--file=x", "-e", "-ex", "--execute=x", "-cmd", "-init", ".shell x", "select 1")
	case "vi", "vim", "nvim", "view", "ex", "emacs", "less", "more":
		l.interprets = true
		return options(name+" runs commands that its arguments hold", "+x", "-c", "-cx", "--cmd", "-S", "-Sx", "-u", "-s", "--eval=x", "--load=x")
	case "ssh":
		l.interprets = true
		return options("ssh takes programs to run, here with -o and there as words", append(anyProgram(), "-o", "-oProxyCommand=x")...)
	case "scp", "sftp":
		return options(name+" runs the program that -o or -S names", "-o", "-oProxyCommand=x", "-S", "-Sx")
	case "rsync":
		return options("rsync runs the program that -e names", "-e", "-ex", "--rsh=x", "--rsync-path=x")
	case "go":
		return options("go runs the program that -exec or -toolexec names", "-exec=x", "-exec", "--exec=x", "-toolexec=x", "-toolexec", "-vettool=x", "-vettool")
	case "git":
		return options("git runs programs that its options name, -c among them", "-c", "-cx=y", "--exec-path=x", "--config-env=x", "--upload-pack=x", "--receive-pack=x", "--exec=x", "--exec", "--open-files-in-pager=x", "-Ox", "--ext-diff")
	case "find":
		return options("find runs the program that -exec names", "-exec", "-execdir", "-ok", "-okdir")
	case "tar", "gtar", "bsdtar":
		return options("tar runs the program that --to-command names", "--to-command=x", "--to-command", "--checkpoint-action=exec=x", "--use-compress-program=x", "-I", "-Ix", "--info-script=x", "-F", "--rsh-command=x")
	case "make", "gmake":
		l.interprets = true
		return options("make runs what its variables and --eval say", "SHELL=x", "X=y", "--eval=x", "--eval", "-f", "-fx", "--file=x", "-C")
	case "just":
		l.interprets = true
		return options("just puts its arguments into shell lines", "--shell", "--shell=x", "-f", "--justfile=x", "--set", "--command", "-c")
	case "npm", "pnpm", "yarn":
		l.interprets = true
		return options(name+" hands its arguments to a shell", "--script-shell=x", "--prefix=x", "--prefix", "exec", "-c")
	case "task":
		l.interprets = true
		return options("task puts its arguments into shell lines", "X=y", "--taskfile=x", "-t", "-d")
	case "cargo":
		return options("cargo runs the programs that --config names", "--config=x", "--config")
	}
	return l
}
