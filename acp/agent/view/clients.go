package view

import "strings"

// Client is what is known of a client: what it says of itself, and what was seen
// of it beyond that.
type Client struct {
	// Name is its clientInfo.name, cut to a length that people read.
	Name string
	// Terminal: it shows _meta.terminal_output, as it said at initialize. What
	// programs print goes there, whatever Output says.
	Terminal bool

	// AsksPerson: a permission request is put to a person by default. Others
	// answer by policy with nobody looking, so a command that is to be
	// confirmed is confirmed by a typed line there.
	AsksPerson bool
	// EndsTurn: a refused prompt ends with end_turn. With refusal its user would
	// lose the reason, or be stopped by something that is no news.
	EndsTurn bool
	// Output is where it shows what programs print.
	Output Output
	// TitleOnly: it shows nothing of a tool call but title and state, not even where it
	// asks a person about it. What is asked then stands in message text before it.
	TitleOnly bool
	// PlanOnce: it shows each plan below the one before it, so only the first is sent.
	PlanOnce bool
	// LastOnly: it shows the content of a tool call's last update only.
	LastOnly bool
	// Raw: it shows markdown as it comes, so a fence is noise.
	Raw bool
	// Plain: output that is message text stands there as it is, not as a code block.
	Plain bool
	// Links says what message text makes of the places that a failing command printed.
	Links Links
	// NoLocations: the locations of a tool call would do something else than to link to
	// the files.
	NoLocations bool
	// KeepsCommands: the list of commands that follows session/new is kept, so it is
	// not sent again with the first prompt.
	KeepsCommands bool
	// Taken are lines that it takes for itself where they are all of a prompt; with a
	// slash in front they arrive.
	Taken []string
	// AddsContext: it puts the lines of the buffer that it was started from below the
	// first prompt; see CutContext.
	AddsContext bool
	// CodeHint says how a code can be typed, where not every prompt is of the session
	// that gave it out.
	CodeHint string
}

// Output says where a client shows what programs print. Every line is sent to one
// place only.
type Output int

const (
	// OutputTool is the content of the tool call, live.
	OutputTool Output = iota
	// OutputMessage is message text: the client shows little or nothing of a tool
	// call's content.
	OutputMessage
)

// clients is all that is known beyond what clients say, by clientInfo.name, with what of
// that was run and when; docs/clients has transcripts. A client not listed here is taken at
// its word: it shows tool calls, and nothing is known of a person.
var clients = map[string]Client{
	// Not run; read in its source of September to November 2026: a refused prompt is taken
	// out of the thread, and the reason with it; without a terminal, tool content is
	// markdown; a file: address opens the file.
	"zed": {AsksPerson: true, EndsTurn: true, KeepsCommands: true, Links: LinksURI},
	// Run as 0.74.3 on Emacs 30.2, 2026-12-01: tool content is kept, collapsed, as
	// markdown; any stop reason but end_turn reads "Cancelled"; its shell takes three
	// lines for itself; file:line:column is a link; buttons are put to a person.
	"agent-shell": {AsksPerson: true, EndsTurn: true, KeepsCommands: true, Taken: []string{"help", "clear", "config"}, AddsContext: true},
	// Run as 19.22.0 on Neovim 0.12.4, 2026-12-01: one line of a tool call is shown,
	// a permission question by it alone. Run earlier in 2026-12: a refusal stops the
	// editor until a key is hit. Read in its source: the first location takes the place
	// of the title, and each tells Neovim that the file was edited.
	"CodeCompanion.nvim": {AsksPerson: true, EndsTurn: true, Output: OutputMessage, TitleOnly: true, NoLocations: true},
	// Run as 0.2.0, its own client and page without VS Code, 2026-12-01: title and icon of
	// a tool call are shown, a permission question by its title alone, and each plan
	// below the one before it.
	"vscode-acp-client": {AsksPerson: true, Output: OutputMessage, TitleOnly: true, PlanOnce: true},
	// Run as 0.19.1 in each run of .ci/run: text stands in a terminal as it comes; of a tool
	// call's content 28 lines are shown, so the end of a failure would not be seen.
	// Each exec is a session of its own. Locations are listed as files.
	"acpx": {
		Output: OutputMessage, Plain: true, Raw: true, KeepsCommands: true, Links: LinksNone,
		CodeHint: "A code is good in the session that gave it out, and each `acpx … exec` is a session of its own: make one with `sessions new --name s`, and send the line and the code with `prompt -s s`.",
	},
	// This project's own: a gateway passes message text on to who watches a session,
	// and the command line prints it.
	"chant-acp-sessions": {Output: OutputMessage, Plain: true, Links: LinksNone},
	"chant-acp-gateway":  {Output: OutputMessage, Plain: true, Links: LinksNone},
	PromptClient:         {AsksPerson: true, Output: OutputMessage, Plain: true, Links: LinksNone},
}

// Known is the client of a name that is not empty.
func Known(name string) Client {
	c := clients[name]
	c.Name = Cut(name, TitleRunes)
	return c
}

// Nameless is a client that does not say who it is. Those that were seen and take
// part in a person's files, avante (not run; read in its source of August 2026) and
// marimo (its client use-acp 0.2.6 was run on 2026-12-01, its page read), show message
// text for certain; fountain, which does not, shows a tool call when it has ended (its
// connection code was run in December 2026).
func Nameless(files bool) Client {
	if files {
		return Client{Output: OutputMessage}
	}
	return Client{LastOnly: true, KeepsCommands: true}
}

// ownOutput says whether what a tool call prints is shown in the call itself.
func (c Client) ownOutput() bool { return c.Terminal || c.Output == OutputTool }

// PromptClient is the clientInfo.name of this project's own command line, which
// asks on a terminal and rejects where there is none. It takes fences out of text
// by itself.
const PromptClient = "chant-acp-prompt"

// CutContext takes off what agent-shell puts below a prompt, as it was seen in
// December 2026: an empty line, the file with the range of lines, an empty line, and
// the lines. source is the file.
func CutContext(text string) (line, source string, ok bool) {
	line, rest, ok := strings.Cut(text, "\n\n")
	if !ok || strings.Contains(line, "\n") {
		return text, "", false
	}
	source, _, _ = strings.Cut(rest, "\n")
	colon := strings.LastIndexByte(source, ':')
	from, to, ranged := strings.Cut(source[colon+1:], "-")
	if colon <= 0 || !ranged || !isNumber(from) || !isNumber(to) {
		return text, "", false
	}
	return line, source, true
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
