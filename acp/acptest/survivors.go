package acptest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// markerRuns waits until the program of Slow is there.
func (c *client) markerRuns() {
	if c.Marker == "" {
		return
	}
	if pids := c.watchMarker(func(pids []int) bool { return len(pids) > 0 }); len(pids) == 0 {
		c.failf("the prompt %q runs no process with the argument %q: Agent.Marker is wrong", c.Slow, c.Marker)
	}
}

// noSurvivors waits until no process with the marker is left.
func (c *client) noSurvivors() {
	if c.Marker == "" {
		return
	}
	if pids := c.watchMarker(func(pids []int) bool { return len(pids) == 0 }); len(pids) > 0 {
		c.failf("processes of the turn are still running: %v (argument %q)", pids, c.Marker)
	}
}

// watchMarker looks until done, or until patience has run out. The processes
// are nobody's children here: there is nothing to wait on, so it looks again
// and again.
func (c *client) watchMarker(done func([]int) bool) []int {
	ctx, cancel := c.patient()
	defer cancel()
	return watch(ctx, c.Marker, done)
}

func watch(ctx context.Context, marker string, done func([]int) bool) []int {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		pids := withArgument(marker)
		if done(pids) {
			return pids
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return pids
		}
	}
}

// withArgument lists the processes that have an argument; see
// proc_pid_cmdline(5). Zombies have none.
func withArgument(marker string) []int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	var pids []int
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil { // it ended meanwhile
			continue
		}
		for arg := range bytes.SplitSeq(raw, []byte{0}) {
			if string(arg) == marker {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the pattern says digits
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

func procfs() error {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		return fmt.Errorf("Agent.Marker needs a system with /proc: %w", err)
	}
	return nil
}
