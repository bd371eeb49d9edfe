// Package hopper is for tests: a process that is hard to end. It starts a copy of itself in a
// session of its own and ends, and the copy does the same, over and over, so that there is always
// one and never the same one for long.
//
// A test binary becomes one: its TestMain calls [Main], and a test runs the binary with [Env] in
// the environment.
package hopper

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const variable = "CHANT_TEST_HOPPER"

// most is how many copies a hopper makes: those that have ended fill the table of processes until
// they are reaped.
const most = 5000

// Env is the environment entry of a process that is to hop with this period. One that is deaf
// ignores SIGTERM. A hopper that nobody ends in some seconds does so by itself, and creates a file
// of this path.
func Env(period time.Duration, deaf bool, survived string) string {
	return fmt.Sprintf("%s=%d %t %s", variable, period, deaf, survived)
}

// Main returns at once where this process is not to be a hopper. A hopper prints "up", and does not
// return.
func Main() {
	number, rest, _ := strings.Cut(os.Getenv(variable), " ")
	deaf, survived, ok := strings.Cut(rest, " ")
	period, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || period <= 0 {
		return
	}
	path, err := syscall.BytePtrFromString(survived)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGTERM)
	if deaf != "true" {
		// The system's own reaction, not that of Go's runtime, which does not outlive a fork.
		var usual [4]uintptr // struct sigaction of the kernel, with SIG_DFL
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTERM), uintptr(unsafe.Pointer(&usual)), 0, 8, 0, 0)
	}
	fmt.Println("up")
	runtime.LockOSThread()
	hop(syscall.NsecToTimespec(period), path)
}

// Lives says whether there still is a hopper that would create the file survived.
func Lives(survived string) bool {
	for range 2 { // as one may hop past a look
		environments, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return false
		}
		for _, path := range environments {
			if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), survived+"\x00") {
				return true
			}
		}
	}
	return false
}

// hop does nothing but system calls: a forked Go process has one thread and no scheduler.
//
//go:norace
//go:nosplit
func hop(period syscall.Timespec, survived *byte) {
	for range most {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid != 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&period)), 0, 0)
	}
	const here = ^uintptr(99) // AT_FDCWD
	_, _, _ = syscall.RawSyscall6(syscall.SYS_OPENAT, here, uintptr(unsafe.Pointer(survived)), syscall.O_CREAT|syscall.O_WRONLY, 0o600, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}
