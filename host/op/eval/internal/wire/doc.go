// Package wire is what the two sides of evaluating share: the process that asks
// for Ops, and the child that evaluates their files (see package engine).
//
// A Request goes to the child, an Answer in parts comes back, each as a frame of JSON.
package wire
