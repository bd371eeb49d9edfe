package pause_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/chant-acp/chant-acp/host/pause"
)

func TestOnlyARunSetsReservedKeys(t *testing.T) {
	c := pause.NewContext("r1", "deploy")
	var reserved *pause.ReservedKeyError
	if err := c.Set("ac__runId", "r2"); !errors.As(err, &reserved) || reserved.Key != "ac__runId" {
		t.Errorf("set: %v", err)
	}
	if err := c.Delete("ac__x"); !errors.As(err, &reserved) {
		t.Errorf("delete: %v", err)
	}
	if _, err := pause.ParseContext([]byte(`{"reserved":{"teamId":"","runId":"","workflowId":"","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{"ac__x":1}}`)); !errors.As(err, &reserved) {
		t.Errorf("read: %v", err)
	}
	if c.Reserved().RunID != "r1" {
		t.Error("the run changed")
	}
}

func TestUserKeysTravel(t *testing.T) {
	c := pause.NewContext("r1", "deploy")
	for key, value := range map[string]any{"ticket-id": "OPS 1", "list": []int{1, 2}, "nul": "a\x00b"} {
		if err := c.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "a b", "TICKET_ID", "ticket.id"} {
		if c.Set(bad, 1) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	vars, err := c.Environ()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`AGENT_COMPOSE_REQUEST_CONTEXT={"reserved":{"teamId":"","runId":"r1","workflowId":"deploy","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{"list":[1,2],"nul":"a\u0000b","ticket-id":"OPS 1"}}`,
		"CHANT_CONTEXT_LIST=[1,2]", "CHANT_CONTEXT_TICKET_ID=OPS 1",
	}
	if !slices.Equal(vars, want) {
		t.Errorf("got  %q\nwant %q", vars, want)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	read, err := pause.ParseContext(text)
	if err != nil {
		t.Fatal(err)
	}
	child := read.Child("r2", "nested")
	if err := child.Set("own", true); err != nil {
		t.Fatal(err)
	}
	r := child.Reserved()
	if r.RunID != "r2" || r.WorkflowID != "nested" || r.ParentRunID == nil || *r.ParentRunID != "r1" {
		t.Errorf("%+v", r)
	}
	if v, found := child.Get("ticket-id"); !found || string(v) != `"OPS 1"` {
		t.Errorf("%s, %t", v, found)
	}
	if _, found := read.Get("own"); found {
		t.Error("what a child sets is seen by its parent")
	}
}

func TestContextsThatAreNone(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"reserved":{},"user":{}}`,
		`{"reserved":{"teamId":1,"runId":"","workflowId":"","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{}}`,
		`{"reserved":{"teamId":null,"runId":"","workflowId":"","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{}}`,
		`{"reserved":{"teamId":"","runId":"","workflowId":"","factoryId":null,"apiKeyScopes":null,"parentRunId":null},"user":{}}`,
		`{"reserved":{"teamId":"","runId":"","workflowId":"","factoryId":null,"apiKeyScopes":[]},"user":{}}`,
		`{"reserved":{"teamId":"","runId":"","workflowId":"","factoryId":null,"apiKeyScopes":[],"parentRunId":null}}`,
	} {
		if _, err := pause.ParseContext([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}
