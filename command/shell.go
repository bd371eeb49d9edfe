package command

import (
	"slices"
	"strings"
)

// Split splits a line as [Split] does, and refuses what only a shell would
// understand: operators that stand for themselves (&&, ||, |, ;, &, >), $(…) and
// backticks, and variables set in front of the command. Quoted, all of them are
// plain text. Where the line consists of commands that are allowed, the refusal
// holds the lines to send instead.
//
// Its errors are *[SyntaxError] and *[Refusal].
func (r *Registry) Split(line string, o ParseOptions) ([]string, error) {
	words, err := Split(line)
	if err != nil {
		return nil, err
	}
	found := shellSyntax(line)
	if found.construct == "" {
		return words, nil
	}
	refusal := &Refusal{Reason: found.reason()}
	if !found.unclear && r.allowed(found.parts, o) {
		refusal.Lines = found.parts
	}
	return nil, refusal
}

// allowed says whether each of the lines is a command of the allow-list.
func (r *Registry) allowed(lines []string, o ParseOptions) bool {
	for _, line := range lines {
		words, err := Split(line)
		if err != nil || len(words) == 0 {
			return false
		}
		if _, err := r.Parse(words, o); err != nil {
			return false
		}
	}
	return true
}

// A shellUse is what of a line only a shell would understand.
type shellUse struct {
	construct string   // the first of it, as typed; "" for none
	sets      bool     // it sets a variable
	parts     []string // the commands between the operators
	unclear   bool     // there is more than commands and operators between them
}

func (u shellUse) reason() string {
	reason := "there is no shell here, so " + show(u.construct)
	if u.sets {
		name, _, _ := strings.Cut(u.construct, "=")
		return reason + " sets nothing; the manifest sets variables (env, of a command), " + name + " among them"
	}
	return reason + " does nothing; one command is run for each prompt, and what is meant as plain text stands in quotes"
}

// shellSyntax looks for what only a shell would understand in a line that
// [Split] takes.
func shellSyntax(line string) shellUse {
	var u shellUse
	begin := 0 // of the present part
	first := true
	for i := 0; i < len(line); {
		if isBlank(line[i]) || line[i] == '\r' {
			i++
			continue
		}
		end, plain := wordEnd(line, i)
		construct := shellWord(plain)
		sets := first && isAssignment(line[i:end])
		if sets {
			construct = line[i:end]
		}
		first = false
		if construct != "" && u.construct == "" {
			u.construct, u.sets = construct, sets
		}
		switch {
		case construct == "":
		case sets && u.sets && strings.TrimSpace(line[begin:i]) == "":
			begin, first = end, true
		case isSeparator(plain):
			u.parts = append(u.parts, strings.TrimSpace(line[begin:i]))
			begin, first = end, true
		case strings.HasSuffix(plain, ";") && shellWord(strings.TrimRight(plain, ";")) == "":
			u.parts = append(u.parts, strings.TrimSpace(line[begin:end-1]))
			begin, first = end, true
		default:
			u.unclear = true
		}
		i = end
	}
	if rest := strings.TrimSpace(line[begin:]); rest != "" {
		u.parts = append(u.parts, rest)
	}
	return u
}

// wordEnd returns the end of the word that begins at i, and the word with each
// quoted or escaped piece replaced by one letter, which no shell interprets.
func wordEnd(line string, i int) (end int, plain string) {
	var b, ignored []byte
	for i < len(line) && !isBlank(line[i]) {
		n, err := piece(line, i, &ignored)
		if err != nil {
			break // not reached: Split has taken the line
		}
		if c := line[i]; c == '\'' || c == '"' || c == '\\' {
			b = append(b, 'q')
		} else {
			b = append(b, c)
		}
		i += n
	}
	return i, string(b)
}

// isSeparator says whether an unquoted word stands between two commands.
func isSeparator(w string) bool {
	switch w {
	case "&&", "||", "|", "|&", ";", "&":
		return true
	}
	return false
}

// shellWord returns what of an unquoted word a shell would interpret and no
// argument is likely to mean, or "". Variables, globs and a lone & or ; within a
// word are not among it: addresses and patterns hold those.
func shellWord(w string) string {
	for _, s := range []string{"&&", "||"} {
		if strings.Contains(w, s) {
			return s
		}
	}
	switch {
	case isSeparator(w) || w == "<" || w == "<<" || w == "<<<":
		return w
	case isRedirection(w):
		return w
	case strings.HasSuffix(w, ";"):
		return ";"
	case strings.Contains(w, "$("):
		return "$(…)"
	case strings.Contains(w, "`"):
		return "`…`"
	}
	return ""
}

// isRedirection says whether a word begins as an output redirection does: >,
// >>, 2>, &>, with a file behind it or not.
func isRedirection(w string) bool {
	rest := strings.TrimLeft(w, "0123456789")
	rest = strings.TrimPrefix(rest, "&")
	return strings.HasPrefix(rest, ">") && len(w)-len(rest) <= 1
}

// isAssignment says whether a word sets a variable, as a shell reads one in
// front of a command.
func isAssignment(w string) bool {
	name, _, found := strings.Cut(w, "=")
	return found && isName(name) && !strings.Contains(name, "-")
}

// isShellWord says whether a shell (POSIX.1-2024, chapter 2) takes s for one word
// that stands for itself, bare or within quotes, in the place of an argument. At
// the place of a command's name, in arithmetic and in here-documents it may be
// more than that.
func isShellWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_@%+:,./", c) >= 0:
		case i > 0 && (c == '=' || c == '-'):
		default:
			return false
		}
	}
	return s != "" && !slices.Contains(strings.Split(s, "/"), "..")
}
