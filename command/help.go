package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The size that help is made for: columns, and the number of project commands
// up to which each gets a line of its own.
const (
	helpWidth    = 80
	helpOneEach  = 24
	helpMaxUsage = 36
)

// Help is the text of `help`: without a topic the whole allow-list, grouped by
// effect; with one, the command or the group of commands of that name. It is
// plain text of at most 80 columns that relies on alignment, so show it in a
// fixed-width font. An unknown topic gives the text of a refusal.
func (r *Registry) Help(topic []string, o ParseOptions) string {
	words, chant := strip(topic)
	if len(words) == 0 {
		return r.overview(o)
	}
	e := r.lookup(words, chant)
	if e != nil && len(e.words) == len(words) {
		text := r.detail(e, o)
		if subs := r.below(words, e, o); len(subs) > 0 {
			text += "\nSee also:\n" + table(subs)
		}
		return text
	}
	if subs := r.below(words, nil, o); len(subs) > 0 {
		return table(subs) + "\n`help " + subs[0].name + "` shows that one in full.\n"
	}
	if e != nil {
		return r.detail(e, o)
	}
	return r.unknown(words, o).Error() + "\n"
}

// below lists the commands whose names begin with the words, other than except.
func (r *Registry) below(words []string, except *entry, o ParseOptions) []*entry {
	return slices.DeleteFunc(o.shown(r.all()), func(e *entry) bool {
		return e == except || len(e.words) < len(words) || !slices.Equal(e.words[:len(words)], words)
	})
}

// overview is help without a topic: all commands, by their effect.
func (r *Registry) overview(o ParseOptions) string {
	var b strings.Builder
	var builtins []string
	var ofOps []*entry
	for _, e := range o.shown(r.ordered) {
		switch {
		case e.kind != KindBuiltin:
		case e.builtin.params != nil:
			ofOps = append(ofOps, e)
		default:
			builtins = append(builtins, e.signature)
		}
	}
	var own, verbs []*entry
	for _, e := range r.all() {
		switch e.kind {
		case KindProject:
			own = append(own, e)
		case KindVerb:
			verbs = append(verbs, e)
		}
	}
	width := usageWidth(own)
	for _, g := range []struct {
		effect Effect
		title  string
	}{
		{Read, "READ: changes nothing"},
		{Write, "WRITE: changes something"},
		{Destroy, "DESTROY: takes something away"},
	} {
		mine, chants := withEffect(own, g.effect), withEffect(verbs, g.effect)
		if len(mine)+len(chants) == 0 {
			continue
		}
		b.WriteString(g.title + "\n")
		if len(own) <= helpOneEach {
			b.WriteString(columns(mine, width))
		} else {
			groups(&b, mine)
		}
		if len(chants) > 0 {
			wrap(&b, "  chant: ", compact(chants))
		}
		b.WriteByte('\n')
	}
	if len(own)+len(verbs) == 0 {
		why := "no " + ManifestName + " is in use here"
		if r.manifest != nil {
			why = ManifestName + " declares none"
		}
		b.WriteString("This project allows no commands of its own: " + why + ".\n")
	}
	if why := r.Lacking(); why != "" {
		wrapText(&b, "", why+".")
		b.WriteByte('\n')
	} else if len(own)+len(verbs) == 0 {
		b.WriteByte('\n')
	}
	wrap(&b, "Built in: ", builtins)
	wrap(&b, "Ops: ", compact(ofOps))
	if list := r.environmentNames(); len(list) > 0 {
		wrap(&b, "Environments: ", list)
	}
	b.WriteString("`help <command>` shows one in full; `explain <line>` what a line would run.\n")
	return b.String()
}

func withEffect(list []*entry, effect Effect) []*entry {
	return slices.DeleteFunc(slices.Clone(list), func(e *entry) bool { return e.effect != effect })
}

func (r *Registry) environmentNames() []string {
	var list []string
	for _, e := range r.manifest.Environments() {
		if e.Protected {
			e.Name += " (protected)"
		}
		list = append(list, e.Name)
	}
	return list
}

// table gives each command a line: how it is called, what it does.
func table(list []*entry) string { return columns(list, usageWidth(list)) }

func usageWidth(list []*entry) int {
	width := 0
	for _, e := range list {
		width = max(width, utf8.RuneCountInString(shortUsage(e)))
	}
	return width
}

func columns(list []*entry, width int) string {
	var b strings.Builder
	for _, e := range list {
		usage := shortUsage(e)
		mark := ""
		if e.spec != nil && e.spec.confirm != ConfirmNone {
			mark = " (asks first)"
		}
		room := helpWidth - 4 - width - utf8.RuneCountInString(mark)
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(usage))
		fmt.Fprintf(&b, "  %s%s  %s%s\n", usage, pad, cut(e.summary, room), mark)
	}
	return b.String()
}

// shortUsage is the signature, cut behind the last part that fits.
func shortUsage(e *entry) string {
	usage := e.signature
	for utf8.RuneCountInString(usage) > helpMaxUsage {
		shorter := strings.TrimSuffix(usage, " …")
		i := strings.LastIndexByte(shorter, ' ')
		if i < len(e.name) {
			return cut(e.name, helpMaxUsage)
		}
		// A part such as [--flag …] holds a blank; never leave half of it.
		for open := strings.LastIndexAny(shorter[:i], "[<]>"); open >= 0 && (shorter[open] == '[' || shorter[open] == '<'); open = -1 {
			i = open - 1
		}
		usage = shorter[:i] + " …"
	}
	return usage
}

// cut shortens text to a number of columns.
func cut(s string, columns int) string {
	if utf8.RuneCountInString(s) <= columns {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:max(columns-1, 0)]), " ") + "…"
}

// byFirst puts the names of commands together by their first word, in order. The
// first word alone is the name "".
func byFirst(list []*entry) (firsts []string, names map[string][]string) {
	names = make(map[string][]string)
	for _, e := range list {
		first := e.words[0]
		if names[first] == nil {
			firsts = append(firsts, first)
		}
		names[first] = append(names[first], strings.Join(e.words[1:], " "))
	}
	return firsts, names
}

// groups names the commands only: a line for each first word that several
// share, then the others together.
func groups(b *strings.Builder, list []*entry) {
	firsts, names := byFirst(list)
	width := 0
	for _, first := range firsts {
		if len(names[first]) > 1 {
			width = max(width, utf8.RuneCountInString(first))
		}
	}
	var single []string
	for _, first := range firsts {
		if len(names[first]) == 1 {
			single = append(single, strings.TrimSpace(first+" "+names[first][0]))
			continue
		}
		for i, name := range names[first] {
			if name == "" {
				names[first][i] = "(alone)"
			}
		}
		wrap(b, fmt.Sprintf("  %-*s  ", width, first), names[first])
	}
	wrap(b, "  ", single)
}

// compact names the commands only, those with the same first word together, for
// running text.
func compact(list []*entry) []string {
	var items []string
	firsts, names := byFirst(list)
	for _, first := range firsts {
		subs := names[first]
		if i := slices.Index(subs, ""); i >= 0 {
			items = append(items, first)
			subs = slices.Delete(subs, i, i+1)
		}
		switch len(subs) {
		case 0:
		case 1:
			items = append(items, first+" "+subs[0])
		default:
			subs[0] = first + " (" + subs[0]
			subs[len(subs)-1] += ")"
			items = append(items, subs...)
		}
	}
	return items
}

// wrap writes items with commas behind a lead, in lines that fit.
func wrap(b *strings.Builder, lead string, items []string) {
	if len(items) == 0 {
		return
	}
	indent := strings.Repeat(" ", 4)
	line := lead
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		fresh := line == lead || line == indent
		if !fresh && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(item) > helpWidth {
			b.WriteString(line + "\n")
			line, fresh = indent, true
		}
		if !fresh {
			line += " "
		}
		line += item
	}
	b.WriteString(line + "\n")
}

// wrapText writes text behind a lead, broken between words and indented to the
// lead's width.
func wrapText(b *strings.Builder, lead, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	line, fresh := lead, true
	for _, w := range strings.Split(text, " ") {
		if !fresh && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > helpWidth {
			b.WriteString(line + "\n")
			line, fresh = indent, true
		}
		if !fresh {
			line += " "
		}
		line, fresh = line+w, false
	}
	b.WriteString(line + "\n")
}

// An Advertisement is a slash command to offer: one for each first word of the
// allow-list.
type Advertisement struct {
	Name        string // the first word
	Description string // begins with the signature, because clients drop the hint
	Hint        string // what to type after the name; "" for nothing
}

// Advertised lists the slash commands: the project's first, then the built-ins,
// then chant's verbs.
func (r *Registry) Advertised(o ParseOptions) []Advertisement {
	list := o.shown(r.all())
	slices.SortStableFunc(list, func(a, b *entry) int { return rank(a.kind) - rank(b.kind) })
	groups := make(map[string][]*entry)
	var firsts []string
	for _, e := range list {
		first := e.words[0]
		if e.name == "run" && e.kind == KindVerb && len(r.own[first]) > 0 {
			continue
		}
		if groups[first] == nil {
			firsts = append(firsts, first)
		}
		groups[first] = append(groups[first], e)
	}
	advertised := make([]Advertisement, len(firsts))
	for i, first := range firsts {
		advertised[i] = advertise(first, groups[first])
	}
	return advertised
}

func rank(k Kind) int {
	switch k {
	case KindProject:
		return 0
	case KindBuiltin:
		return 1
	}
	return 2
}

func advertise(first string, group []*entry) Advertisement {
	if len(group) == 1 {
		e := group[0]
		return Advertisement{first, e.signature + ": " + e.summary, strings.TrimSpace(strings.TrimPrefix(e.signature, first))}
	}
	var names []string
	for _, e := range group {
		if len(e.words) == 1 {
			continue
		}
		if w := e.words[1]; !slices.Contains(names, w) {
			names = append(names, w)
		}
	}
	hint := cut(strings.Join(names, "|"), 60)
	for _, e := range group {
		if len(e.words) == 1 {
			// The command itself comes before those that extend its name.
			return Advertisement{first, e.signature + ": " + e.summary + " (also: " + hint + ")", strings.TrimSpace(strings.TrimPrefix(e.signature, first))}
		}
	}
	return Advertisement{first, fmt.Sprintf("%s %s: %s, and more", first, hint, group[0].summary), hint}
}
