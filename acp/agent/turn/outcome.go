package turn

import (
	"strconv"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// chantMeta is _meta.chant of a prompt's response.
type chantMeta struct {
	Outcome  string
	ExitCode *int   // of a program that ran
	Confirm  string // the code that is waited for; "" for none
	Allow    string // the code to allow with that is waited for; "" for none
	RunID    string // of the run of an Op; "" for none
	Gate     string // at which the run waits; "" for none
	Digest   string // short, of what is asked about; "" where nothing is
}

// response is an acp.PromptResponse with our _meta.
type response struct {
	reason acp.StopReason
	meta   chantMeta
}

// AppendJSON implements acp.Appender.
func (r response) AppendJSON(b []byte) ([]byte, error) {
	b = acp.AppendString(append(b, `{"stopReason":`...), string(r.reason))
	b = r.meta.appendJSON(append(b, `,"_meta":{"chant":`...))
	return append(b, '}', '}'), nil
}

func (m chantMeta) appendJSON(b []byte) []byte {
	b = acp.AppendString(append(b, `{"outcome":`...), m.Outcome)
	if m.ExitCode != nil {
		b = strconv.AppendInt(append(b, `,"exitCode":`...), int64(*m.ExitCode), 10)
	}
	b = view.AppendText(b, "confirm", m.Confirm)
	b = view.AppendText(b, "allow", m.Allow)
	b = view.AppendText(b, "runId", m.RunID)
	b = view.AppendText(b, "gate", m.Gate)
	b = view.AppendText(b, "digest", m.Digest)
	return append(b, '}')
}
