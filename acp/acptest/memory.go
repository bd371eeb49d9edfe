package acptest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// checkMemory holds a process that is still running to Agent.MaxMemory.
func (c *client) checkMemory() {
	if c.MaxMemory == 0 || c.Pid() == 0 {
		return
	}
	peak, ok := peakMemory(c.Pid())
	if ok && peak > c.MaxMemory {
		c.failf("the agent used %d bytes of memory: its limit is %d", peak, c.MaxMemory)
	}
}

// peakMemory reads VmHWM, the peak resident set; see proc_pid_status(5).
func peakMemory(pid int) (int64, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(raw)) {
		value, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		return kib << 10, err == nil
	}
	return 0, false
}
