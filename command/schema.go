package command

import (
	_ "embed"
	"slices"
)

//go:embed manifest.schema.json
var manifestSchema []byte

// ManifestSchema is the JSON Schema (2020-12) of a manifest, for editors. It
// takes what [ParseManifest] takes, and refuses what can be refused without
// knowing what one part of a manifest says of another. It is stricter in two
// points: 1 and 1.0 are one value, and white space around a name or a summary
// counts towards its length.
func ManifestSchema() []byte { return slices.Clone(manifestSchema) }
