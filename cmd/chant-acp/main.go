// Command chant-acp is an Agent Client Protocol agent without a model: an
// editor starts it, and each prompt runs one command of the project's
// allow-list.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], newStreams(os.Stdin, os.Stdout, os.Stderr)))
}
