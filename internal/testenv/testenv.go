// Package testenv is what the tests of many packages share: how long is too long, and
// whether there is time for everything. Only tests import it.
package testenv

import (
	"flag"
	"os"
	"strconv"
	"time"
)

// Hang is the longest that a test waits for what has to happen. It is no measure of
// anything: passing it means that nothing more will happen, also on a machine with many
// times more to do than it has processors for. It bounds each wait, never a whole test.
const Hang = 3 * time.Minute

// Long says whether the tests are to try everything, as .ci/run wants, and not the
// sample of it that is quick. It is so where CHANT_ACP_TEST_LONG is set.
func Long() bool { return os.Getenv("CHANT_ACP_TEST_LONG") != "" }

// Stride is how far a walk over many points steps: n, and 1 where the tests are long.
func Stride(n int) int {
	if Long() {
		return 1
	}
	return n
}

// SideBySide has so many parallel tests of a package run at once, however many
// processors there are, unless -parallel was given. It is for tests that mostly wait,
// and is called in TestMain.
func SideBySide(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // it is a number
	}
}
