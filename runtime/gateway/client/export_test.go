package client

import "context"

// Ping is what Write sends behind what it writes.
func (t *Terminal) Ping(ctx context.Context) error { return t.exchange(ctx, ping) }
