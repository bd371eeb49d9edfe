package tasks

import (
	"errors"
	"fmt"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
)

// Commands makes commands of listings, as [source.Manifest] does, which is also what
// nameError and notes are. A task that can't be a command is left out, and a note says
// why.
func Commands(listings []*source.Listing, nameError func(name string) string) (text []byte, bodies map[string]string, notes []string, err error) {
	text, bodies, notes, err = source.Manifest(listings, nameError)
	if err != nil || valid(text) == nil {
		return text, bodies, notes, err
	}
	for _, l := range listings { // one by one, which seldom has to be
		for i := range l.Tasks {
			t := &l.Tasks[i]
			alone := *l
			alone.Tasks = l.Tasks[i : i+1]
			one, _, _, err := source.Manifest([]*source.Listing{&alone}, nameError)
			if err == nil {
				err = valid(one)
			}
			if err != nil {
				t.Left = "it can't be a command: " + err.Error()
			}
		}
	}
	text, bodies, notes, err = source.Manifest(listings, nameError)
	if err == nil {
		err = valid(text)
	}
	return text, bodies, notes, err
}

// valid says what is wrong with a manifest first.
func valid(text []byte) error {
	_, err := command.ParseManifest("", text)
	var bad *command.ManifestError
	if errors.As(err, &bad) && len(bad.Diagnostics) > 0 {
		return fmt.Errorf("%s", bad.Diagnostics[0].Message)
	}
	return err
}
