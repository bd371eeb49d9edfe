package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/chant-acp/chant-acp/internal/near"
)

// A Refusal says why a line is not a command of the allow-list, and what would
// be.
type Refusal struct {
	Reason      string       // what was wrong, and what to do about it
	Usage       string       // the signature of the command that was meant; "" when unknown
	Topic       string       // what to ask help for; "" for all of it
	Suggestions []Suggestion // commands that may have been meant, likeliest first
	Lines       []string     // lines that would be taken, to send one after the other

	group bool // the suggestions are all the commands of a group
}

// A Suggestion is a command that may have been meant.
type Suggestion struct {
	Name    string
	Summary string
}

// Error is the whole text to show a person.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Reason)
	if !strings.HasSuffix(r.Reason, "?") {
		b.WriteByte('.')
	}
	if r.Usage != "" {
		b.WriteString("\nUsage: " + r.Usage)
	}
	switch len(r.Lines) {
	case 0:
	case 1:
		b.WriteString("\nSend this instead:")
	default:
		b.WriteString("\nSend these one by one:")
	}
	for _, line := range r.Lines {
		b.WriteString("\n  " + line)
	}
	if len(r.Suggestions) > 0 {
		if r.group {
			b.WriteString("\nThere are:")
		} else {
			b.WriteString("\nDid you mean:")
		}
		width := 0
		for _, s := range r.Suggestions {
			width = max(width, len(s.Name))
		}
		for _, s := range r.Suggestions {
			fmt.Fprintf(&b, "\n  %-*s  %s", width, s.Name, s.Summary)
		}
	}
	if r.Topic != "" {
		fmt.Fprintf(&b, "\n`help %s` says more; `help` lists everything that can be run here.", r.Topic)
	} else {
		b.WriteString("\n`help` lists everything that can be run here.")
	}
	return b.String()
}

// refuse makes the refusal of a known command's arguments.
func (e *entry) refuse(reason string) *Refusal {
	return &Refusal{Reason: e.name + ": " + reason, Usage: e.signature, Topic: e.name}
}

// noChant tells where a chant program is looked for.
const noChant = "no chant program was found (node_modules/.bin/chant of the project, then PATH)"

// A candidate is a name that an unknown word is compared with.
type candidate struct {
	entry   *entry
	letters uint64
	first   uint64 // letters of the first word
}

func (r *Registry) loadNames() []candidate {
	var list []candidate
	for _, e := range r.all() {
		list = append(list, candidate{e, near.Letters(e.name), near.Letters(e.words[0])})
	}
	return list
}

// Bounds on what a refusal lists.
const (
	maxNearest     = 5
	maxSubcommands = 20
)

// unknown refuses words that select nothing.
func (r *Registry) unknown(words []string, o ParseOptions) *Refusal {
	first := words[0]
	if reserved(first) && len(r.own[first]) == 0 {
		return &Refusal{Reason: first + ": it is not offered here"}
	}
	if why := neverRun(first); why != "" && r.chant != "" && len(r.own[first]) == 0 {
		return &Refusal{Reason: why}
	}
	if subs := o.shown(r.subcommands(first)); len(subs) > 0 {
		return unknownSub(first, words, subs)
	}
	refusal := &Refusal{Reason: "there is no command " + show(first), Suggestions: r.nearest(words, o)}
	why := r.Lacking()
	if hasUnicodeSpace(words) {
		refusal.Reason += spaceHint
	} else if r.chant == "" && isVerb(first) && why == "" {
		refusal.Reason += "; it is a verb of chant, and " + noChant
	}
	if why != "" {
		refusal.Reason += ". " + why
	}
	return refusal
}

// subcommands lists the commands of more than one word that begin with first.
func (r *Registry) subcommands(first string) []*entry {
	list := slices.Clone(r.own[first])
	for _, e := range r.verbs()[first] {
		if !r.hidden(e) {
			list = append(list, e)
		}
	}
	return list
}

func unknownSub(first string, words []string, subs []*entry) *Refusal {
	refusal := &Refusal{Topic: first, group: true}
	if len(words) == 1 {
		refusal.Reason = first + " is not a command by itself; another word has to follow"
	} else {
		refusal.Reason = fmt.Sprintf("%s has no command %s", first, show(words[1]))
		var names []string
		for _, e := range subs {
			names = append(names, e.words[1])
		}
		if meant := near.Word(words[1], names); meant != "" {
			refusal.group = false
			subs = slices.DeleteFunc(subs, func(e *entry) bool { return e.words[1] != meant })
		}
	}
	for _, e := range subs[:min(len(subs), maxSubcommands)] {
		refusal.Suggestions = append(refusal.Suggestions, Suggestion{e.name, e.summary})
	}
	return refusal
}

// spaceHint tells of characters that look like a blank and are none.
const spaceHint = "; the line holds a space that is not an ordinary one (a non-breaking space, perhaps pasted), and only ordinary spaces separate words, so type it anew"

func hasUnicodeSpace(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.ContainsFunc(w, func(r rune) bool {
			return r > unicode.MaxASCII && unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff'
		})
	})
}

// nearest lists the commands whose names come closest to the words.
func (r *Registry) nearest(words []string, o ParseOptions) []Suggestion {
	first := strings.ToLower(words[0][:min(len(words[0]), near.Max+4)])
	limit := near.Limit(first)
	typed := near.Letters(first)
	type hit struct {
		entry    *entry
		distance int
	}
	var hits []hit
	for _, c := range r.names() {
		if o.NoPerson != "" && c.entry.decides() {
			continue
		}
		d := limit + 1
		if typed&c.first != 0 && near.MayBe(typed, c.first, limit) {
			d = near.Distance(first, c.entry.words[0], limit)
		}
		if len(first) > 1 && (strings.HasPrefix(c.entry.words[0], first) || slices.Contains(c.entry.words, first)) {
			d = 0
		}
		if d <= limit {
			hits = append(hits, hit{c.entry, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.distance - b.distance })
	var list []Suggestion
	for _, h := range hits[:min(len(hits), maxNearest)] {
		list = append(list, Suggestion{h.entry.name, h.entry.summary})
	}
	return list
}
