package project

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/chant-acp/chant-acp/internal/caplog"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

// newTurnLog keeps the whole output of one turn, in a file that is made with the
// first byte.
func newTurnLog(o Options, name string) *caplog.Log {
	return caplog.New(func() (*os.File, error) {
		if o.LogDir == "" {
			return nil, errors.New("there is no folder for it")
		}
		if err := stateroot.Make(o.LogDir); err != nil {
			return nil, err
		}
		return os.OpenFile(filepath.Join(o.LogDir, name+".log"), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	}, o.LogMax, o.LogFloor)
}
