package op

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of Ops that are data, for editors. What
// [Decode] refuses beyond it are things that JSON Schema can't say: two gates of
// one name, an Op that depends on itself, the schema of an answer that is none.
func Schema() []byte { return schema }
