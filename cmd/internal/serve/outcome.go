package serve

import (
	"encoding/json"

	"github.com/chant-acp/chant-acp/acp"
)

// Outcome is what our agent says of a turn in _meta.chant of its response.
type Outcome struct {
	Outcome  string `json:"outcome"`
	ExitCode *int   `json:"exitCode"` // of the program that the turn ran, where one ended
	Confirm  string `json:"confirm"`  // the code that confirms what waits for that
	RunID    string `json:"runId"`
}

// OutcomeOf reads it; what another agent says holds none.
func OutcomeOf(meta acp.Meta) (Outcome, error) {
	var decoded struct {
		Chant Outcome `json:"chant"`
	}
	raw, err := json.Marshal(meta)
	if err == nil {
		err = json.Unmarshal(raw, &decoded)
	}
	return decoded.Chant, err
}
