package view

// Client is what is known of a client: what it says of itself, and what is known
// of it beyond that.
type Client struct {
	// Name is its clientInfo.name, cut to a length that people read.
	Name string
	// Terminal: it shows _meta.terminal_output, as it said at initialize.
	Terminal bool

	// AsksPerson: a permission request is put to a person by default. Others
	// answer by policy with nobody looking, so a command that is to be
	// confirmed is confirmed by a typed line there.
	AsksPerson bool
	// HidesRefusal: a refused prompt is taken out of the thread, and the reason
	// with it, so a refusal ends with end_turn there.
	HidesRefusal bool
}

// Known is all that is known, by clientInfo.name. A client not listed here is
// taken at its word and nothing more.
func Known(name string) Client {
	c := Client{Name: Cut(name, TitleRunes)}
	switch name {
	case "zed":
		c.AsksPerson, c.HidesRefusal = true, true
	case "agent-shell", "CodeCompanion.nvim", "vscode-acp-client":
		c.AsksPerson = true
	case PromptClient:
		c.AsksPerson = true
	}
	return c
}

// PromptClient is the clientInfo.name of this project's own command line, which
// asks on a terminal and rejects where there is none.
const PromptClient = "chant-acp-prompt"
