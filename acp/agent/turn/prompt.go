package turn

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/internal/fileuri"
)

// promptWords turns the blocks of a prompt into words: the text blocks, each
// given to split alone, and between them links, each of which is one word
// whatever it holds. root is the directory that programs run in.
func promptWords(blocks []acp.ContentBlock, root string, split func(text string) ([]string, error)) ([]string, error) {
	var words []string
	afterText := false // the last block that counts was text
	for _, b := range blocks {
		switch b.Type {
		case acp.ContentText:
			piece, err := split(b.Text)
			if err != nil {
				return nil, err
			}
			if len(piece) == 0 {
				continue
			}
			if afterText {
				return nil, errors.New("the prompt has two pieces of text: send the command line as one")
			}
			words, afterText = append(words, piece...), true
		case acp.ContentResourceLink:
			if len(words) == 0 {
				return nil, errors.New("the prompt begins with a link: begin with the command, files may follow as its arguments")
			}
			path, err := linkPath(b.URI, root)
			if err != nil {
				return nil, err
			}
			words, afterText = append(words, path), false
		default:
			return nil, fmt.Errorf("the prompt holds %s, which a command line can't: send text, and files as links", contentName(b.Type))
		}
	}
	if len(words) == 0 {
		return nil, errors.New("the prompt is empty: type a command, or help")
	}
	return words, nil
}

func hasLink(blocks []acp.ContentBlock) bool {
	return slices.ContainsFunc(blocks, func(b acp.ContentBlock) bool { return b.Type == acp.ContentResourceLink })
}

func contentName(typ string) string {
	switch typ {
	case acp.ContentResource:
		return "an embedded resource"
	case acp.ContentImage:
		return "an image"
	case acp.ContentAudio:
		return "a sound"
	}
	return "content of the type " + typ
}

// linkPath is the path of a file: link as an argument: relative to root where
// it lies inside, and never one that looks like a flag.
func linkPath(uri, root string) (string, error) {
	path, err := fileuri.Path(uri)
	if errors.Is(err, fileuri.ErrNotLocal) {
		return "", fmt.Errorf("the link %q is not a file of this machine: only file: links can be arguments", uri)
	}
	if err != nil {
		return "", fmt.Errorf("the link %q can't be read: link a file", uri)
	}
	if !filepath.IsAbs(path) || strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f || r == 0xfffd }) {
		return "", fmt.Errorf("the link %q does not hold a path that can be an argument: type the path", uri)
	}
	path = filepath.Clean(path)
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return path, nil
}

// keptPrompt bounds what is kept of the texts of a prompt, in bytes of JSON. A
// command line is never longer; what is, was refused.
const keptPrompt = 64 << 10

// promptEvent is what is kept of the prompt.
func (t *Turn) promptEvent() view.Event {
	blocks, room := slices.Clone(t.blocks[:min(len(t.blocks), 64)]), keptPrompt
	for i := range blocks {
		blocks[i].Text = view.Cut(blocks[i].Text, max(room, len("…")))
		room -= view.JSONLen(blocks[i].Text)
		blocks[i].Data, blocks[i].Resource = "", shortResource(blocks[i].Resource)
		for _, field := range []*string{&blocks[i].URI, &blocks[i].Name, &blocks[i].Title, &blocks[i].MimeType} {
			*field = view.Cut(*field, view.FieldBytes)
		}
		blocks[i].Meta = nil
	}
	return view.Event{Kind: view.EventPrompt, Prompt: blocks, Client: t.client.Name}
}

// shortResource keeps the name of an embedded resource, which is refused anyway.
func shortResource(r *acp.EmbeddedResource) *acp.EmbeddedResource {
	if r == nil {
		return nil
	}
	empty := ""
	return &acp.EmbeddedResource{URI: view.Cut(r.URI, view.FieldBytes), Text: &empty}
}
