// Package engine evaluates the files of Ops, one after the other, for package
// eval: it is what the child does, in [Main].
//
// Packages of chant (@intentius/...) are not read. What stands for them is in
// the shims of package wire: our own JavaScript, which makes of calls of builders
// what chant's make of them.
package engine
