package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
)

// Options say how a project is read.
type Options struct {
	// Cache is the folder that keeps what was evaluated, absolute; "" keeps
	// nothing. It can be deleted at any time.
	Cache string
	// Environ is what the files find in process.env; nil for this process's.
	Environ []string
	// First is the name of the Op that is asked for, "" for none: the file that is
	// called so is evaluated first, before others can use up the time that all
	// have together.
	First string
}

// Load reads all Ops of a project. What a file has wrong is in the set; an error
// means that the folder cannot be searched, or files not evaluated at all, or
// that ctx is done.
func Load(ctx context.Context, dir string, o Options) (*op.Set, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("the project's folder cannot be searched for Ops: %w", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, fmt.Errorf("the project's folder cannot be searched for Ops: %w", err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("the project's folder cannot be searched for Ops: %w", err)
	}
	defer root.Close()
	files, err := op.FindFiles(ctx, root)
	if err != nil {
		return nil, err
	}
	l := &loader{root: root, failed: files.Failed, environ: o.Environ, first: o.First}
	if l.environ == nil {
		l.environ = os.Environ()
	}
	l.cache = openCache(o.Cache, root, l.environ)
	err = l.load(ctx, files.Names)
	_ = l.cache.save() // without it the next time takes longer, and no more
	if err != nil {
		return nil, err
	}
	return op.NewSet(real, l.ops, l.failed, files.Incomplete), nil
}

// loader gathers the Ops of a project: data is read here, TypeScript comes from the
// cache or from workers.
type loader struct {
	root    *os.Root
	environ []string
	first   string
	cache   *cache
	ops     []*op.Op
	failed  []*op.FileError
}

// load reads all files, those of the Op that was asked for first.
func (l *loader) load(ctx context.Context, files []string) error {
	var evaluate []string
	for _, file := range files {
		if op.FormatOf(file) != op.TypeScript {
			l.decode(file)
		} else if known, ok := l.cache.get(file); ok {
			l.take(file, wire.Answer{Config: known.Config, Findings: known.Findings, Seen: known.Seen})
		} else if l.first != "" && strings.HasPrefix(path.Base(file), l.first+".op.") {
			evaluate = slices.Insert(evaluate, 0, file)
		} else {
			evaluate = append(evaluate, file)
		}
	}
	answers, err := evaluateAll(ctx, l.root.Name(), l.environ, evaluate)
	for i, file := range evaluate {
		if answers[i].Config == nil && answers[i].Findings == nil {
			continue // err came before
		}
		l.take(file, answers[i])
		l.cache.put(file, answers[i])
	}
	return err
}

func (l *loader) decode(file string) {
	data, err := op.ReadFile(l.root, file)
	if err != nil {
		l.fail(file, nil, err)
		return
	}
	config, err := decoded.decode(file, data)
	l.add(&op.Op{File: file, Config: config, Sources: []string{file}}, err)
}

// take reads the answer for a file. One that is kept depends on no variable.
func (l *loader) take(file string, a wire.Answer) {
	if a.Findings != nil {
		l.fail(file, a.Reads, &op.FileError{File: file, Findings: a.Findings})
		return
	}
	c, err := op.Restore(file, a.Config)
	l.add(&op.Op{File: file, Config: c, Sources: slices.Sorted(maps.Keys(a.Seen.Files)), Reads: a.Reads}, err)
}

func (l *loader) add(o *op.Op, err error) {
	if err != nil {
		l.fail(o.File, o.Reads, err)
		return
	}
	l.ops = append(l.ops, o)
}

func (l *loader) fail(file string, reads []string, err error) {
	var bad *op.FileError
	if !errors.As(err, &bad) {
		bad = op.Failed(file, "%v", err)
	}
	bad.Reads = reads
	l.failed = append(l.failed, bad)
}

// maxWorkers and filesPerWorker decide how many children evaluate at a time: one
// more costs the time of a few files.
const (
	maxWorkers     = 4
	filesPerWorker = 16
)

// evaluateAll evaluates files, several at a time, and returns their answers in
// their order. Together with an error there may be answers for some.
func evaluateAll(ctx context.Context, root string, environ, files []string) ([]wire.Answer, error) {
	p := &pool{root: root, environ: environ, files: files, answers: make([]wire.Answer, len(files))}
	for range (len(files) + filesPerWorker - 1) / filesPerWorker {
		p.grow(ctx)
	}
	p.running.Wait()
	return p.answers, errors.Join(p.failures...)
}

// A pool is the workers of one load.
type pool struct {
	root           string
	environ, files []string
	answers        []wire.Answer
	next           atomic.Int64
	running        sync.WaitGroup

	mu       sync.Mutex
	workers  int
	failures []error
	extra    time.Duration // what files took beyond wire.FreeWork
	busy     int           // files that had no more than that, and took it
}

// maxBusy is how many files may use up wire.FreeWork once wire.MaxExtra is used
// up. The others are not evaluated.
const maxBusy = 10

// allot returns the processor time that the next file may take; 0 for none.
func (p *pool) allot() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy >= maxBusy {
		return 0
	}
	return wire.FreeWork + min(max(wire.MaxExtra-p.extra, 0), wire.MaxWork-wire.FreeWork)
}

// charge counts what a file took of what it was allotted.
func (p *pool) charge(took, allotted time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra += max(took-wire.FreeWork, 0)
	if allotted == wire.FreeWork && took >= allotted {
		p.busy++
	}
}

// grow starts one more worker, unless there are enough. Its caller is one, or
// waits only afterwards.
func (p *pool) grow(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers < min(maxWorkers, runtime.GOMAXPROCS(0), len(p.files)) {
		p.workers++
		p.running.Go(func() { p.work(ctx, &worker{root: p.root, environ: p.environ}) })
	}
}

// work evaluates files until there are none. One that used up what it may is
// rarely alone, and each takes as long as hundreds of others: help is called.
func (p *pool) work(ctx context.Context, w *worker) {
	defer w.close()
	for {
		n := int(p.next.Add(1)) - 1
		if n >= len(p.files) {
			return
		}
		work := p.allot()
		if work == 0 {
			p.answers[n] = wire.Answer{Findings: op.Failed(p.files[n], "%s", wire.TooBusy).Findings, Chance: true}
			continue
		}
		a, err := w.evaluate(ctx, p.files[n], work)
		if err != nil {
			p.mu.Lock()
			p.failures = append(p.failures, err)
			p.mu.Unlock()
			return
		}
		p.charge(a.Took, work)
		if p.answers[n] = a; a.Spent {
			p.grow(ctx)
		}
	}
}
