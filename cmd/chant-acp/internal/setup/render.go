package setup

import (
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// object is a JSON object whose keys keep their order. Values are string,
// []string or object: settings need no more.
type object []field

type field struct {
	key   string
	value any
}

// asJSON writes a settings value.
func asJSON(v any) []byte {
	switch v := v.(type) {
	case string:
		return []byte(jsondoc.Quote(v))
	case []string:
		return []byte("[" + strings.Join(quoteAll(v, jsondoc.Quote), ",") + "]")
	case object:
		members := make([]string, len(v))
		for i, f := range v {
			members[i] = jsondoc.Quote(f.key) + ":" + string(asJSON(f.value))
		}
		return []byte("{" + strings.Join(members, ",") + "}")
	}
	panic("setup: a settings value that is neither string, list nor object")
}
