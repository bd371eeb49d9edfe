package command

import (
	"fmt"
	"strings"
	"testing"
)

// hundred is a registry of a hundred commands and chant's verbs.
func hundred(b *testing.B) *Registry {
	var text strings.Builder
	text.WriteString(header)
	for i := range 100 {
		fmt.Fprintf(&text, "  command%d: {summary: Do it, exec: [x, '{a}'], params: {a: {position: 1, pattern: '[a-z]+'}}}\n", i)
	}
	return NewRegistry(RegistryOptions{Root: b.TempDir(), Manifest: mustManifest(b, text.String()), Chant: chantProgram})
}

func BenchmarkParse(b *testing.B) {
	r := hundred(b)
	for b.Loop() {
		words, err := Split("command50 value")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Parse(words, ParseOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefusal measures a word that is far from every command, and one that
// is near to a hundred.
func BenchmarkRefusal(b *testing.B) {
	r := hundred(b)
	for _, line := range []string{"frobnicate it", "comand50 value"} {
		b.Run(strings.Fields(line)[0], func(b *testing.B) {
			for b.Loop() {
				words, err := Split(line)
				if err != nil {
					b.Fatal(err)
				}
				_, err = r.Parse(words, ParseOptions{})
				if err == nil || err.Error() == "" {
					b.Fatal("not refused")
				}
			}
		})
	}
}

func BenchmarkManifest(b *testing.B) {
	for b.Loop() {
		if _, err := ReadManifest("testdata/sample.yaml"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewRegistry(b *testing.B) {
	m, err := ReadManifest("testdata/sample.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		NewRegistry(RegistryOptions{Root: "/p", Manifest: m})
	}
}
