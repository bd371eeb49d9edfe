package serve

import (
	"testing"

	"github.com/chant-acp/chant-acp/runtime/config"
)

// Where nothing is configured, the flags' defaults stand for the configuration's.
func TestDefaultsAreTheSame(t *testing.T) {
	f := DefaultFlags()
	s, err := new(config.Document).Settings("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if s.Agent.Output != f.Output || s.Agent.Refusal != f.Refusal || s.Agent.ExitIdle != f.ExitIdle || s.Agent.Gates != f.Gates {
		t.Errorf("the configuration says %+v, the flags %+v", s.Agent, f)
	}
	if s.Log.Max != 1<<30 || s.Chant.Command != "" || s.Conversations.Dir != "" { // as 0 and "" mean to the host and the agent
		t.Errorf("%+v, %+v, %+v", s.Log, s.Chant, s.Conversations)
	}
}
