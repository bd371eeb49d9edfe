package turn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/command"
)

// The lists that a client is sent fit into a line, whatever a manifest holds.
func TestListsFitIntoALine(t *testing.T) {
	for _, n := range []int{3, 100, 400, 5000} {
		var list []acp.AvailableCommand
		for i := range n {
			list = append(list, acp.AvailableCommand{
				Name: fmt.Sprintf("command-%04d", i), Description: strings.Repeat(`say "so" `, 12),
				Input: &acp.CommandInput{Hint: strings.Repeat("<x>", 20)},
			})
		}
		got := fitCommands(list)
		if size := jsonSize(t, acp.AvailableCommandsUpdate{AvailableCommands: got}); size > 24<<10 {
			t.Errorf("%d commands: %d bytes", n, size)
		}
		if n <= 100 && len(got) != n {
			t.Errorf("%d commands: only %d are left", n, len(got))
		}
		if n == 3 && (got[0].Input == nil || len(got[0].Description) < 100) {
			t.Error("a short list was cut")
		}
	}
}

func jsonSize(t *testing.T, u acp.SessionUpdate) int {
	t.Helper()
	raw, err := acp.SessionNotification{SessionID: "sess_00000000-0000-0000-0000-000000000000", Update: u}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}

func TestOptionsFitIntoALine(t *testing.T) {
	s := &Thread{output: outputAuto}
	for i := range 3000 {
		s.allow.Environments = append(s.allow.Environments, command.Environment{Name: fmt.Sprintf("environment-%04d", i)})
	}
	if size := jsonSize(t, acp.ConfigOptionUpdate{ConfigOptions: s.ConfigOptions()}); size > 24<<10 {
		t.Errorf("%d bytes", size)
	}
}
