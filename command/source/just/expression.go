package just

import "encoding/json"

// A mention says how an expression gives a parameter's value.
type mention int

const (
	quotedWhole mention = iota // quote(value)
	whole                      // the value itself
	part                       // the value with literal text around it
	elsewhere                  // in a way that is not followed
)

// mentions returns the variables that an expression of a dump gives, and how. An
// expression is a string, which is literal, or a list that begins with a word
// for its kind; an interpolation is a list of one expression.
func mentions(raw json.RawMessage) map[string]mention {
	found := make(map[string]mention)
	collect(raw, whole, found)
	return found
}

// collect adds the variables of an expression; how says what has been done to it
// around.
func collect(raw json.RawMessage, how mention, found map[string]mention) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || len(items) == 0 {
		return
	}
	var kind string
	if json.Unmarshal(items[0], &kind) != nil {
		for _, item := range items {
			collect(item, how, found)
		}
		return
	}
	switch kind {
	case "variable":
		var name string
		if len(items) == 2 && json.Unmarshal(items[1], &name) == nil {
			add(found, name, how)
		}
	case "concatenate", "join":
		for _, item := range items[1:] {
			collect(item, max(how, part), found)
		}
	case "call":
		var function string
		if len(items) == 3 && json.Unmarshal(items[1], &function) == nil && function == "quote" && how == whole {
			collect(items[2], quotedWhole, found)
			return
		}
		fallthrough
	default:
		for _, item := range items[1:] {
			collect(item, elsewhere, found)
		}
	}
}

// add notes a mention; of two ways of one variable the less certain one counts.
func add(found map[string]mention, name string, how mention) {
	if before, known := found[name]; known {
		how = max(how, before)
	}
	found[name] = how
}
