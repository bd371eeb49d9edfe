package heartbeat

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	markdown "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A block is one fenced code block.
type block struct {
	info  string // the info string, trimmed
	line  int    // of the opening fence, from 1
	lines []textLine
}

type textLine struct {
	number int // from 1
	text   string
}

// maxNesting bounds how deep quotes and list items may lie in each other, and with
// that the time that a document takes.
const maxNesting = 64

// fencedBlocks finds the fenced code blocks of a Markdown document that are meant
// for us, as CommonMark 0.31.2 has them (4.5). Indentation inside of a block is not
// kept. tooDeep is a line in which quotes and list items are nested deeper than
// maxNesting, or 0; nothing is found then.
func fencedBlocks(document string) (list []block, tooDeep int) {
	// Each of the three is the end of a line (2.1); the parser knows but two.
	source := []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(document))
	if tooDeep := deepLine(source); tooDeep > 0 {
		return nil, tooDeep
	}
	p := markdown.NewParser(markdown.WithBlockParsers(markdown.DefaultBlockParsers()...)) // only blocks: no inline parsing
	numbers := lineNumbers{source: source, number: 1}
	depth := 0
	_ = ast.Walk(p.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no visit fails
		switch n := n.(type) {
		case *ast.Blockquote, *ast.ListItem:
			if !entering {
				depth--
			} else if depth++; depth > maxNesting && tooDeep == 0 {
				tooDeep = numbers.of(start(n))
			}
		case *ast.FencedCodeBlock:
			if entering && n.Info != nil && isChant(string(n.Info.Value(source))) {
				list = append(list, numbers.block(n))
			}
		}
		return ast.WalkContinue, nil
	})
	if tooDeep > 0 {
		return nil, tooDeep
	}
	return list, 0
}

// start is where the first text of a node begins; 0 where it has none.
func start(n ast.Node) int {
	for ; n != nil; n = n.FirstChild() {
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			return n.Lines().At(0).Start
		}
	}
	return 0
}

// deepLine is the first line that begins with the marks of more than maxNesting
// quotes and list items, or 0: a parser takes time that grows with their square.
func deepLine(source []byte) int {
	number := 0
	for line := range bytes.Lines(source) {
		number++
		marks := 0
		for rest, ok := afterMark(line); ok; rest, ok = afterMark(rest) {
			if marks++; marks > maxNesting {
				return number
			}
		}
	}
	return 0
}

// afterMark cuts the mark of a quote or list item off, should line begin with one
// (5.1, 5.2). That of a list item is - + * or a number, with a blank behind it; a line
// of several - or * is a break (4.1).
func afterMark(line []byte) (rest []byte, ok bool) {
	line = bytes.TrimLeft(line, " \t")
	if rest, ok := bytes.CutPrefix(line, []byte(">")); ok {
		return rest, true
	}
	mark := bytes.TrimLeft(line, "0123456789")
	if len(mark) == len(line) && bytes.IndexAny(mark, "-+*") == 0 {
		char := string(mark[:1])
		isBreak := char != "+" && len(bytes.Trim(mark, char+" \t\n")) == 0
		return mark[1:], !isBreak && blankFirst(mark[1:])
	}
	return mark[min(1, len(mark)):], len(mark) < len(line) && bytes.IndexAny(mark, ".)") == 0 && blankFirst(mark[1:])
}

func blankFirst(text []byte) bool { return len(text) == 0 || bytes.IndexAny(text, " \t\n") == 0 }

// lineNumbers counts lines up to positions that only grow.
type lineNumbers struct {
	source   []byte
	position int
	number   int
}

func (l *lineNumbers) of(position int) int {
	if position < l.position {
		l.position, l.number = 0, 1
	}
	l.number += bytes.Count(l.source[l.position:position], []byte("\n"))
	l.position = position
	return l.number
}

func (l *lineNumbers) block(n *ast.FencedCodeBlock) block {
	b := block{info: strings.Trim(string(n.Info.Value(l.source)), " \t"), line: l.of(n.Info.Segment.Start)}
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.lines = append(b.lines, textLine{l.of(line.Start), strings.Trim(string(line.Value(l.source)), " \t\n")})
	}
	return b
}
