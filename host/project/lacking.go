package project

import (
	"slices"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/process"
)

// Lacking warns of the programs and folders that the manifest m of the project
// in root names and this machine does not have. env is what programs inherit.
func Lacking(m *command.Manifest, root string, env []string) []command.Diagnostic {
	return m.Lacking(root, func(program string, vars []string) error {
		_, err := process.LookPath(program, root, slices.Concat(env, vars))
		return err
	})
}
