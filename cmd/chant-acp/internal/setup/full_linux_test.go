package setup

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// A file-size limit stands in for a full disk: a write ends short, with an
// error. It is set in a process of its own, because it holds for every file.
func TestFullDisk(t *testing.T) {
	if os.Getenv("SETUP_TEST_FULL_DISK") != "" {
		writeOnFullDisk(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "SETUP_TEST_FULL_DISK=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "refused as it should") {
		t.Errorf("%v\n%s", err, out)
	}
}

func writeOnFullDisk(t *testing.T) {
	d := newDesk(t, "zed")
	d.put("{}", 0o600)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20, Max: 20}); err != nil {
		t.Fatal(err)
	}
	d.refuses("was not changed, because the new version cannot be written")
	t.Log("refused as it should")
}
