package acp

import (
	"encoding/json"
	"strings"
	"testing"
)

// Samples of RFC 8259, valid and not.
var jsonSamples = []string{
	`{}`, `[]`, ` { "a" : [ 1 , 2.5e-3 , -0 , 0.1E+7 ] , "b" : null } `, `"\"\\\/\b\f\n\r\t\u00e9\uD834\udd1e"`, "\t\r\n true \n", `false`, `-1`, `0`, `1e9`, `[[],{},[{}]]`, "\"é日\x7f\"",
	``, ` `, `{`, `[`, `]`, `{]`, `[}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `[1 2]`, `"`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\x00\"",
	`01`, `-`, `-a`, `1.`, `.5`, `1.e5`, `1e`, `1e+`, `+1`, `0x1`, `tru`, `truex`, `nul`, `nulll`, `NaN`, `true false`, `{}{}`, "\xef\xbb\xbf{}", "\v1", "{\"a\":1}\x00", `'a'`, `[1]]`, `{"a":1}}`, `/**/1`,
}

func TestValid(t *testing.T) {
	for _, n := range []int{maxDepth, maxDepth + 1} {
		for _, pair := range []string{"[]", `{"":}`} {
			open, end := pair[:len(pair)-1], pair[len(pair)-1:]
			deep := strings.Repeat(open, n) + map[bool]string{true: "1"}[open != "["] + strings.Repeat(end, n)
			if got, want := valid([]byte(deep)), json.Valid([]byte(deep)); got != want {
				t.Errorf("%d deep %s: %v, want %v", n, pair, got, want)
			}
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range jsonSamples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := valid([]byte(s)), json.Valid([]byte(s)); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"sess_0195e1a0-0000-7000-8000-000000000000","prompt":[{"type":"text","text":"no-such-command"}]}}`)
	for name, f := range map[string]func([]byte) bool{"ours": valid, "encoding-json": json.Valid} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !f(line) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
