package view

import (
	"os"
	"strings"
	"testing"
)

// docs/protocol.md says of each client what the table says.
func TestClientsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Client{
		"| another name |":                      Known("something-new"),
		"| none, with files (avante, marimo) |": Nameless(true),
		"| none, without files (fountain) |":    Nameless(false),
	}
	for name := range clients {
		if !strings.HasPrefix(name, "chant-acp") {
			rows["| `"+name+"` |"] = Known(name)
		}
	}
	for start, c := range rows {
		confirm, refusal, output := "a line to type", "`refusal`", "tool call"
		if c.AsksPerson {
			confirm = "asks"
		}
		if c.EndsTurn {
			refusal = "`end_turn`"
		}
		if c.Output == OutputMessage {
			output = "message"
		}
		if c.Plain {
			output += ", as it is"
		}
		if c.LastOnly {
			output += ", when it has ended"
		}
		if row := start + " " + strings.Join([]string{confirm, refusal, output}, " | ") + " |\n"; !strings.Contains(string(raw), row) {
			t.Errorf("docs/protocol.md lacks the row %s", row)
		}
	}
}
