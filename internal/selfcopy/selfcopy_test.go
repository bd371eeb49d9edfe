package selfcopy_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/selfcopy"
)

func init() {
	if selfcopy.Is("copy-of-the-test") {
		fmt.Print(strings.Join(selfcopy.Environ(), " "))
		os.Exit(0)
	}
}

func TestCommand(t *testing.T) {
	environ := []string{"A=1", "B=2"}
	out, err := selfcopy.Command("copy-of-the-test", environ[:1]).Output()
	if err != nil || string(out) != "A=1" {
		t.Errorf("the copy says %q, %v", out, err)
	}
	if !slices.Equal(environ, []string{"A=1", "B=2"}) {
		t.Errorf("the environment became %q", environ)
	}
}

// Neither name nor arguments alone make a copy.
func TestNobodyBecomesOneByChance(t *testing.T) {
	if selfcopy.Any() {
		t.Fatal("this process is no copy")
	}
	for _, c := range []*exec.Cmd{
		{Args: []string{"copy-of-the-test", "-test.list=^$"}},
		{Args: []string{"copy-of-the-test", "-test.list=^$"}, Env: []string{"CHANT_ACP_COPY=x"}},
		{Args: []string{"another", "-test.list=^$"}, Env: []string{"CHANT_ACP_COPY=-test.list=^$"}},
	} {
		c.Path = "/proc/self/exe"
		out, err := c.Output()
		if err != nil || strings.Contains(string(out), "CHANT") || strings.Contains(string(out), "A=1") {
			t.Errorf("%q %q says %q, %v", c.Args, c.Env, out, err)
		}
	}
}
