package eval_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chant-acp/chant-acp/host/op/eval"
)

// BenchmarkLoad reads a thousand Ops, first without and then with a cache that
// holds.
func BenchmarkLoad(b *testing.B) {
	files := map[string]string{"lib/greet.ts": "export const greet = (who: string) => `echo ${who}`;"}
	for i := range 1000 {
		name := fmt.Sprintf("op-%d", i)
		files[fmt.Sprintf("d%d/%s.op.ts", i%50, name)] = `import { greet } from "../lib/greet";` + simple(name, `greet("you")`)
	}
	dir, cache := project(b, files), filepath.Join(b.TempDir(), "ops")
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			load(b, dir, eval.Options{})
		}
	})
	load(b, dir, eval.Options{Cache: cache})
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			load(b, dir, eval.Options{Cache: cache})
		}
	})
	one := project(b, map[string]string{"a.op.ts": good})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			load(b, one, eval.Options{})
		}
	})
}
