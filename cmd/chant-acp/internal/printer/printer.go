// Package printer prints turns for people on a terminal: a thread that is read from
// top to bottom, or JSON lines.
//
// A [Printer] takes the updates of the protocol and writes to one stream.
package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/chant-acp/chant-acp/acp"
)

// Printer prints turns. What it is told comes from one client, one call at a time.
type Printer struct {
	mu     sync.Mutex
	out    io.Writer
	json   bool
	fences fences
	begun  bool // something of the turn was printed
	mid    bool // the last line printed is unfinished
	// terminal says that the last thing printed came as terminal output, which
	// may end anywhere.
	terminal bool
	plan     []acp.PlanEntry
	// steps are the titles of tool calls that have not begun, where what they print
	// comes as terminal output and nothing else names them; nil elsewhere.
	steps map[string]string
}

// New prints to out, as JSON lines where that is wanted.
func New(out io.Writer, asJSON bool) *Printer { return &Printer{out: out, json: asJSON} }

// NameSteps makes it print the title of each step as it begins: where what steps
// print comes as terminal output, nothing else names them.
func (p *Printer) NameSteps() { p.steps = map[string]string{} }

// Prompt begins a turn.
func (p *Printer) Prompt(line string) {
	p.begun = false
	if !p.json {
		p.write("> " + line + "\n")
	}
}

// Result ends a turn.
func (p *Printer) Result(r acp.PromptResponse) {
	if p.json {
		p.line(map[string]any{"result": r})
		return
	}
	p.write(p.fences.flush())
	p.freshLine()
}

// freshLine ends an unfinished line.
func (p *Printer) freshLine() {
	p.mu.Lock()
	mid := p.mid
	p.mu.Unlock()
	if mid {
		p.write("\n")
	}
}

// Update prints what happens in a turn.
func (p *Printer) Update(n acp.SessionNotification) {
	if p.json {
		p.line(n)
		return
	}
	switch u := n.Update.(type) {
	case acp.Plan:
		p.planned(u.Entries)
	case acp.ToolCall:
		if p.steps != nil && u.Status == acp.ToolPending && u.Meta != nil {
			p.steps[u.ToolCallID] = u.Title
		}
	case acp.AgentMessageChunk:
		text := p.fences.strip(u.Content.Text)
		if !p.begun { // a block begins on a line of its own, which it is on here
			text = strings.TrimLeft(text, "\n")
		}
		p.begun = p.begun || text != ""
		p.leaveTerminal()
		p.write(text)
	case acp.ToolCallUpdate:
		if title, ok := p.steps[u.ToolCallID]; ok && u.Status == acp.ToolInProgress {
			delete(p.steps, u.ToolCallID)
			p.printApart("› " + title + "\n")
		}
		if t, ok := u.Meta["terminal_output"].(map[string]any); ok {
			if data, ok := t["data"].(string); ok {
				p.terminal = true
				p.write(data)
			}
		}
	}
}

// planned prints a plan, and later what goes on in it.
func (p *Printer) planned(entries []acp.PlanEntry) {
	var b strings.Builder
	switch {
	case len(entries) > len(p.plan):
		b.WriteString("Plan:\n")
		for _, e := range entries {
			b.WriteString(planLine(e))
		}
	default:
		for i, e := range entries {
			if e != p.plan[i] {
				b.WriteString(planLine(e))
			}
		}
	}
	p.plan = entries
	p.printApart(b.String())
}

func planLine(e acp.PlanEntry) string {
	mark := map[string]string{"pending": " ", "in_progress": ">", "completed": "x"}[e.Status]
	return "  [" + mark + "] " + e.Content + "\n"
}

// printApart prints lines of their own between what else is printed.
func (p *Printer) printApart(text string) {
	p.leaveTerminal()
	p.write(p.fences.flush())
	p.freshLine()
	p.write(text)
	p.begun = true
}

// leaveTerminal ends a piece of terminal output.
func (p *Printer) leaveTerminal() {
	if !p.terminal {
		return
	}
	p.freshLine()
	p.write("\x1b[0m") // what the program left its colours at
	p.mid, p.terminal = false, false
}

func (p *Printer) write(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == "" {
		return
	}
	p.mid = !strings.HasSuffix(s, "\n")
	_, _ = io.WriteString(p.out, s) // run sees to a failure: the turn still has to end in order
}

func (p *Printer) line(v any) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // text stays readable; this is no web page
	if err := e.Encode(v); err != nil {
		b.Reset()
		fmt.Fprintf(&b, "{\"error\":%q}\n", err)
	}
	p.write(b.String())
}

// fences takes the lines that open and close code blocks out of markdown, and
// leaves what is inside as it is (CommonMark, 4.5).
type fences struct {
	held string // an unfinished line that may be a fence
	open int    // backticks of the open block; 0 for none
	mid  bool   // the last line printed is unfinished
}

func (f *fences) strip(text string) string {
	var b strings.Builder
	text = f.held + text
	f.held = ""
	for text != "" {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			if !f.mid && isLetters(strings.TrimLeft(line, "`")) && (line == "" || line[0] == '`') {
				f.held = line
				break
			}
			f.mid = true
			b.WriteString(line)
			break
		}
		text = rest
		if f.mid || !f.isFence(line) {
			b.WriteString(line + "\n")
		}
		f.mid = false
	}
	return b.String()
}

// isFence says whether a whole line opens or closes a block.
func (f *fences) isFence(line string) bool {
	info := strings.TrimLeft(line, "`")
	n := len(line) - len(info)
	if n < 3 || !isLetters(info) {
		return false
	}
	switch {
	case f.open == 0: // info is the language
		f.open = n
	case n >= f.open && info == "":
		f.open = 0
	default:
		return false
	}
	return true
}

func isLetters(s string) bool { return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" }

// flush ends the text: what was held back is printed unless it is a fence.
func (f *fences) flush() string {
	held := f.held
	f.held = ""
	if held == "" || f.isFence(held) {
		return ""
	}
	return held
}

// Unfence takes the lines that open and close code blocks out of a whole text.
func Unfence(text string) string {
	var f fences
	return f.strip(text) + f.flush()
}
