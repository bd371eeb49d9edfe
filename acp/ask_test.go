package acp_test

import (
	"fmt"
	"strings"
	"testing"
)

// A request whose answer counts for nothing goes out in its place in a batch; its
// answer, and a second one, disturb nothing.
func TestAskingWithoutWaiting(t *testing.T) {
	w := startWire(t)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"hold"}` + "\n")
	r := <-w.h.hold
	b := w.peer.Batch()
	b.Notify("before", struct{}{})
	b.Ask("question", map[string]string{"a": "b"})
	b.Reply(r, true)
	b.Send()
	var ids []string
	for _, want := range []string{`"method":"before"`, `"method":"question","params":{"a":"b"}`, `"id":1,"result":true`} {
		line := w.line()
		if !strings.Contains(line, want) {
			t.Errorf("%s, want %s in it", line, want)
		}
		if _, rest, ok := strings.Cut(line, `"id":`); ok && strings.Contains(line, "question") {
			id, _, _ := strings.Cut(rest, ",")
			ids = append(ids, id)
		}
	}
	if len(ids) != 1 || ids[0] == "0" {
		t.Fatalf("ids %q", ids)
	}
	for range 2 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"cancelled"}}}`+"\n", ids[0]))
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"echo"}` + "\n")
	if line := w.line(); !strings.Contains(line, `"id":2`) {
		t.Errorf("what followed was answered with %s", line)
	}
}
