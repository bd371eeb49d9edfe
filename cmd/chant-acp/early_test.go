package main

import (
	"strings"
	"testing"
)

// The agent does not wait for the initialisation of what it does not use. Which
// packages were initialised is what the Go runtime says of itself.
func TestTheAgentStartsEarly(t *testing.T) {
	initialised := func(args ...string) string {
		c := program(t, args...)
		c.Stdin = strings.NewReader("")
		c.Env = append(c.Env, "GODEBUG=inittrace=1")
		var trace strings.Builder
		c.Stderr = &trace
		if err := c.Run(); err != nil {
			t.Fatalf("chant-acp %q: %v, %s", args, err, &trace)
		}
		return trace.String()
	}
	heavy := []string{"init net/http @", "init modernc.org/libc @", "init modernc.org/libquickjs @", "init github.com/evanw/esbuild/internal/js_lexer @", "init github.com/spf13/cobra @"}
	whole := initialised("version")
	for _, p := range heavy {
		if !strings.Contains(whole, p) {
			t.Errorf("the trace of a whole initialisation lacks %q: %s", p, whole)
		}
		for _, args := range [][]string{nil, {"serve"}} {
			if strings.Contains(initialised(args...), p) {
				t.Errorf("chant-acp %q waits for %q", args, p)
			}
		}
	}
}
