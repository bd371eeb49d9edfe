package local

import (
	"os"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// What the log lacks is known to whoever looks at the run later, in another
// process too.
func TestALogThatIsNotWholeIsKnownAsSuch(t *testing.T) {
	r := newRig(t, "name: one\nphases: [{name: A, steps: [{shell: echo kept}, {waitForEvent: go}, {shell: echo lost}]}]")
	res, _ := r.run(named("one"))
	if res.Run.State != host.RunWaiting || res.Run.LogLacks != "" {
		t.Fatalf("%+v", res)
	}
	log := r.rt.folder(res.Run.ID).output()
	if err := os.Rename(log, log+".full"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(log, 0o700); err != nil { // what can't be written to
		t.Fatal(err)
	}
	if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "go"}); err != nil {
		t.Fatal(err)
	}
	if res, _ = r.run(on(res)); res.Run.State != host.RunCompleted {
		t.Fatalf("%+v", res)
	}
	later, err := r.open().RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []host.RunInfo{res.Run, later} {
		if !strings.Contains(i.LogLacks, "no log is kept") {
			t.Errorf("the log lacks %q", i.LogLacks)
		}
	}
}
