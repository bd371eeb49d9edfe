package acp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLoneSurrogate(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`:              "",
		`"\ud83d\ude00"`:       "", // a pair
		`"\\ud800"`:            "", // a backslash and text
		`"\ud800"`:             `\ud800`,
		`"a\uDC00b"`:           `\uDC00`,
		`"\ud800\u0041"`:       `\ud800`,
		`"\ud800\\udc00"`:      `\ud800`,
		`"\ud800\ud800\udc00"`: `\ud800`,
		`"\ud83d\ude00\udfff"`: `\udfff`,
		`"\u00e9\n\\"`:         "",
	} {
		if !json.Valid([]byte(in)) {
			t.Fatalf("%s is no JSON", in)
		}
		if got := loneSurrogate([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// FuzzLoneSurrogate holds that a text without a lone surrogate decodes without
// one being replaced.
func FuzzLoneSurrogate(f *testing.F) {
	for _, s := range []string{`a`, `\ud800`, `\ud83d\ude00`, `\\ud800`, `\udc00\ud800`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := []byte(`"` + s + `"`)
		loneSurrogate(text) // ends, whatever it is
		var got string
		if !json.Valid(text) || json.Unmarshal(text, &got) != nil || strings.Contains(s, "\ufffd") {
			return
		}
		lone := loneSurrogate(text) != ""
		replaced := strings.Contains(got, "\ufffd") && !strings.Contains(strings.ToLower(s), `\ufffd`)
		if utf8.ValidString(s) && lone != replaced {
			t.Errorf("%s: lone %v, replaced %v", text, lone, replaced)
		}
	})
}

func TestDecodeRefusesLoneSurrogates(t *testing.T) {
	r := &Request{Params: json.RawMessage(`{"sessionId":"s","prompt":[{"type":"text","text":"plan \ud800"}]}`)}
	var req PromptRequest
	var e *Error
	if err := r.Decode(&req); !errors.As(err, &e) || e.Code != CodeInvalidParams || !strings.Contains(e.Message, `\ud800`) {
		t.Errorf("got %v", err)
	}
}
