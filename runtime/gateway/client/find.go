package client

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// Find returns where the gateway of a folder listens: of dir, or of the nearest folder above it
// that has one, up to root, which is dir or above it. A runtime.json that can't be believed is an
// error wherever it lies, and is not passed over. Where none runs, the error is a
// gateway.ErrNoGateway that names the folders.
func Find(dir, root string) (gateway.Running, error) {
	dir, root = filepath.Clean(dir), filepath.Clean(root)
	if dir != root && !strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/") {
		root = dir
	}
	for at := dir; ; at = filepath.Dir(at) {
		found, err := gateway.Find(at)
		if err == nil || !errors.Is(err, gateway.ErrNoGateway) {
			return found, err
		}
		if at == root {
			return gateway.Running{}, &noGatewayError{dir, root}
		}
	}
}

type noGatewayError struct{ dir, root string }

func (e *noGatewayError) Error() string {
	where := e.dir
	if e.root != e.dir {
		where = fmt.Sprintf("%s, or a folder above it up to %s", e.dir, e.root)
	}
	return fmt.Sprintf(`no gateway runs for %s; start one with "chant-acp gateway", or name its folder with --workspace`, where)
}

func (e *noGatewayError) Is(target error) bool { return target == gateway.ErrNoGateway }
