//go:build race

package acpd

// endsAtOnce keeps a program that is built with the race detector from waiting
// for a second at its end (https://go.dev/doc/articles/race_detector#Options).
const endsAtOnce = "GORACE=atexit_sleep_ms=0"
