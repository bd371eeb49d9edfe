package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated part of the documentation anew")

const (
	page  = "../../docs/configuration.md"
	begin = "<!-- Generated from the table of keys by: go test ./runtime/config -run TestDocumentation -update -->\n"
	end   = "<!-- End of what is generated. -->\n"
)

// generated is the page's tables: one for each who reads keys.
func generated() string {
	var b strings.Builder
	readers := ""
	for _, k := range sortedByReader() {
		if r := heading(k); r != readers {
			readers = r
			fmt.Fprintf(&b, "\n### %s\n\n| key | value | without it | overridden by | what it is |\n| --- | --- | --- | --- | --- |\n", r)
		}
		fmt.Fprintf(&b, "| `%s` | %s, as in `%s` | %s | %s | %s |\n", k.Name, expects(k), k.Example, without(k), overriddenBy(k), k.Summary)
	}
	return b.String() + "\n"
}

// sortedByReader are the keys that go together, in the table's order.
func sortedByReader() (sorted []Key) {
	seen := map[string]bool{}
	for _, first := range Keys() {
		r := heading(first)
		if seen[r] {
			continue
		}
		seen[r] = true
		for _, k := range Keys() {
			if heading(k) == r {
				sorted = append(sorted, k)
			}
		}
	}
	return sorted
}

func heading(k Key) string {
	if k.Readers == "" {
		return "Kept and checked, and read by nothing yet"
	}
	return "Read by " + k.Readers
}

// expects says it without the example, which follows.
func expects(k Key) string {
	text, _, _ := strings.Cut(k.Expects(), ", such as")
	return text
}

func without(k Key) string {
	switch {
	case k.Default != "":
		return "`" + k.Default + "`"
	case k.Without != "":
		return k.Without
	}
	return ""
}

func overriddenBy(k Key) string {
	var list []string
	if k.Flag != "" {
		list = append(list, "`"+k.Flag+"`")
	}
	if v := k.Variable(); v != "" {
		list = append(list, "`"+v+"`")
	}
	return strings.Join(list, ", ")
}

// TestDocumentation holds that the page says what the table does.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks its marks %q and %q", page, begin, end)
	}
	want := generated()
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table of keys says; run: go test ./runtime/config -run TestDocumentation -update", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
