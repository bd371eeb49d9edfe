package agentcmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// NewVersion is the command version.
func NewVersion(std console.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintf(std.Out, "chant-acp %s%s (protocol version %d, %s, %s/%s)\n",
				acpd.Version, commit(), acp.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}

// commit is what the build recorded of its source, or nothing.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = " commit " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	return revision + modified
}
