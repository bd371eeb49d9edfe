//go:build race

package eval_test

func init() { raced = true }
