package configcmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/runtime/config"
)

// schemas are the JSON Schemas that can be printed.
var schemas = []struct {
	name, of string
	text     func() []byte
}{
	{"config", "the configuration", config.Schema},
	{"manifest", "a project's manifest, " + command.ManifestName, command.ManifestSchema},
	{"op", "an Op that is data, *.op.yaml or *.op.json", op.Schema},
}

// NewSchema is the command schema.
func NewSchema(std console.Streams) *cobra.Command {
	var names []string
	var list strings.Builder
	for _, s := range schemas {
		names = append(names, s.name)
		fmt.Fprintf(&list, "\n  %-10s %s", s.name, s.of)
	}
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON Schema of a file, with which editors complete and check it",
		Long: "Schema prints the JSON Schema (2020-12) of a file. An editor that knows it completes\n" +
			"keys, explains them, and marks what is wrong.\n\nNames:" + list.String(),
		Example: "  chant-acp schema config > ~/.config/chant-acp/config.schema.json\n  chant-acp schema manifest > chant-acp.schema.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("schema takes one name: %s", strings.Join(names, ", "))
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, s := range schemas {
				if s.name == args[0] {
					_, err := std.Out.Write(s.text())
					return err
				}
			}
			return fmt.Errorf("there is no schema %q; there is: %s", args[0], strings.Join(names, ", "))
		},
	}
}
