package eval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host/op"
)

// dataOps is a project of n Ops in YAML, of a size that people write.
func dataOps(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf(`name: o%d
overview: Builds, asks and ships
phases:
  - name: Build
    steps: [{shell: make all}, {exec: [go, test, ./...]}]
  - name: Approve
    steps: [{gate: ship, timeout: 4h}]
  - name: Ship
    steps: [{shell: "make ship TO=$CHANT_ENV"}, {shell: "echo %d"}]
onFailure:
  - name: Undo
    steps: [{shell: make undo}]
`, i, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("o%d.op.yaml", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A file that changed means what it says now, and one that is wrong is told of in
// each set anew.
func TestDataOpsAreRemembered(t *testing.T) {
	dir := dataOps(t, 3)
	of := func() *op.Set {
		t.Helper()
		set, err := Load(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	first, second := of(), of()
	if len(second.Ops) != 3 || first.Ops[1].Config != second.Ops[1].Config {
		t.Errorf("it was read again: %+v", second.Ops)
	}
	path := filepath.Join(dir, "o1.op.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "make all", "make one", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := of().Find("o1")
	if err != nil || changed.Config.Digest() == first.Ops[1].Config.Digest() {
		t.Errorf("it is not what the file says: %+v, %v", changed, err)
	}
	if err := os.WriteFile(path, []byte("name: o1\nphases: secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		set := of()
		if len(set.Failed) != 1 || strings.Contains(set.Failed[0].Findings[0].Message, "masked") {
			t.Fatalf("%+v", set.Failed)
		}
		set.ShowFailed(func([]string) func(string) string { return func(string) string { return "masked" } })
	}
}

// The memory is bounded.
func TestMemoForgets(t *testing.T) {
	m := memo{bytes: maxDecoded - 10}
	text := []byte("name: a\noverview: x\nphases: [{name: P, steps: [{shell: x}]}]\n")
	if _, err := m.decode("a.op.yaml", text); err != nil || m.bytes != len(text) || len(m.known) != 1 {
		t.Errorf("%d bytes of %d Ops, %v", m.bytes, len(m.known), err)
	}
}

// What a turn that runs an Op costs in projects of several sizes.
func BenchmarkDataOps(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, cache := dataOps(b, n), b.TempDir()
			for b.Loop() {
				set, err := Load(b.Context(), dir, Options{Cache: cache, First: "o1"})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := set.Find("o1"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/file")
		})
	}
}
