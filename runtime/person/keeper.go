package person

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

// CapabilityTime is for how long a capability is good.
const CapabilityTime = 10 * time.Minute

// maxCapabilities bounds how many are good at a time; the oldest goes.
const maxCapabilities = 1000

// A Keeper gives out capabilities and knows those that are good. The zero value is
// ready.
type Keeper struct {
	mu   sync.Mutex
	good map[[sha256.Size]byte]time.Time // by digest: until when
}

// Grant makes a capability.
func (k *Keeper) Grant(now time.Time) (capability string, until time.Time) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, it says
	capability, until = base64.RawURLEncoding.EncodeToString(b[:]), now.Add(CapabilityTime)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.good == nil {
		k.good = make(map[[sha256.Size]byte]time.Time)
	}
	var oldest [sha256.Size]byte
	for digest, end := range k.good {
		switch {
		case !end.After(now):
			delete(k.good, digest)
		case k.good[oldest].IsZero() || end.Before(k.good[oldest]):
			oldest = digest
		}
	}
	if len(k.good) >= maxCapabilities {
		delete(k.good, oldest)
	}
	k.good[sha256.Sum256([]byte(capability))] = until
	return capability, until
}

// Good says whether a capability was given out and its time is not over.
func (k *Keeper) Good(capability string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	until, known := k.good[sha256.Sum256([]byte(capability))]
	return known && until.After(now)
}
