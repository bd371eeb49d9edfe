// Package wire is what the two sides of evaluating share: the process that asks
// for Ops, and the child that evaluates their files (see package engine).
package wire
