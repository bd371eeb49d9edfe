package pause_test

import (
	"encoding/json"
	"testing"

	"github.com/chant-acp/chant-acp/host/pause"
)

// What is taken for a record can be written, and reads back as the same.
func FuzzParseRecord(f *testing.F) {
	for _, seed := range []string{
		`{"pauseId":"p","request":{}}`, `{"resolved":true,"expired":false,"resumePayload":null}`,
		`{"pauseId":"p","request":1,"resolved":false}`, `{"pauseId":"p","pauseId":"q","request":{}}`, `[]`, `{"resolved":" true"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := pause.ParseRecord("p", text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := pause.ParseRecord("p", again); err != nil || back.Resolved != r.Resolved || back.Expired != r.Expired {
			t.Fatalf("%s: %+v, %v", again, back, err)
		}
	})
}

func FuzzParseContext(f *testing.F) {
	f.Add([]byte(`{"reserved":{"teamId":"","runId":"r","workflowId":"w","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{"a":1}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := pause.ParseContext(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pause.ParseContext(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
