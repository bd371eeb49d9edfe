package shelltext

import (
	"path"
	"slices"
	"strings"
)

// judge returns the values of a simple command that are more than arguments, and
// why.
func judge(words []word) (why string, holes []string) {
	for len(words) > 0 && isReserved(words[0].text) {
		words = words[1:]
	}
	if len(words) > 0 && words[0].text == "for" || len(words) > 0 && words[0].text == "case" {
		if len(words) > 1 && words[0].text == "for" && len(words[1].holes) > 0 {
			return "it names a variable", words[1].holes
		}
		return "", nil
	}
	for len(words) > 0 && assigns(words[0].text) {
		words = words[1:]
	}
	words = skipLaunchers(words)
	if len(words) == 0 {
		return "", nil
	}
	if len(words[0].holes) > 0 {
		return "it stands where the name of a command stands", words[0].holes
	}
	name := path.Base(words[0].text)
	for _, w := range words[1:] {
		if len(w.holes) > 0 && reads(name, words, w) {
			holes = append(holes, w.holes...)
		}
	}
	return name + " reads it as more than a word", holes
}

// isReserved says whether a command's name may follow the word.
func isReserved(w string) bool {
	switch w {
	case "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done", "esac":
		return true
	}
	return false
}

// assigns says whether a word sets a variable whose name is literal.
func assigns(w string) bool {
	name, _, found := strings.Cut(w, "=")
	name = strings.TrimSuffix(name, "+")
	if !found || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// skipLaunchers drops programs that start the one named behind their options,
// and what can stand between. It stops at a value, which may be that name.
func skipLaunchers(words []word) []word {
	for len(words) > 0 {
		switch path.Base(words[0].text) {
		case "sudo", "doas", "nice", "nohup", "setsid", "stdbuf", "timeout", "ionice", "exec", "command", "builtin", "env":
		default:
			return words
		}
		words = words[1:]
		for len(words) > 0 && len(words[0].holes) == 0 && (strings.HasPrefix(words[0].text, "-") || assigns(words[0].text) || words[0].text != "" && words[0].text[0] >= '0' && words[0].text[0] <= '9') {
			words = words[1:]
		}
	}
	return words
}

// reads says whether a command takes a word among its arguments as more than a
// word: as code of a shell or another language, or as a variable.
func reads(name string, words []word, w word) bool {
	switch strings.TrimRight(name, "0123456789.") {
	case "eval", "source", "", "trap", "let", "set", "alias", "unset", "read", "getopts", "ssh", "su", "xargs", "parallel", "watch", "script", "at", "batch",
		"awk", "gawk", "mawk", "nawk", "sed", "gsed", "jq", "yq", "bc", "dc", "expr", "psql", "mysql", "sqlite", "osascript", "tclsh", "busybox":
		return true
	case "export", "declare", "local", "readonly", "typeset":
		return !assigns(w.text)
	case "[[", "test", "[":
		return slices.ContainsFunc(words, func(w word) bool {
			switch w.text {
			case "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v":
				return true
			}
			return false
		})
	}
	return slices.ContainsFunc(words, func(w word) bool {
		letters := codeOptions(path.Base(w.text))
		return letters != "" && slices.ContainsFunc(words, func(w word) bool { return isOption(w.text, letters) })
	})
}

// codeOptions are the letters of the options by which an interpreter takes code
// from its arguments; "" for other programs.
func codeOptions(name string) string {
	switch strings.TrimRight(name, "0123456789.") {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish":
		return "c"
	case "python", "perl", "ruby", "node", "deno", "bun", "php", "lua", "Rscript", "pwsh", "powershell":
		return "cCeEpr"
	}
	return ""
}

// isOption says whether a word is an option with one of the letters, alone or
// among others, or a long one that begins as --eval and --command do.
func isOption(w, letters string) bool {
	if strings.HasPrefix(w, "--") {
		return strings.HasPrefix(w, "--e") || strings.HasPrefix(w, "--c")
	}
	return strings.HasPrefix(w, "-") && strings.ContainsAny(w, letters)
}
