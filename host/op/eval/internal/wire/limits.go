package wire

import (
	"fmt"
	"time"
)

// ExitOvertime is the exit code of a child that a file kept busy beyond
// interrupting.
const ExitOvertime = 3

const (
	// MaxWork is the processor time that one file may take.
	MaxWork = 2 * time.Second
	// FreeWork is the processor time that each file may take whatever others
	// take. What goes beyond it comes out of MaxExtra.
	FreeWork = 100 * time.Millisecond
	// MaxExtra is the processor time that all files of a project may take together
	// beyond the FreeWork of each. An ordinary file takes a few milliseconds.
	MaxExtra = 4 * time.Second
	// MaxMemory is what one file's evaluation may use, in bytes.
	MaxMemory = 256 << 20
	// MaxGrowth is the address space that the child may take beyond what its
	// start took, in bytes: what a script may use, and as much for bundling it.
	MaxGrowth = 2 * MaxMemory
)

// TooLong is what is said of a file that does not come to an end.
var TooLong = fmt.Sprintf("it takes more than %s to evaluate; it may hold a loop without an end", MaxWork)

// TooBusy is what is said of a file that could not be given the time that it may
// take.
var TooBusy = fmt.Sprintf("it is not evaluated to its end: other files have used up the %s that those of a project may take beyond %s each; mend them first", MaxExtra, FreeWork)

// TooLarge is what is said of a file that takes more memory than it has; which of
// the two bounds it was is chance where it comes near both.
var TooLarge = fmt.Sprintf("evaluating it takes more memory than a file has, %d MiB, and %d MiB together with bundling it", MaxMemory>>20, MaxGrowth>>20)
