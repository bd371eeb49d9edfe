package agent_test

import (
	"io"

	"github.com/chant-acp/chant-acp/host"
)

type stubOps struct{ host.Runtime }

type stubSet struct{}

func (stubSet) List(last func(string) string) string {
	return "hello  (hello.op.yaml)\n    last run: " + last("hello") + "\n"
}

func (stubSet) WriteJSON(w io.Writer) error {
	_, err := io.WriteString(w, `{"name":"hello","file":"hello.op.yaml","config":{}}`+"\n")
	return err
}
