// Package person says who may decide: approve and reject gates, confirm, allow,
// trust, and answer what an agent asks. All that decides asks here.
//
// A person is a process that does not descend from a program of chant-acp: the
// mark on those can't be taken off (see [process.Descends]). Two more are as good
// as one: an agent that a person's gateway started and vouches for ([Vouched]),
// and whoever holds a capability that such a process was given ([Keeper]).
//
// What one user can't hold: root can take the mark off, and a program of the same
// user can write the files in which decisions are kept.
package person

import (
	"errors"

	"github.com/chant-acp/chant-acp/host/process"
)

// ErrProgram is why a program may not decide.
var ErrProgram = errors.New("a person has to decide this, and a program that chant-acp runs asked for it; type it in the editor, or in a terminal of your own")

// Decides says whether this process is a person's: nil, or [ErrProgram].
func Decides() error {
	if process.Descends() && !Vouched() {
		return ErrProgram
	}
	return nil
}
