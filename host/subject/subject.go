// Package subject says what a decision is about: the bytes of what would run.
//
// An approval, a confirmation and a trust that is kept each name the digest of a
// [Subject]. It is made when a person is asked, and again before each start, by
// [Of]; [Compare] says in words what is not the same any more. The word is that of
// in-toto's attestations, whose subject is what a statement is about, by digest.
package subject

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"sort"
	"strings"
	"time"
)

// A Kind says what a part of a subject is.
type Kind string

// The kinds of parts.
const (
	KindText     Kind = "text"     // words: a line, a parameter, an Op as it was read
	KindProgram  Kind = "program"  // what a command starts
	KindFile     Kind = "file"     // a file of the project that a command names
	KindBound    Kind = "bound"    // a file of the project that bind names
	KindEvidence Kind = "evidence" // a file of the project that a person is to look at
)

// A Part is one thing of which what would run is made.
type Part struct {
	Kind Kind `json:"kind"`
	// Name is how a person knows it: "the parameter tag", the program as it is
	// written, a path below the project's folder.
	Name string `json:"name"`
	// Path is where a program lies, absolute, its links resolved.
	Path string `json:"path,omitempty"`
	// SHA256 is that of the text or the content, in hexadecimal; "" where the
	// content does not count.
	SHA256 string `json:"sha256,omitempty"`
	// Size of the content, in bytes.
	Size int64 `json:"size,omitempty"`
	// Lacks says why there is no content, such as "not there"; "" where there is, or
	// where it does not count.
	Lacks string `json:"lacks,omitempty"`
	// Changed is when the file system last saw a change, where it is known. It is
	// for people, and no part of the digest.
	Changed time.Time `json:"changed,omitzero"`
}

// A Subject is what would run.
type Subject struct {
	// Parts are sorted by kind and name; none stands twice.
	Parts []Part `json:"parts"`
	// Steps are the command lines, as they are shown, in their order.
	Steps []string `json:"steps,omitempty"`
}

// What files lack that do not exist, or are none.
const (
	notThere = "not there"
	notFile  = "not a file"
)

// shortLen is the length of a digest that people see.
const shortLen = 8

// Digest identifies the subject: the SHA-256, in hexadecimal, of all parts and
// steps. Each text carries its length, so that no two subjects are one text.
func (s Subject) Digest() string {
	h := sha256.New()
	count(h, len(s.Parts))
	for _, p := range s.Parts {
		for _, text := range []string{string(p.Kind), p.Name, p.Path, p.SHA256, p.Lacks} {
			write(h, text)
		}
		count(h, int(p.Size))
	}
	count(h, len(s.Steps))
	for _, step := range s.Steps {
		write(h, step)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func count(h hash.Hash, n int) { fmt.Fprintf(h, "%d;", n) }

func write(h hash.Hash, text string) {
	count(h, len(text))
	_, _ = io.WriteString(h, text) // a hash takes everything
}

// Short is a digest as a person sees it.
func Short(digest string) string { return digest[:min(shortLen, len(digest))] }

// Evidence lists the files that a person is to look at.
func (s Subject) Evidence() []Part {
	var list []Part
	for _, p := range s.Parts {
		if p.Kind == KindEvidence {
			list = append(list, p)
		}
	}
	return list
}

// Without is the subject without some parts, and without the folders in which the
// rest lies: of another folder with the same contents it is the same.
func (s Subject) Without(drop func(Part) bool) Subject {
	var parts []Part
	for _, p := range s.Parts {
		if drop(p) {
			continue
		}
		p.Path = ""
		parts = append(parts, p)
	}
	return Subject{Parts: order(parts), Steps: s.Steps}
}

// Ended is what the same command is compared with after it ran: end is its subject
// then. What the command is stays as it was before; files of the project count as
// it left them, since it may have written them itself.
func (s Subject) Ended(end Subject) Subject {
	var parts []Part
	for _, p := range s.Parts {
		if p.Kind == KindText || p.Kind == KindProgram {
			parts = append(parts, p)
		}
	}
	for _, p := range end.Parts {
		if p.Kind != KindText && p.Kind != KindProgram {
			parts = append(parts, p)
		}
	}
	return Subject{Parts: order(parts), Steps: s.Steps}
}

// order sorts parts and takes out those that stand twice.
func order(parts []Part) []Part {
	slices.SortFunc(parts, compareParts)
	return slices.CompactFunc(parts, func(a, b Part) bool { return a.same(b) })
}

func compareParts(a, b Part) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Lacks, b.Lacks))
}

// same says whether both count as the same in a digest.
func (p Part) same(o Part) bool { return compareParts(p, o) == 0 }

// maxDifferences bounds how much of what changed is named.
const maxDifferences = 5

// Compare says what of a subject is not what it was, as a clause such as
// "scripts/ship changed at 14:02, after the question"; "" where nothing is. since is
// when it was asked, and event what was done then: "the question".
//
// is may be of fewer commands than was, such as those that are left to run:
// programs and files that none of them names do not count.
func Compare(was, is Subject, since time.Time, event string) string {
	var texts []string
	say := func(text string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	before, after := without(was.countBeside(is), is.Parts), without(is.Parts, was.Parts)
	for _, p := range before {
		i := slices.IndexFunc(after, func(o Part) bool { return o.Kind == p.Kind && o.Name == p.Name })
		if i < 0 {
			if p.Kind != KindProgram && p.Kind != KindFile {
				say(p.Name + " is not there any more")
			}
			continue
		}
		say(p.became(after[i], since))
		after = slices.Delete(after, i, i+1)
	}
	for _, p := range after {
		say(p.Name + " is new" + when(p, since))
	}
	if len(texts) == 0 {
		return ""
	}
	if more := len(texts) - maxDifferences; more > 0 {
		texts = append(texts[:maxDifferences], fmt.Sprintf("%d more", more))
	}
	text := texts[len(texts)-1]
	if rest := texts[:len(texts)-1]; len(rest) > 0 {
		text = strings.Join(rest, ", ") + " and " + text
	}
	return text + ", after " + event
}

// countBeside are the parts that can say that something is not what it was, where
// there is now what is. It looks at these only: a subject may be large, and be
// compared with a part of it often.
func (s Subject) countBeside(is Subject) (parts []Part) {
	for _, kind := range []Kind{KindBound, KindEvidence, KindFile, KindProgram, KindText} { // as parts are sorted
		sameKind := func(p Part) int { return cmp.Compare(p.Kind, kind) }
		if kind != KindFile && kind != KindProgram {
			parts = append(parts, all(s.Parts, sameKind)...)
			continue
		}
		named := slices.CompactFunc(slices.Clone(all(is.Parts, sameKind)), func(a, b Part) bool { return a.Name == b.Name })
		for _, n := range named {
			parts = append(parts, all(s.Parts, func(p Part) int {
				return cmp.Or(cmp.Compare(p.Kind, kind), cmp.Compare(p.Name, n.Name))
			})...)
		}
	}
	return parts
}

// all are the parts of a sorted list for which compare is 0.
func all(list []Part, compare func(Part) int) []Part {
	from := sort.Search(len(list), func(i int) bool { return compare(list[i]) >= 0 })
	to := from
	for to < len(list) && compare(list[to]) == 0 {
		to++
	}
	return list[from:to]
}

// without are the parts of list that are not in other. Both are sorted.
func without(list, other []Part) (left []Part) {
	for _, p := range list {
		if _, there := slices.BinarySearchFunc(other, p, compareParts); !there {
			left = append(left, p)
		}
	}
	return left
}

// became says what happened to a part.
func (p Part) became(now Part, since time.Time) string {
	switch {
	case now.Lacks == notThere:
		return p.Name + " is not there any more"
	case p.Lacks == notThere:
		return p.Name + " is new" + when(now, since)
	case now.Lacks != p.Lacks && now.Lacks != "":
		return p.Name + " is " + now.Lacks + " now"
	case p.Path != now.Path && now.Path != "" && p.Path != "":
		return fmt.Sprintf("the program %s is %s now, and was %s", p.Name, now.Path, p.Path)
	}
	return p.Name + " changed" + when(now, since)
}

// when says at what time a part changed, where the file system knows.
func when(p Part, since time.Time) string {
	switch at := p.Changed; {
	case at.IsZero() || at.Before(since.Truncate(time.Second)): // file systems know no finer
		return ""
	case at.Local().Format(time.DateOnly) == since.Local().Format(time.DateOnly):
		return " at " + at.Local().Format("15:04")
	default:
		return " at " + at.Local().Format("2006-01-02 15:04")
	}
}
