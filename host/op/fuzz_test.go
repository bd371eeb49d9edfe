package op_test

import (
	"encoding/json"
	"testing"

	"github.com/chant-acp/chant-acp/host/op"
)

// FuzzDecode wants of every file that is taken that its config can be written
// and read again without a change.
func FuzzDecode(f *testing.F) {
	f.Add(true, full)
	f.Add(false, fullJSON)
	f.Add(true, "name: a\nphases: [{name: p, steps: [{shell: x}]}]\n")
	f.Add(false, `{"name":"a","phases":[{"name":"p","steps":[{"sleep":"1s"}]}]}`)
	f.Fuzz(func(t *testing.T, yaml bool, data string) {
		file := "f.op.json"
		if yaml {
			file = "f.op.yaml"
		}
		c, err := op.Decode(file, []byte(data))
		if err != nil {
			bad, ok := err.(*op.FileError)
			if !ok || len(bad.Findings) == 0 {
				t.Fatalf("error %v of type %T", err, err)
			}
			return
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := op.Restore(file, text)
		if err != nil {
			t.Fatalf("what was written can't be read: %v\n%s", err, text)
		}
		if again.Digest() != c.Digest() || again.Name != c.Name || len(again.Phases) != len(c.Phases) {
			t.Fatalf("another Op was read from %s", text)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"90s", "1h30m", "1.5h", "999999999999d", "5ms", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := op.ParseDuration(s)
		if err == nil && d < 0 {
			t.Fatalf("%q gives %v", s, d)
		}
		if twice, err2 := op.ParseDuration(s + " " + s); err == nil && err2 == nil && twice != 2*d {
			t.Fatalf("%q gives %v, and twice that %v", s, d, twice)
		}
	})
}
