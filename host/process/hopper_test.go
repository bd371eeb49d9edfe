package process

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host/process/hopper"
)

var periods = []time.Duration{300 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond}

// A program that is always about to be another one is ended all the same.
func TestHoppersEnd(t *testing.T) {
	ways := map[string]struct {
		stops   []Cause
		timeout time.Duration
		deaf    bool
	}{
		"cancel":       {stops: []Cause{Cancelled}},
		"cancel, deaf": {stops: []Cause{Cancelled, Cancelled}, deaf: true},
		"timeout":      {timeout: 300 * time.Millisecond},
	}
	for name, way := range ways {
		for _, period := range periods {
			t.Run(fmt.Sprint(name, "/", period), func(t *testing.T) {
				mark, out := tree(t), new(printed)
				spec := shell(hopping(t, period, way.deaf) + "exec sleep 998")
				spec.Env = append(spec.Env, mark)
				spec.Output, spec.Timeout, spec.Grace = out.take, way.timeout, brief
				p, _ := launch(t, spec)
				if way.timeout == 0 { // which may be over before that
					out.await(t, "up")
				}
				for _, why := range way.stops {
					p.Stop(why)
				}
				if x := p.Wait(); x.Err != nil {
					t.Errorf("exit %+v", x)
				}
				if left := alive(mark); len(left) > 0 {
					left.release()
					t.Errorf("%d are left", len(left))
				}
			})
		}
	}
}

// hopping is a script that starts a hopper, which must not reach an end of its own.
func hopping(t *testing.T, period time.Duration, deaf bool) string {
	survived := filepath.Join(t.TempDir(), "survived")
	t.Cleanup(func() {
		if _, err := os.Stat(survived); err == nil {
			t.Error("it hopped on until its own end")
		}
	})
	return fmt.Sprintf("(export '%s'; exec /proc/%d/exe) & ", hopper.Env(period, deaf, survived), os.Getpid())
}

// The same when the agent is killed, or leaves: the guard ends what the agent did not.
func TestHoppersEndWithTheAgent(t *testing.T) {
	const deaf = true
	for _, period := range periods {
		t.Run(fmt.Sprint("killed/", period), func(t *testing.T) {
			mark := tree(t)
			a := startAgent(t, mark, hopping(t, period, deaf)+"exec sleep 998", 1)
			a.end(killOne)
			awaitNone(t, mark)
		})
		t.Run(fmt.Sprint("end of input/", period), func(t *testing.T) {
			mark := tree(t)
			a := startAgent(t, mark, "leave:"+hopping(t, period, deaf)+"exec sleep 998", 1)
			a.stdin.Close()
			_ = a.cmd.Wait()
			<-a.read
			awaitNone(t, mark)
		})
	}
}
