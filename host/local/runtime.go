package local

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/envmask"
)

// Options are what a Runtime needs of the project and of the process it lives in.
type Options struct {
	// Root is the project's folder, absolute.
	Root string
	// State is the folder of runs, absolute; it is made when the first run is.
	State string
	// Find reads an Op as it is now, with the variables vars ("NAME=value") over
	// the environment. Its error says what else there is.
	Find func(ctx context.Context, name string, vars []string) (*op.Op, error)
	// Env is the environment that this process inherited. Its values are shown by
	// their names.
	Env []string
	// Environ is the environment of programs; nil for Env.
	Environ func(color bool) []string
	// Chant is the path of the chant program, "" where there is none. It may be
	// nil.
	Chant func() string
	// ManifestDigest identifies the manifest in use, "" where there is none. It
	// may be nil.
	ManifestDigest func() string
	// LogMax bounds what is kept of what the steps of a run print, and LogFloor is
	// the free disk that it leaves, in bytes; 0 for 1 GiB and 512 MiB.
	LogMax, LogFloor int64
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// Runtime implements host.Runtime: it begins runs, goes on with them and ends them.
// What only looks at them is in queries.
type Runtime struct {
	queries
	o    Options
	mask *envmask.Mask
	// activities are what the steps of Ops may run.
	activities *activity.Project
	// sleep waits for a time, or returns the cause of a context that ends first.
	sleep func(context.Context, time.Duration) error

	mu sync.Mutex
	// left is what the programs of each run that is open may have left behind.
	left map[string][]process.Remnant
}

var _ host.Runtime = (*Runtime)(nil)

// New makes the runtime of a project. Nothing is made or read but the links of
// the root.
func New(o Options) (*Runtime, error) {
	root, err := filepath.EvalSymlinks(o.Root)
	if err != nil {
		return nil, fmt.Errorf("the project's folder: %w", err)
	}
	o.Root = root
	if !filepath.IsAbs(o.Root) || !filepath.IsAbs(o.State) {
		return nil, fmt.Errorf("the project's folder %q and the folder of runs %q must be absolute", o.Root, o.State)
	}
	if o.Environ == nil {
		o.Environ = func(bool) []string { return o.Env }
	}
	if o.Chant == nil {
		o.Chant = func() string { return "" }
	}
	if o.ManifestDigest == nil {
		o.ManifestDigest = func() string { return "" }
	}
	o.LogMax, o.LogFloor = cmp.Or(o.LogMax, 1<<30), cmp.Or(o.LogFloor, 512<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	dir := filepath.Join(o.State, digest(root)[:keyLen])
	activities := &activity.Project{
		Root: root, Chant: o.Chant, Environ: func() []string { return newEnviron(o.Environ(false)).list },
	}
	return &Runtime{
		queries: queries{dir, o.Now}, o: o, mask: envmask.New(o.Env), activities: activities, sleep: sleep,
		left: make(map[string][]process.Remnant),
	}, nil
}
