package view

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/command/problem"
	"github.com/chant-acp/chant-acp/internal/fileuri"
)

// Links says what a client makes a link of in message text.
type Links int

const (
	// LinksText is a path with a line and a column, as inline code: what clients make a
	// link of by themselves, or a person can open by a key.
	LinksText Links = iota
	// LinksURI is a markdown link to a file: address with a line.
	LinksURI
	// LinksNone is nothing: what the program printed is a link already, or the tool call shows
	// its locations.
	LinksNone
)

// maxLinks bounds the places that message text names.
const maxLinks = 5

// locations are those of a tool call, as the protocol has them: without columns.
func (v *View) locations(list []problem.Location) []acp.ToolCallLocation {
	if v.client.NoLocations || len(list) == 0 {
		return nil
	}
	out := make([]acp.ToolCallLocation, len(list))
	for i, l := range list {
		out[i] = acp.ToolCallLocation{Path: l.Path, Line: l.Line}
	}
	return out
}

// places is the line that names the places which a program printed, "" for none. They
// are told from dir, the folder that it ran in.
func (v *View) places(dir string, list []problem.Location) string {
	if v.client.Links == LinksNone || len(list) == 0 {
		return ""
	}
	var links []string
	for _, l := range list[:min(len(list), maxLinks)] {
		links = append(links, v.link(dir, l))
	}
	more := ""
	if n := len(list) - len(links); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "\nAt " + strings.Join(links, ", ") + more + ".\n"
}

func (v *View) link(dir string, l problem.Location) string {
	text := l.Path
	if rel, err := filepath.Rel(dir, l.Path); err == nil && filepath.IsLocal(rel) {
		text = rel
	}
	text = fmt.Sprintf("%s:%d", text, l.Line)
	if l.Column > 0 {
		text = fmt.Sprintf("%s:%d", text, l.Column)
	}
	if v.client.Links == LinksURI {
		// Zed takes a fragment for a range of lines (its crates/acp_thread/src/mention.rs).
		return fmt.Sprintf("[%s](%s#L%d:%d)", Prose(text), fileuri.Of(l.Path), l.Line, l.Line)
	}
	return Code(text)
}
