// Package shelltext tells what a shell would make of values that a tool puts into
// its text, before the shell reads it.
//
// A value of the manifest's type word stays one word wherever an argument stands,
// bare or in quotes. At other places it is more than that: it could be the name of
// a command, a variable, a file to write to, a number to be worked out, or text
// for another interpreter. [Uses] finds those places in a script. It knows the
// grammar of POSIX.1-2024, chapter 2, and what bash adds that matters here; what
// it can't follow counts as unsafe.
package shelltext

import (
	"slices"
	"strings"
)

// A Piece is a part of a script: literal text, or a hole that a value fills.
type Piece struct {
	Text string
	Hole string // the name of the value; "" for literal text
	// Variable says that the shell itself puts the value in, as of $NAME: not in
	// single quotes, and not behind a backslash.
	Variable bool
}

// A Use says where a value stands in a script.
type Use struct {
	// Unsafe says why a word may be more than an argument at one place at least:
	// a clause such as "it names a variable"; "" where it is an argument
	// everywhere.
	Unsafe string
	// Bare says that it stands at one place at least outside quotes, where a
	// shell splits into words what an expansion gives.
	Bare bool
	// Quoted says that it stands within quotes at one place at least.
	Quoted bool
}

// Uses returns where each value of a script stands.
func Uses(script []Piece) map[string]Use {
	s := &scanner{uses: make(map[string]Use)}
	s.open(kindCommands)
	for _, p := range script {
		if p.Hole != "" {
			s.hole(p.Hole, p.Variable)
			continue
		}
		for i := 0; i < len(p.Text); i++ {
			s.next(p.Text[i])
		}
	}
	s.next('\n')
	for len(s.stack) > 1 { // an end that is missing
		s.close()
	}
	s.endCommand()
	if s.lost != "" {
		for _, p := range script {
			if p.Hole != "" {
				s.mark(p.Hole, s.lost)
			}
		}
	}
	return s.uses
}

// A kind is what a part of a script is to the shell.
type kind int

const (
	kindCommands   kind = iota // commands, up to the end, ")" or "`"
	kindDouble                 // "…"
	kindSingle                 // '…'
	kindExpansion              // ${…}
	kindArithmetic             // $((…)) or ((…))
	kindComment
)

// A frame is one level of nesting. A command that is being read belongs to a
// frame of kindCommands.
type frame struct {
	kind    kind
	closer  byte // of kindCommands: ')' or '`'; 0 for the script itself
	command command
}

// A command is a simple command as far as it was read.
type command struct {
	words    []word
	word     word
	open     bool // word has begun
	redirect bool // the next word, or this one, is a redirection's target
}

// A word is its literal text, with holeMark and nestMark in the places of values
// and substitutions.
type word struct {
	text  string
	holes []string
}

const (
	holeMark = '\x00'
	nestMark = '\x01'
)

type scanner struct {
	stack   []frame
	escaped bool
	last    byte // the character before, within one frame; 0 at its beginning
	depth   int  // of parentheses within arithmetic
	uses    map[string]Use
	lost    string // why nothing can be told
}

func (s *scanner) top() *frame { return &s.stack[len(s.stack)-1] }

func (s *scanner) open(k kind) { s.stack = append(s.stack, frame{kind: k}); s.last = 0 }

func (s *scanner) close() {
	if s.top().kind == kindCommands {
		s.endCommand()
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.last = nestMark
}

// commands is the innermost frame that holds commands.
func (s *scanner) commands() *command {
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i].kind == kindCommands {
			return &s.stack[i].command
		}
	}
	return &s.stack[0].command
}

func (s *scanner) mark(hole, why string) {
	u := s.uses[hole]
	if u.Unsafe == "" {
		u.Unsafe = why
	}
	s.uses[hole] = u
}

// hole takes a value in the place where the script stands.
func (s *scanner) hole(name string, variable bool) {
	c := s.commands()
	f := s.top()
	if variable && (f.kind == kindSingle || s.escaped) {
		s.escaped = false
		s.literal('$')
		return
	}
	if f.kind != kindComment {
		u := s.uses[name]
		u.Bare = u.Bare || f.kind != kindDouble && f.kind != kindSingle
		u.Quoted = u.Quoted || f.kind == kindDouble || f.kind == kindSingle
		s.uses[name] = u
	}
	switch {
	case f.kind == kindSingle || f.kind == kindComment:
	case s.escaped, s.last == '$':
		s.mark(name, "it stands behind a $ or a backslash")
	case f.kind == kindExpansion:
		s.mark(name, "it stands in a ${…}")
	case f.kind == kindArithmetic:
		s.mark(name, "it is worked out as a number")
	case f.kind == kindCommands && strings.Contains(c.word.text, "{"):
		s.mark(name, "it stands in braces that bash expands")
	case f.kind == kindCommands && strings.HasPrefix(c.word.text, "~"):
		s.mark(name, "it stands behind a ~")
	}
	if f.kind == kindComment {
		return
	}
	s.escaped, s.last = false, holeMark
	c.open = true
	c.word.text += string(holeMark)
	c.word.holes = append(c.word.holes, name)
	if c.redirect {
		s.mark(name, "it names a file that output goes to or input comes from")
	}
}

// next takes one character of the script.
func (s *scanner) next(b byte) {
	f := s.top()
	if s.escaped {
		s.escaped = false
		if b != '\n' { // else the line goes on
			s.literal(b)
		}
		return
	}
	switch f.kind {
	case kindSingle:
		if b == '\'' {
			s.close()
			return
		}
		s.literal(b)
	case kindDouble:
		s.inDouble(b)
	case kindExpansion:
		s.inExpansion(b)
	case kindArithmetic:
		s.inArithmetic(b)
	case kindComment:
		if b == '\n' {
			s.close()
			s.next(b)
		}
	case kindCommands:
		s.inCommands(b)
	}
}

// literal takes a character that stands for itself.
func (s *scanner) literal(b byte) {
	c := s.commands()
	c.open = true
	c.word.text += string(rune(b))
	s.last = b
}

func (s *scanner) inDouble(b byte) {
	switch {
	case b == '"':
		s.close()
	case b == '\\':
		s.escaped = true
	case b == '`':
		s.substitution('`')
	case s.last == '$' && (b == '(' || b == '{'):
		s.dollar(b)
	default:
		s.literal(b)
	}
}

func (s *scanner) inExpansion(b byte) {
	switch {
	case b == '}':
		s.close()
	case b == '\\':
		s.escaped = true
	case b == '\'':
		s.open(kindSingle)
	case b == '"':
		s.open(kindDouble)
	case b == '`':
		s.substitution('`')
	case s.last == '$' && (b == '(' || b == '{'):
		s.dollar(b)
	default:
		s.last = b
	}
}

func (s *scanner) inArithmetic(b byte) {
	switch b {
	case '(':
		s.depth++
	case ')':
		if s.depth--; s.depth == 0 {
			s.close()
		}
	}
}

// dollar begins what "$(" or "${" opens.
func (s *scanner) dollar(b byte) {
	if b == '{' {
		s.open(kindExpansion)
		return
	}
	s.substitution(')')
}

// substitution begins commands within a word.
func (s *scanner) substitution(closer byte) {
	c := s.commands()
	c.open = true
	c.word.text += string(nestMark)
	if closer == '`' && slices.ContainsFunc(s.stack, func(f frame) bool { return f.closer == '`' }) {
		if s.top().closer == '`' {
			s.close()
			return
		}
		s.lost = "it stands near backticks that can't be followed"
	}
	s.open(kindCommands)
	s.top().closer = closer
	if closer == ')' {
		s.last = '('
	}
}

func (s *scanner) inCommands(b byte) {
	f := s.top()
	c := &f.command
	switch {
	case b == '\\':
		s.escaped = true
		c.open = true
	case b == '\'':
		if s.last == '$' {
			s.lost = "it stands near a $'…'"
		}
		c.open = true
		s.open(kindSingle)
	case b == '"':
		c.open = true
		s.open(kindDouble)
	case b == '`' && f.closer == '`':
		s.close()
	case b == '`':
		s.substitution('`')
	case s.last == '$' && (b == '(' || b == '{'):
		s.dollar(b)
	case b == '(' && s.last == '(' && len(f.command.words) == 0 && !c.open && f.closer == ')' && f.command.isNew():
		// "((": the frame that the first one opened is arithmetic.
		f.kind, s.depth = kindArithmetic, 2
	case b == '#' && !c.open:
		s.open(kindComment)
	case b == ' ' || b == '\t' || b == '\r':
		s.endWord()
		s.last = b
	case b == '\n' || b == ';' || b == '|' || b == '&' && s.last != '>' && s.last != '<':
		s.endCommand()
		s.last = b
	case b == '(':
		s.endCommand()
		s.open(kindCommands)
		s.top().closer = ')'
		s.last = '('
	case b == ')':
		s.closeParenthesis()
	case b == '<' || b == '>':
		s.redirection(b)
	default:
		s.literal(b)
	}
}

func (c *command) isNew() bool { return len(c.words) == 0 && !c.open && !c.redirect }

// closeParenthesis ends a subshell or substitution. One that none has opened ends
// a pattern of case.
func (s *scanner) closeParenthesis() {
	s.endCommand()
	if s.top().closer == ')' {
		s.close()
		return
	}
	s.last = ')'
}

func (s *scanner) redirection(b byte) {
	c := s.commands()
	if s.last == holeMark {
		for _, hole := range c.word.holes {
			s.mark(hole, "it stands right before a redirection, which takes a number there")
		}
	}
	if b == '<' && s.last == '<' {
		s.lost = "it stands near a here-document"
	}
	s.endWord()
	c.redirect = true
	s.last = b
}

func (s *scanner) endWord() {
	c := s.commands()
	if !c.open {
		return
	}
	if !c.redirect {
		c.words = append(c.words, c.word)
	}
	c.word, c.open, c.redirect = word{}, false, false
	if n := len(c.words); n > 0 && c.words[n-1].text == "case" && len(s.stack) > 1 {
		s.lost = "it stands near a case within another command"
	}
}

// endCommand judges the command that ends here.
func (s *scanner) endCommand() {
	s.endWord()
	c := s.commands()
	why, holes := judge(c.words)
	for _, hole := range holes {
		s.mark(hole, why)
	}
	*c = command{}
}
