package just

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/chant-acp/chant-acp/command/source/shelltext"
)

// A class says what a parameter's value may be.
type class struct {
	word   bool   // only a word, because a shell reads it
	unsafe string // why not even that is enough: a clause; "" where it is
}

// and is the stricter of both.
func (c class) and(other class) class {
	if c.unsafe == "" {
		c.unsafe = other.unsafe
	}
	c.word = c.word || other.word
	return c
}

// A value reaches a recipe's text under a name that says how: as it is, by
// quote(), or as a variable that the shell itself expands.
const (
	quotedPrefix   = "quote:"
	variablePrefix = "variable:"
	argumentsName  = "arguments" // $1, $@ and the like
)

// classify decides on each parameter of a recipe by where its value ends up.
// visited are the recipes that lead here by their dependencies.
func classify(r *recipe, visited []*recipe) map[string]class {
	classes := make(map[string]class, len(r.Parameters))
	uses, shell := r.uses()
	for _, p := range r.Parameters {
		var c class
		if u, found := uses[p.Name]; found {
			c = class{word: true, unsafe: u.Unsafe}
			if !shell {
				c.unsafe = "it becomes text of a program that is not a shell's"
			}
		}
		if u, found := uses[quotedPrefix+p.Name]; found {
			c = c.and(class{word: u.Quoted, unsafe: u.Unsafe})
			if !shell {
				c.unsafe = "it becomes text of a program that is not a shell's"
			}
		}
		for _, name := range []string{variablePrefix + p.Name, argumentsName} {
			if u, found := uses[name]; found && shell {
				c = c.and(class{word: u.Bare, unsafe: u.Unsafe})
			}
		}
		if r.exports(p.Name) && r.calculates() {
			c.word = true // bash runs what an array's index in a number holds
		}
		classes[p.Name] = c
	}
	r.follow(classes, append(visited, r))
	return classes
}

// follow adds what becomes of values in other parameters' defaults and in
// dependencies.
func (r *recipe) follow(classes map[string]class, visited []*recipe) {
	into := func(expr json.RawMessage, target class) {
		for name, how := range mentions(expr) {
			if c, isParam := classes[name]; isParam {
				switch {
				case target.unsafe != "" || how == whole:
					c = c.and(target)
				case how == part:
					c = c.and(class{word: target.word})
				default:
					c = c.and(class{unsafe: "it goes through an expression that can't be followed"})
				}
				classes[name] = c
			}
		}
	}
	for i := len(r.Parameters) - 1; i >= 0; i-- { // a default mentions earlier ones
		into(r.Parameters[i].Default, classes[r.Parameters[i].Name])
	}
	for _, d := range r.Dependencies {
		next := r.in.Recipes[d.Recipe]
		var target map[string]class
		switch {
		case next == nil || contains(visited, next):
		default:
			target = classify(next, visited)
		}
		for i, argument := range d.Arguments {
			c := class{unsafe: "it is handed to " + d.Recipe + ", which can't be followed"}
			if target != nil && len(next.Parameters) > 0 {
				c = target[next.Parameters[min(i, len(next.Parameters)-1)].Name]
			}
			into(argument, c)
		}
	}
}

func contains(list []*recipe, r *recipe) bool {
	for _, other := range list {
		if other == r {
			return true
		}
	}
	return false
}

// uses reads the recipe's text. shell says that a POSIX shell reads it.
func (r *recipe) uses() (uses map[string]shelltext.Use, shell bool) {
	var script []shelltext.Piece
	lines := r.Body
	shell = r.in.Settings.Shell == nil || isShell(r.in.Settings.Shell.Command)
	if r.Shebang || r.has("script") || r.in.Settings.DefaultScript {
		shell = r.scriptShell()
	}
	for _, line := range lines {
		for i, fragment := range line {
			var text string
			if json.Unmarshal(fragment, &text) == nil {
				if i == 0 && !r.Shebang {
					text = strings.TrimLeft(text, "@-?") // what just itself reads
				}
				script = append(script, r.expand(text)...)
				continue
			}
			script = append(script, r.interpolation(fragment)...)
		}
		script = append(script, shelltext.Piece{Text: "\n"})
	}
	return shelltext.Uses(script), shell
}

// calculates says whether the recipe's text works out numbers.
func (r *recipe) calculates() bool {
	for _, line := range r.Body {
		for _, fragment := range line {
			var text string
			if json.Unmarshal(fragment, &text) == nil && strings.Contains(text, "((") {
				return true
			}
		}
	}
	return false
}

// scriptShell says whether a recipe that is a script is one of a POSIX shell.
func (r *recipe) scriptShell() bool {
	if value, found := r.attribute("script"); found || !r.Shebang {
		var s *shell
		if json.Unmarshal(value, &s) == nil && s != nil {
			return isShell(s.Command)
		}
		return true // just's own default for scripts is sh
	}
	var first string
	if len(r.Body) > 0 && len(r.Body[0]) > 0 {
		_ = json.Unmarshal(r.Body[0][0], &first)
	}
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	for len(words) > 0 && (path.Base(words[0]) == "env" || strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	return len(words) > 0 && isShell(words[0])
}

func isShell(program string) bool {
	switch path.Base(program) {
	case "sh", "bash", "dash", "ash", "ksh", "zsh":
		return true
	}
	return false
}

// interpolation is {{…}}: the parameters that it mentions, each as a hole.
func (r *recipe) interpolation(fragment json.RawMessage) []shelltext.Piece {
	var list []shelltext.Piece
	for name, how := range mentions(fragment) {
		if !r.declares(name) {
			list = append(list, shelltext.Piece{Text: r.in.literal(name)})
			continue
		}
		if how == quotedWhole {
			name = quotedPrefix + name
		}
		list = append(list, shelltext.Piece{Hole: name})
		if how == elsewhere {
			list = append(list, shelltext.Piece{Text: "$"}, shelltext.Piece{Hole: name}) // can't be followed
		}
	}
	if list == nil {
		list = append(list, shelltext.Piece{Text: "x"}) // something stands here
	}
	return list
}

// literal is the text of a variable of the justfile, where it is written out;
// else some word.
func (m *module) literal(name string) string {
	var text string
	if json.Unmarshal(m.Assignments[name].Value, &text) == nil {
		return text
	}
	return "x"
}

func (r *recipe) declares(name string) bool {
	for _, p := range r.Parameters {
		if p.Name == name {
			return true
		}
	}
	return false
}

// expand finds the variables of a text that hold parameters: exported ones, and
// the arguments where the recipe gets them.
func (r *recipe) expand(text string) []shelltext.Piece {
	positional := r.in.Settings.Positional || r.has("positional-arguments")
	var list []shelltext.Piece
	begin := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		name, n := variable(text[i:])
		hole := ""
		switch {
		case n == 0:
			continue
		case r.exports(name):
			hole = variablePrefix + name
		case positional && name != "0" && strings.Trim(name, "0123456789@*") == "":
			hole = argumentsName
		default:
			continue
		}
		list = append(list, shelltext.Piece{Text: text[begin:i]}, shelltext.Piece{Hole: hole, Variable: true})
		i += n - 1
		begin = i + 1
	}
	return append(list, shelltext.Piece{Text: text[begin:]})
}

func (r *recipe) exports(name string) bool {
	for _, p := range r.Parameters {
		if p.Name == name {
			return p.Export || r.in.Settings.Export
		}
	}
	return false
}

// variable reads $NAME, $1, $@ or a ${NAME…} without nesting at the start of s.
func variable(s string) (name string, length int) {
	begin := 1
	braced := strings.HasPrefix(s, "${")
	if braced {
		begin = 2
	}
	end := begin
	for end < len(s) && (s[end] == '_' || s[end] >= 'a' && s[end] <= 'z' || s[end] >= 'A' && s[end] <= 'Z' || s[end] >= '0' && s[end] <= '9') {
		end++
	}
	if end == begin && end < len(s) && (s[end] == '@' || s[end] == '*') {
		end++
	}
	if end == begin {
		return "", 0
	}
	if !braced {
		return s[begin:end], end
	}
	closing := strings.IndexByte(s, '}')
	if closing < 0 || strings.Contains(s[begin:closing], "{") {
		return "", 0
	}
	return s[begin:end], closing + 1
}
