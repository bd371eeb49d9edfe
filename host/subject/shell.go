package subject

import (
	"strings"
)

// A shellWord is a word of a line for /bin/sh.
type shellWord struct {
	text string
	// program says that the shell may take it for a command.
	program bool
}

// shellWords are the words of a line as far as they are plain: quotes are taken
// off, and a word that holds an expansion stays as it is written, and so names no
// file. It is no parser: a word too many costs nothing, since it counts only where
// there is a file or a program of its name.
func shellWords(line string) []shellWord {
	var words []shellWord
	var word strings.Builder
	begun, command, output := false, true, false
	end := func() {
		if !begun {
			return
		}
		if w := (shellWord{word.String(), command}); output {
			output = false
		} else {
			words = append(words, w)
			command = command && leadsOn(w.text)
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			end()
		case '\n', ';', '&', '|', '(', ')', '`':
			end()
			command, output = true, false
		case '{', '}':
			if begun { // of an expansion
				word.WriteByte(c)
			} else {
				command = true
			}
		case '<', '>':
			end()
			output = c == '>' // what it holds does not count: it is written
		case '#':
			if !begun {
				for i+1 < len(line) && line[i+1] != '\n' {
					i++
				}
				continue
			}
			word.WriteByte(c)
		case '\\':
			if i++; i < len(line) && line[i] != '\n' {
				begun = true
				word.WriteByte(line[i])
			}
		case '\'', '"':
			begun = true
			from := i + 1
			for i++; i < len(line) && line[i] != c; i++ {
				if c == '"' && line[i] == '\\' && i+1 < len(line) {
					i++
				}
				word.WriteByte(line[i])
			}
			if quoted := line[from:min(i, len(line))]; c == '"' {
				if at := strings.IndexAny(quoted, "(`"); at >= 0 { // a command inside, whose output is the word
					words = append(words, shellWords(quoted[at+1:])...)
				}
			}
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	end()
	return words
}

// leadsOn says whether the word after this one may be a command again: after a
// reserved word, an assignment, and what runs the rest of its line.
func leadsOn(word string) bool {
	switch word {
	case "if", "then", "elif", "else", "while", "until", "do", "!", "time", "exec", "command", "env", "nohup", "sudo", "xargs", "nice", "timeout", "trap":
		return true
	}
	name, _, assigns := strings.Cut(word, "=")
	return assigns && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" ||
		strings.HasPrefix(word, "-")
}
