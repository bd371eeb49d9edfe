package command

import (
	"slices"
	"strings"
)

// A Completion is a word that may come next.
type Completion struct {
	Word        string
	Description string // "" for none
}

// Complete returns what the last word of a line may become: partial, after the
// words that are there already. It knows names, flags, and the values of those
// parameters that have a list of them. files says that the word may be a path.
func (r *Registry) Complete(words []string, partial string) (list []Completion, files bool) {
	list = r.completeName(words, partial)
	if len(words) == 0 {
		return list, false
	}
	words, chant := strip(words)
	if len(words) == 0 {
		return r.completeName(nil, partial), false
	}
	if words[0] == "help" || words[0] == "explain" {
		list, files = r.Complete(words[1:], partial)
		return list, files && words[0] == "explain"
	}
	e := r.lookup(words, chant)
	if e == nil || e.spec == nil {
		return list, false
	}
	values, files := e.spec.completeValue(words[len(e.words):], partial)
	return append(list, values...), files
}

// completeName completes the name of a command of one word or more.
func (r *Registry) completeName(words []string, partial string) []Completion {
	var list []Completion
	for _, e := range r.all() {
		at := len(words)
		if at >= len(e.words) || !slices.Equal(e.words[:at], words) || !strings.HasPrefix(e.words[at], partial) {
			continue
		}
		c := Completion{Word: e.words[at]}
		if at == len(e.words)-1 {
			c.Description = e.summary
		}
		same := slices.IndexFunc(list, func(o Completion) bool { return o.Word == c.Word })
		switch {
		case same < 0:
			list = append(list, c)
		case list[same].Description == "":
			list[same].Description = c.Description
		}
	}
	return list
}

// completeValue returns what an argument after args may become.
func (s *spec) completeValue(args []string, partial string) (list []Completion, files bool) {
	b := &binder{spec: s, places: s.positionals(), ended: len(s.params) == 0}
	b.values, b.given = make([][]string, len(s.params)), make([]bool, len(s.params))
	for i := 0; i < len(args); {
		if p := b.awaits(args[i:]); p != nil {
			return p.completions("", partial)
		}
		n, _ := b.take(args[i:]) // a word that is wrong is told of when the line is sent
		i += max(n, 1)
	}
	if name, value, joined := strings.Cut(partial, "="); !b.ended && joined {
		if p := s.flag(name); p != nil {
			return p.completions(name+"=", value)
		}
	}
	if len(b.places) > 0 {
		list, files = b.places[0].completions("", partial)
	}
	if !b.ended && strings.HasPrefix(partial, "-") || partial == "" && len(list) == 0 && !files {
		list = append(list, b.flags(partial)...)
	}
	return list, files && (b.ended || !strings.HasPrefix(partial, "-"))
}

// awaits returns the parameter whose flag is the last of the words and has no
// value yet.
func (b *binder) awaits(words []string) *param {
	if b.ended || len(words) != 1 || strings.Contains(words[0], "=") {
		return nil
	}
	if p := b.spec.flag(words[0]); p != nil && p.kind != typeBool {
		return p
	}
	return nil
}

// flags are the flags that may still be given.
func (b *binder) flags(partial string) []Completion {
	var list []Completion
	for _, p := range b.spec.params {
		if p.flag != "" && strings.HasPrefix(p.flag, partial) && (p.repeat || !b.given[p.index]) {
			list = append(list, Completion{p.flag, p.description})
		}
	}
	return list
}

// completions are the values of a parameter that begin with partial, each behind
// a prefix.
func (p *param) completions(prefix, partial string) (list []Completion, files bool) {
	values := p.enum
	if p.kind == typeBool {
		values = []string{"true", "false"}
	}
	for _, v := range values {
		if strings.HasPrefix(v, partial) {
			list = append(list, Completion{prefix + v, p.description})
		}
	}
	return list, p.kind == typePath && values == nil
}
