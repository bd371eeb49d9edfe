// Package npm reads the scripts of a package.json. Reading it runs nothing.
//
// [Parse] takes the text and gives a source.Listing.
package npm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/command/source"
)

// Files are the names of the file.
var Files = []string{"package.json"}

// Settings is the file beside it that may name the scripts' shell, so that the tasks
// depend on it (npm-run-script(1), script-shell).
const Settings = ".npmrc"

// lifecycle are scripts that npm runs by itself at certain times, or around
// another script; nobody means to run them alone.
func lifecycle(name string, scripts map[string]string) bool {
	switch name {
	case "prepare", "prepublish", "prepublishOnly", "prepack", "postpack", "dependencies",
		"preinstall", "install", "postinstall", "preuninstall", "uninstall", "postuninstall", "preversion", "version", "postversion":
		return true
	}
	for _, prefix := range []string{"pre", "post"} {
		if around, found := strings.CutPrefix(name, prefix); found {
			if _, is := scripts[around]; is {
				return true
			}
		}
	}
	return false
}

// Parse reads a package.json. Further arguments reach a script as they are,
// behind the -- that npm takes off: what stands before it npm reads itself.
// npm hands them to the script's shell in quotes (measured with npm 11.19).
func Parse(text []byte, file string) (*source.Listing, error) {
	var p struct {
		Scripts json.RawMessage `json:"scripts"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", file, err)
	}
	l := &source.Listing{Tool: "npm", File: file}
	if len(p.Scripts) == 0 || string(p.Scripts) == "null" {
		return l, nil
	}
	var scripts map[string]string
	if err := json.Unmarshal(p.Scripts, &scripts); err != nil {
		return nil, fmt.Errorf("the scripts of %s can't be read: %w", file, err)
	}
	for _, name := range names(p.Scripts) {
		if lifecycle(name, scripts) {
			continue
		}
		t := source.Task{Name: name, Summary: source.Line(scripts[name]), Argv: []string{"npm", "run", name, "--"}, Rest: source.NoHyphen, Body: body(name, scripts)}
		if strings.HasPrefix(name, "-") {
			t.Left = "its name begins with a hyphen, which npm takes for an option"
		}
		l.Tasks = append(l.Tasks, t)
	}
	return l, nil
}

// names are the names of an object's members, each once, in their order.
func names(object json.RawMessage) []string {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil
	}
	var list []string
	seen := make(map[string]bool)
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return list
		}
		if s, ok := name.(string); ok && !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// body is what npm runs for a script, with those that it runs around it.
func body(name string, scripts map[string]string) string {
	var b strings.Builder
	for _, n := range []string{"pre" + name, name, "post" + name} {
		if text, is := scripts[n]; is {
			fmt.Fprintf(&b, "%s: %s\n", n, text)
		}
	}
	return b.String()
}

// Count is how many scripts a package.json offers; -1 where it can't be read.
func Count(text []byte) int {
	l, err := Parse(text, "")
	if err != nil {
		return -1
	}
	return len(l.Tasks)
}
