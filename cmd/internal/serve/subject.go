package serve

import (
	"context"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/subject"
)

// LineSubject is what a command line would run in a project now, by its bytes.
func LineSubject(ctx context.Context, h host.Host, line string) (subject.Subject, error) {
	r := h.AllowList().Registry
	words, err := r.Split(line, command.ParseOptions{})
	if err != nil {
		return subject.Subject{}, err
	}
	inv, err := r.Parse(words, command.ParseOptions{})
	if err != nil {
		return subject.Subject{}, err
	}
	return h.Subject(ctx, inv)
}
