package command

import (
	"strings"
	"testing"
)

func TestAProtectedEnvironmentAsDefaultOfAnotherParameterIsWarnedOf(t *testing.T) {
	m := mustManifest(t, `version: 1
environments: {dev: {}, prod: {protected: true}}
commands:
  other: {summary: s, exec: [echo, "{target}"], params: {target: {position: 1, enum: [dev, prod], default: prod}}}
  safe: {summary: s, exec: [echo, "{target}"], params: {target: {position: 1, enum: [dev, prod], default: dev}}}
`)
	warnings := m.Warnings()
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, "protected environment") || warnings[0].Line != 4 {
		t.Errorf("warnings: %v", warnings)
	}
}
