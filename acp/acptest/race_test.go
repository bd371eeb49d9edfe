//go:build race

package acptest

func init() { raced = true }
