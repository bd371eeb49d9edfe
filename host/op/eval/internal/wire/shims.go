package wire

import (
	"embed"
	"strings"
)

//go:embed shims/*.js
var shims embed.FS

// ShimSource is all of the shims as one script: what an answer depends on, beside
// the files of a project.
func ShimSource() string {
	var b strings.Builder
	b.WriteString("(() => { 'use strict';\n")
	for _, name := range []string{"env", "inert", "builders", "composites", "boot"} {
		text, err := shims.ReadFile("shims/" + name + ".js")
		if err != nil {
			panic(err) // embedded
		}
		b.Write(text)
	}
	b.WriteString("\n})();")
	return b.String()
}
