package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/runtime/config"
)

// configured is what the configuration says to an agent.
type configured struct {
	settings config.Settings
	notice   agent.Notice // what of the configuration is not used
}

// configure reads the configuration and takes from it what no flag says. What
// can't be used is no reason not to start: the client is told. Only a --profile
// that there is not is an error.
func (f *agentFlags) configure() error {
	d := new(config.Document)
	path, err := config.Path(os.Getenv)
	switch {
	case err == nil:
		d, err = config.Load(path)
	case errors.Is(err, config.ErrNoHome):
		err = nil // and no file
	}
	if err == nil && f.profile == "" && d.Silent(os.Environ()) {
		return nil // the flags' own defaults are those of the configuration
	}
	settings, noProfile := d.Settings(f.profile, os.Getenv)
	if err == nil && noProfile != nil {
		return &exitError{exitUsage, noProfile}
	}
	f.settings, f.notice = settings, noticeOf(err, settings.Problems)
	if !f.has("output") {
		f.output = settings.Agent.Output
	}
	if !f.has("refusal") {
		f.refusal = settings.Agent.Refusal
	}
	if !f.has("exit-idle") {
		f.exitIdle = settings.Agent.ExitIdle
	}
	return nil
}

func (f *agentFlags) has(flag string) bool { return f.given != nil && f.given(flag) }

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
