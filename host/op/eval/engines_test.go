package eval

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A cache that an older engine made is not to be trusted.
func TestEnginesAreThoseOfTheModule(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && (strings.HasPrefix(f[0], "github.com/evanw/") || strings.HasPrefix(f[0], "modernc.org/")) {
			found = append(found, f[0]+" "+f[1]+"\n")
		}
	}
	slices.Sort(found)
	if want := strings.Join(found, ""); engines != want {
		t.Errorf("engines in cache.go is\n%s\nand go.mod has\n%s", engines, want)
	}
}
