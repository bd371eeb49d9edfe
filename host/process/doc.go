// Package process runs one program at a time to its true end: the program, what it started, and
// what it printed.
//
// Every program starts as the leader of a session of its own, which makes it the leader of a
// process group and takes the controlling terminal away from it; its standard input is the null
// device, and its standard output and error are one pipe, so that their order is kept. With
// [Spec.TTY] all three are a terminal of its own; [Spec.Input] makes that one to type on, or the
// standard input a pipe, and [Spec.Errors] parts standard error from standard output.
//
// A program is over when its whole group is. What is left of the group when the leader ends by
// itself, and everything when [Process.Stop] is called, gets SIGTERM, a grace, and SIGKILL. After a
// stop, members that left the group are found by two tags that whatever a program starts inherits,
// and ended too: a token in the environment ([TokenVar]), and a mark, which is a number of its own
// as the soft limit on file locks (RLIMIT_LOCKS, which no kernel heeds). The second survives a
// cleared environment.
//
// The mark is set on the calling process for as long as Start forks, some hundred microseconds.
// Other code in the process that forks at that very moment gives its child the mark, too. Such a
// child is told from ours by its session, which is the calling process's; only if it makes a
// session of its own is it ended with the program, or by the guard.
//
// No program outlives the process that started it, however that one ends. A guard, which is a
// second copy of the running executable caught by [GuardMain] at the start of main, holds the other
// end of a socket and ends all groups, and every process that carries either tag, when the socket
// closes. It starts with the first program. What [Hold] gave it, such as a lock, stays open as long
// as it lives.
//
// Children inherit descriptors 0, 1 and 2 and nothing else: Start marks every other descriptor of
// the calling process close-on-exec.
//
// The package needs Linux with /proc mounted.
//
// Begin at [Start], which takes a [Spec] and gives a [Process]; [Process.Wait] gives its [Exit].
package process
