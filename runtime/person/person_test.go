package person

import (
	"testing"
	"time"
)

func TestKeeper(t *testing.T) {
	var k Keeper
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, until := k.Grant(now)
	if !until.Equal(now.Add(CapabilityTime)) || !k.Good(first, now) || !k.Good(first, until.Add(-1)) {
		t.Error("a capability is not good in its time")
	}
	if k.Good(first, until) || k.Good("", now) || k.Good(first+"x", now) {
		t.Error("what is not, or no more, a capability is good")
	}
	for range maxCapabilities {
		k.Grant(now.Add(time.Second))
	}
	if k.Good(first, now) || len(k.good) > maxCapabilities {
		t.Errorf("%d are good, and the oldest is one of them", len(k.good))
	}
	last, _ := k.Grant(until.Add(time.Hour))
	if !k.Good(last, until.Add(time.Hour)) || len(k.good) != 1 {
		t.Errorf("%d are kept whose time is over", len(k.good)-1)
	}
}
