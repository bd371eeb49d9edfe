// Package remotecmd holds the commands that ask a gateway that runs: ps, attach,
// events and kill.
package remotecmd
