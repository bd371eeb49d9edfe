package engine

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the system calls that evaluating needs none of: those that make
// connections, start programs, and look into other processes. What reaches the
// same by another way (io_uring) is among them.
var denied = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PIDFD_GETFD, unix.SYS_IO_URING_SETUP, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS,
}

// archOf is the architecture as the kernel names it in a filter's data (see
// seccomp(2)), and the first number that is no system call of its own ABI.
func archOf(goarch string) (arch, foreign uint32, ok bool) {
	switch goarch {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64, 0x4000_0000, true // from there on: x32
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64, 1 << 31, true
	}
	return 0, 0, false
}

// dropSyscalls makes the calls in denied fail in all threads of this process, for
// good. Where the kernel has no seccomp filters it does nothing.
func dropSyscalls() error {
	arch, foreign, ok := archOf(runtime.GOARCH)
	if !ok {
		return nil
	}
	filter := filterOf(arch, foreign)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno == 0 || errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EINVAL):
		return nil
	}
	return fmt.Errorf("filtering system calls: %w", errno)
}

// filterOf writes the filter: what is of another architecture or ABI, or denied,
// fails with EPERM; all else is allowed.
func filterOf(arch, foreign uint32) []unix.SockFilter {
	const (
		number  = 0 // offsets in struct seccomp_data
		archAt  = 4
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		answer  = unix.BPF_RET | unix.BPF_K
		refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	f := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, Jt: 1, K: arch},
		{Code: answer, K: refuse},
		{Code: load, K: number},
		{Code: atLeast, Jf: 1, K: foreign},
		{Code: answer, K: refuse},
	}
	for _, call := range denied {
		f = append(f, unix.SockFilter{Code: equal, Jf: 1, K: call}, unix.SockFilter{Code: answer, K: refuse})
	}
	return append(f, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
}
