//go:build race

package session

// raceEnabled: the race detector takes many times the memory.
const raceEnabled = true
