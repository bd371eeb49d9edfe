package agent

// clientTraits is what is known of a client beyond what it says of itself.
type clientTraits struct {
	// asksPerson: a permission request is put to a person by default. Others
	// answer by policy with nobody looking, so a command that is to be
	// confirmed is confirmed by a typed line there.
	asksPerson bool
	// hidesRefusal: a refused prompt is taken out of the thread, and the reason
	// with it, so a refusal ends with end_turn there.
	hidesRefusal bool
}

// knownClient is all that is known, by clientInfo.name. A client not listed
// here is taken at its word and nothing more.
func knownClient(name string) clientTraits {
	switch name {
	case "zed":
		return clientTraits{asksPerson: true, hidesRefusal: true}
	case "agent-shell", "CodeCompanion.nvim", "vscode-acp-client":
		return clientTraits{asksPerson: true}
	case PromptClient:
		return clientTraits{asksPerson: true}
	}
	return clientTraits{}
}

// PromptClient is the clientInfo.name of this project's own command line, which
// asks on a terminal and rejects where there is none.
const PromptClient = "chant-acp-prompt"
