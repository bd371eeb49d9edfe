package heartbeat

import (
	"regexp"
	"strings"
	"sync"
)

// htmlKind is a kind of HTML block: the seven of CommonMark 4.6. What they hold
// is no Markdown, so a fence in a comment is none.
type htmlKind int

const (
	notHTML htmlKind = iota
	htmlRaw
	htmlComment
	htmlInstruction
	htmlDeclaration
	htmlCDATA
	htmlBlock
	htmlTag
)

// htmlStart says which kind of HTML block text begins.
func htmlStart(text string) htmlKind {
	if !strings.HasPrefix(text, "<") {
		return notHTML
	}
	inside := strings.TrimPrefix(text[1:], "/")
	name := strings.ToLower(tagName(inside))
	after := inside[len(name):]
	ends := after == "" || strings.Contains(" \t>", after[:1])
	switch {
	case isRaw(name) && text[1] != '/' && ends:
		return htmlRaw
	case strings.HasPrefix(text, "<!--"):
		return htmlComment
	case strings.HasPrefix(text, "<?"):
		return htmlInstruction
	case strings.HasPrefix(text, "<![CDATA["):
		return htmlCDATA
	case strings.HasPrefix(text, "<!") && tagName(text[2:]) != "":
		return htmlDeclaration
	case isBlockTag(name) && (ends || strings.HasPrefix(after, "/>")):
		return htmlBlock
	case (!isRaw(name) || text[1] == '/') && aloneTag().MatchString(text):
		return htmlTag
	}
	return notHTML
}

// ends says whether text is the last line of a block of this kind.
func (k htmlKind) ends(text string) bool {
	switch k {
	case htmlRaw:
		text = strings.ToLower(text)
		for _, end := range []string{"</pre>", "</script>", "</style>", "</textarea>"} {
			if strings.Contains(text, end) {
				return true
			}
		}
		return false
	case htmlComment:
		return strings.Contains(text, "-->")
	case htmlInstruction:
		return strings.Contains(text, "?>")
	case htmlDeclaration:
		return strings.Contains(text, ">")
	case htmlCDATA:
		return strings.Contains(text, "]]>")
	}
	return strings.Trim(text, " \t") == ""
}

// tagName is the tag name that text begins with (6.6): ASCII letters, digits and
// hyphens, the first a letter.
func tagName(text string) string {
	for i, b := range []byte(text) {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if !letter && (i == 0 || b != '-' && (b < '0' || b > '9')) {
			return text[:i]
		}
	}
	return text
}

func isRaw(name string) bool {
	switch name {
	case "pre", "script", "style", "textarea":
		return true
	}
	return false
}

// isBlockTag lists the names of start condition 6.
func isBlockTag(name string) bool {
	switch name {
	case "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center", "col",
		"colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure",
		"footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html",
		"iframe", "legend", "li", "link", "main", "menu", "menuitem", "nav", "noframes", "ol", "optgroup",
		"option", "p", "param", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
		"title", "tr", "track", "ul":
		return true
	}
	return false
}

// aloneTag is an open or closing tag that is alone on its line: start condition
// 7, with the grammar of 6.6.
var aloneTag = sync.OnceValue(func() *regexp.Regexp {
	const (
		name      = `[A-Za-z][A-Za-z0-9-]*`
		attribute = `[ \t]+[A-Za-z_:][A-Za-z0-9_.:-]*(?:[ \t]*=[ \t]*(?:[^ \t"'=<>\x60]+|'[^']*'|"[^"]*"))?`
	)
	return regexp.MustCompile(`^(?:<` + name + `(?:` + attribute + `)*[ \t]*/?>|</` + name + `[ \t]*>)[ \t]*$`)
})
