package process_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host/process"
)

// median reports the median beside the mean, which a busy machine pulls up.
func median(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "median-ns")
}

// BenchmarkTrue compares a program that does nothing with the least that os/exec takes for it. The
// two take turns, so that both see the same machine.
func BenchmarkTrue(b *testing.B) {
	ctx := context.Background()
	spec := process.Spec{Path: "/bin/true", Dir: "/", Env: os.Environ()}
	var ours, bare []time.Duration
	for b.Loop() {
		began := time.Now()
		p, err := process.Start(ctx, spec)
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
		between := time.Now()
		cmd := exec.Command("/bin/true")
		cmd.Dir = "/"
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		ours, bare = append(ours, between.Sub(began)), append(bare, time.Since(between))
	}
	slices.Sort(bare)
	b.ReportMetric(float64(bare[len(bare)/2].Nanoseconds()), "bare-median-ns")
	median(b, ours)
}

// BenchmarkOutput256MiB reads 256 MiB printed by dd.
func BenchmarkOutput256MiB(b *testing.B) {
	const size = 256 << 20
	b.SetBytes(size)
	for b.Loop() {
		total := 0
		p, err := process.Start(context.Background(), process.Spec{
			Path: "/bin/dd", Argv: []string{"dd", "if=/dev/zero", "bs=1M", "count=256", "status=none"}, Dir: "/",
			Output: func(p []byte) { total += len(p) },
		})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
		if total != size {
			b.Fatalf("%d bytes instead of %d", total, size)
		}
	}
}

// BenchmarkCancelTree measures from Stop to the end of Wait for a shell with two sleeping children.
func BenchmarkCancelTree(b *testing.B) {
	var times []time.Duration
	for b.Loop() {
		b.StopTimer()
		up := make(chan struct{})
		p, err := process.Start(context.Background(), process.Spec{
			Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 99 & sleep 98 & echo up; wait"}, Dir: "/", Env: os.Environ(),
			Output: func(p []byte) {
				if bytes.Contains(p, []byte("up")) {
					close(up)
				}
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		<-up
		b.StartTimer()
		began := time.Now()
		p.Stop(process.Cancelled)
		p.Wait()
		times = append(times, time.Since(began))
	}
	median(b, times)
}
