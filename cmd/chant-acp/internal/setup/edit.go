package setup

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// document is a settings file: JSON with comments and trailing commas.
type document struct{ *jsondoc.Document }

// maxDepth of nested values. Real settings stay below ten; Zed's reader ends at
// 128.
const maxDepth = 500

// parse reads a settings file. unit is the indentation to use where the file
// shows none.
func parse(src []byte, unit string) (document, error) {
	d, err := jsondoc.Parse(src, jsondoc.Rules{Comments: true, Depth: maxDepth, Unit: unit})
	return document{d}, err
}

// place is a value found in a document.
type place struct {
	value *jsondoc.Value
	keys  []string // the way to it
}

// where is a place in the file as a person counts it.
func (d document) where(offset int) string {
	line, column := d.Position(offset)
	return fmt.Sprintf("line %d, column %d", line, column)
}

// find follows keys from the root as far as they exist; the place's keys say
// how far that was. Every value on the way must be an object, and no key on it
// may be there twice, because readers differ on which one counts.
func (d document) find(keys []string) (place, error) {
	at := place{value: d.Root}
	for i, key := range keys {
		if at.value.Kind != '{' {
			return at, d.noObject(at)
		}
		m, err := d.member(at.value, key)
		if err != nil {
			return at, err
		}
		if m == nil {
			return at, nil
		}
		at = place{value: &m.Value, keys: keys[:i+1]}
	}
	return at, nil
}

func (d document) noObject(at place) error {
	return fmt.Errorf("%s: %s must be an object, and is not; correct that first", d.where(at.value.Start), pathName(at.keys))
}

func (d document) member(object *jsondoc.Value, key string) (*jsondoc.Member, error) {
	found := object.Member(key)
	for _, twice := range d.Repeats {
		if found != nil && twice.First == found.Start {
			return nil, fmt.Errorf("%s: the key %q is here a second time, first on %s; keep one of them", d.where(twice.Start), key, d.where(found.Start))
		}
	}
	return found, nil
}

// pathName writes a path of keys for a person.
func pathName(keys []string) string {
	if len(keys) == 0 {
		return "the file's content"
	}
	return strings.Join(quoteAll(keys, jsondoc.Quote), " → ")
}

// set returns the file with the value at the path of keys being v. Objects
// that are missing on the way are created; a value that is there must be a
// string, as no other may be replaced without losing comments within it.
func (d document) set(keys []string, v any) ([]byte, error) {
	if d.Root == nil {
		return d.Fill(asJSON(nest(keys, v))), nil
	}
	at, err := d.find(keys)
	if err != nil {
		return nil, err
	}
	if n := len(at.keys); n < len(keys) {
		return d.Insert(at.value, keys[n], asJSON(nest(keys[n+1:], v))), nil
	}
	return d.replaceString(at.value, pathName(keys), v)
}

func (d document) replaceString(old *jsondoc.Value, name string, v any) ([]byte, error) {
	if old.Kind != '"' {
		return nil, fmt.Errorf("%s: %s must be a string, and is not; correct that first", d.where(old.Start), name)
	}
	return d.Replace(old, asJSON(v)), nil
}
