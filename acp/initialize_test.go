package acp

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The answer to initialize is encoded by hand, and as the types say.
func TestInitializeResponseIsAsItsTypesSay(t *testing.T) {
	type plainCapabilities AgentCapabilities
	type plain struct {
		ProtocolVersion   int               `json:"protocolVersion"`
		AgentCapabilities plainCapabilities `json:"agentCapabilities"`
		AuthMethods       []AuthMethod      `json:"authMethods"`
		AgentInfo         *Implementation   `json:"agentInfo,omitempty"`
		Meta              Meta              `json:"_meta,omitempty"`
	}
	yes := &struct{}{}
	metas := []Meta{nil, {}, {"a": 1}, {"b": map[string]any{"c": []int{1}}, "a": "<x>"}}
	for _, meta := range metas {
		for _, capabilities := range []AgentCapabilities{
			{},
			{LoadSession: true},
			{PromptCapabilities: &PromptCapabilities{}},
			{PromptCapabilities: &PromptCapabilities{Image: true, EmbeddedContext: true}},
			{PromptCapabilities: &PromptCapabilities{Audio: true}, SessionCapabilities: &SessionCapabilities{}},
			{LoadSession: true, SessionCapabilities: &SessionCapabilities{List: yes, Delete: yes, Resume: yes, Close: yes}},
			{SessionCapabilities: &SessionCapabilities{Resume: yes}},
		} {
			for _, info := range []*Implementation{nil, {Name: "n", Version: "1"}, {Name: "a\"b", Title: "t\n", Version: ""}} {
				for _, methods := range [][]AuthMethod{nil, {}, {{ID: "i", Name: "n"}}} {
					capabilities.Meta = meta
					r := InitializeResponse{ProtocolVersion: 1, AgentCapabilities: capabilities, AuthMethods: methods, AgentInfo: info, Meta: meta}
					var want bytes.Buffer
					e := json.NewEncoder(&want)
					e.SetEscapeHTML(false)
					if err := e.Encode(plain{r.ProtocolVersion, plainCapabilities(r.AgentCapabilities), r.AuthMethods, r.AgentInfo, r.Meta}); err != nil {
						t.Fatal(err)
					}
					got, err := AppendValue([]byte("before"), r)
					if err != nil || "before"+want.String() != string(got)+"\n" {
						t.Errorf("%s, %v; want %s", got, err, &want)
					}
				}
			}
		}
	}
}
