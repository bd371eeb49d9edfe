//go:build !linux

package engine

func dropSyscalls() error { return nil }
