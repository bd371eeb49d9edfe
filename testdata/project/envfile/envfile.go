// Package envfile reads the files that say what an environment runs.
package envfile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Parse reads one service a line: its name and how many instances it has, from
// 1 up. Blank lines and lines that begin with # say nothing.
func Parse(r io.Reader) (map[string]int, error) {
	services := make(map[string]int)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		fields := strings.Fields(text)
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: want a service and a number, got %q", n, text)
		}
		instances, err := strconv.Atoi(fields[1])
		if err != nil || instances < 1 {
			return nil, fmt.Errorf("line %d: %q is no number of instances", n, fields[1])
		}
		if _, twice := services[fields[0]]; twice {
			return nil, fmt.Errorf("line %d: %s stands here twice", n, fields[0])
		}
		services[fields[0]] = instances
	}
	return services, lines.Err()
}
