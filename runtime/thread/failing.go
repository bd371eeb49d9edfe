package thread

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// Failing passes everything on to a store until its nth write (the first is 1):
// that one and all after it fail as on a full disk (ENOSPC), before the store
// hears of them. Writes are Create, Update, Append and Delete. With n 0 none fails.
func Failing(s agent.Store, n int) agent.Store {
	return &failing{Store: s, first: int64(n)}
}

// failing is the store of Failing.
type failing struct {
	agent.Store
	first  int64
	writes atomic.Int64
}

func (f *failing) write(what string) error {
	if n := f.writes.Add(1); f.first > 0 && n >= f.first {
		return fmt.Errorf("%s a session: %w", what, syscall.ENOSPC)
	}
	return nil
}

func (f *failing) Create(ctx context.Context, r Record) error {
	if err := f.write("making"); err != nil {
		return err
	}
	return f.Store.Create(ctx, r)
}

func (f *failing) Update(ctx context.Context, r Record) error {
	if err := f.write("changing"); err != nil {
		return err
	}
	return f.Store.Update(ctx, r)
}

func (f *failing) Append(ctx context.Context, id string, durable bool, events ...Event) error {
	if err := f.write("writing to"); err != nil {
		return err
	}
	return f.Store.Append(ctx, id, durable, events...)
}

func (f *failing) Delete(ctx context.Context, id string) error {
	if err := f.write("removing"); err != nil {
		return err
	}
	return f.Store.Delete(ctx, id)
}
