package serve

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/config"
)

// configured is what the configuration says to an agent.
type configured struct {
	settings config.Settings
	notice   agent.Notice // what of the configuration is not used
}

// Configure reads the configuration and takes from it what no flag says. What
// can't be used is no reason not to start: the client is told. Only a --profile
// that there is not is an error.
func (f *Flags) Configure() error {
	d, err := config.Open(os.Getenv)
	if err == nil && f.Profile == "" && d.Silent(os.Environ()) {
		return nil // the flags' own defaults are those of the configuration
	}
	settings, noProfile := d.Settings(f.Profile, os.Getenv)
	if err == nil && noProfile != nil {
		return console.Exit(console.Usage, noProfile)
	}
	f.settings, f.notice = settings, noticeOf(err, settings.Problems)
	if !f.Has("output") {
		f.Output = settings.Agent.Output
	}
	if !f.Has("gates") && !f.Durable {
		f.Gates = settings.Agent.Gates
	}
	if !f.Has("refusal") {
		f.Refusal = settings.Agent.Refusal
	}
	if !f.Has("allow") {
		f.Allow = settings.Agent.Allow
	}
	if !f.Has("exit-idle") {
		f.ExitIdle = settings.Agent.ExitIdle
	}
	return nil
}

// Has says whether the command line has a flag.
func (f *Flags) Has(flag string) bool { return f.given != nil && f.given(flag) }

// noticeOf says what of the configuration is not used: all of it where it is
// broken, and some values.
func noticeOf(broken error, problems []config.Problem) agent.Notice {
	var lines []string
	text := "Some values of the configuration can't be used. What counts in their place is what would without them:"
	if broken != nil {
		text = "The configuration can't be used, so the defaults count in its place:"
		lines = append(lines, broken.Error())
		var syntax *config.SyntaxError
		if errors.As(broken, &syntax) {
			lines = append(lines, "To mend it: chant-acp config edit")
		}
	}
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	if len(lines) == 0 {
		return agent.Notice{}
	}
	const most = 10
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n))
	}
	return agent.Notice{Text: text, Detail: strings.Join(lines, "\n")}
}
