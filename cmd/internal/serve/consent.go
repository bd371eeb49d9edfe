package serve

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
)

// Consent asks a person for a yes to what was just shown, on the terminal unless yes
// says it beforehand. The error is that nobody said it, or that a program that
// chant-acp runs started this process; it begins with no, which says what was not done.
func Consent(std console.Streams, yes bool, question, no string) error {
	switch {
	case Origin(os.Getenv) != agent.OriginClient:
		return console.Exit(console.Refused, errors.New(no+": a person has to, and a program that chant-acp runs started this; type it in a terminal of your own"))
	case yes:
		return nil
	case !console.IsTerminal(std.In):
		return console.Exit(console.Refused, errors.New(no+": there is no terminal to ask on; --yes says it beforehand"))
	}
	fmt.Fprint(std.Err, question+" [y/N] ")
	answers, err := console.NewAnswers(std.In)
	if err != nil {
		return err
	}
	defer answers.Close()
	text, _ := answers.Line()
	if text == "" { // the cursor still stands behind the question
		fmt.Fprintln(std.Err)
	}
	if typed := strings.ToLower(strings.TrimSpace(text)); typed != "y" && typed != "yes" {
		return console.Exit(console.Refused, errors.New(no))
	}
	return nil
}
