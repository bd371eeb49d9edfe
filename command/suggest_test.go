package command

import "testing"

// What shares nothing with the word is no suggestion.
func TestSuggestionsShareSomethingWithTheWord(t *testing.T) {
	const text = header + "  b: {summary: s, exec: [x]}\n  ls: {summary: s, exec: [x]}\n  vet: {summary: s, exec: [x]}\n"
	m, err := ParseManifest("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRegistry(RegistryOptions{Root: t.TempDir(), Manifest: m})
	for word, want := range map[string]string{"c": "", "x": "", "l": "ls", "la": "ls", "vat": "vet", "xyz": "", "dog": ""} {
		_, err := r.Parse([]string{word}, ParseOptions{})
		refusal, ok := err.(*Refusal)
		if !ok {
			t.Fatalf("%s: %v", word, err)
		}
		got := ""
		for _, s := range refusal.Suggestions {
			got += s.Name
		}
		if got != want {
			t.Errorf("%s: suggested %q, want %q", word, got, want)
		}
	}
}
