package agent_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// failing passes everything on to a store until its nth write (the first is 1):
// that one and all after it fail as on a full disk (ENOSPC), before the store
// hears of them. Writes are Create, Update, Append and Delete.
func failing(s agent.Store, n int) agent.Store {
	return &failingStore{Store: s, first: int64(n)}
}

// failingStore is the store of failing.
type failingStore struct {
	agent.Store
	first  int64
	writes atomic.Int64
}

func (f *failingStore) write(what string) error {
	if f.writes.Add(1) >= f.first {
		return fmt.Errorf("%s a session: %w", what, syscall.ENOSPC)
	}
	return nil
}

func (f *failingStore) Create(ctx context.Context, r agent.SessionRecord) error {
	if err := f.write("making"); err != nil {
		return err
	}
	return f.Store.Create(ctx, r)
}

func (f *failingStore) Update(ctx context.Context, r agent.SessionRecord) error {
	if err := f.write("changing"); err != nil {
		return err
	}
	return f.Store.Update(ctx, r)
}

func (f *failingStore) Append(ctx context.Context, id string, durable bool, events ...agent.Event) error {
	if err := f.write("writing to"); err != nil {
		return err
	}
	return f.Store.Append(ctx, id, durable, events...)
}

func (f *failingStore) Delete(ctx context.Context, id string) error {
	if err := f.write("removing"); err != nil {
		return err
	}
	return f.Store.Delete(ctx, id)
}
