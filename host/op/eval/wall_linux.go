package eval

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
)

// startWalled starts the evaluator so that it can open files of root, for
// reading, and nothing else but what its own start takes; where the kernel has
// Landlock (landlock(7)). It can't use the network's TCP then, and signal no
// process outside.
//
// Landlock restricts threads. The one that starts the child is restricted, so
// that the child is from its first instruction on, and is given up afterwards.
func startWalled(cmd *exec.Cmd, root string) error {
	started := make(chan error)
	go func() { // waited for below
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		_ = restrictThread(cmd.Path, root)
		started <- cmd.Start()
	}()
	return <-started
}

// landlockABI is the version of Landlock that the kernel has, 0 for none.
func landlockABI() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// Walls says what of the kernel keeps the evaluator of *.op.ts to the files of a
// project, beside what the evaluator itself does: one line for a person.
func Walls() string {
	files, calls := "no Landlock in this kernel", "no seccomp filters in this kernel"
	if abi := landlockABI(); abi > 0 {
		files = fmt.Sprintf("Landlock, version %d", abi)
	}
	// A filter that is not there is an address fault where there are filters.
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0)
	if errors.Is(err, unix.EFAULT) {
		calls = "a seccomp filter"
	}
	return "files: " + files + "; sockets, programs and tracing: " + calls
}

// What is handled is denied unless a rule allows it. Each version handles more.
const (
	treeRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	program  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE

	firstFS = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | treeRead |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

func handled(abi int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: firstFS}
	for since, access := range map[int]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if abi >= since {
			a.Handled_access_fs |= access
		}
	}
	if abi >= 4 {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// restrictThread restricts the calling thread, and what it starts, to reading
// root and running the program.
func restrictThread(path, root string) error {
	abi := landlockABI()
	if abi == 0 {
		return unix.ENOSYS
	}
	attr := handled(abi)
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("making a Landlock ruleset: %w", errno)
	}
	fd := int(ruleset)
	defer unix.Close(fd)
	if err := allow(fd, root, treeRead); err != nil {
		return err
	}
	if err := allow(fd, path, program); err != nil {
		return err
	}
	for _, dir := range libraries(path) {
		if err := allow(fd, dir, program|treeRead); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return fmt.Errorf("restricting the evaluator by Landlock: %w", errno)
	}
	return nil
}

// allow adds a rule for what lies at and below a path.
func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &^= unix.LANDLOCK_ACCESS_FS_READ_DIR // which a file can't be given
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allowing %s by Landlock: %w", path, errno)
	}
	return nil
}

// libraries are the folders that the start of a program reads which is linked
// dynamically; none for a static one.
func libraries(path string) []string {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil || len(name) < 2 {
			return nil
		}
		return []string{filepath.Dir(string(name[:len(name)-1])), "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/etc/ld.so.cache"}
	}
	return nil
}

// boundMemory bounds the address space of an evaluator that has started. The Go
// runtime reserves much of it that it never uses, so the bound is on what comes
// on top.
func boundMemory(pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return fmt.Errorf("reading the evaluator's size: %w", err)
	}
	most := pages*uint64(os.Getpagesize()) + wire.MaxGrowth
	return unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most}, nil)
}
