// Package eval reads all Ops of a project, *.op.ts among them: TypeScript is
// bundled by esbuild and evaluated by QuickJS, without Node, in a child process
// that has a deadline, little memory, and no way to the file system but for the
// sources of the project. What was read is kept in a cache.
//
// The child is a copy of the running executable, caught in this package's init:
// see child.go. It works in tests, and in any program that links the package.
//
// Packages of chant (@intentius/...) are not read. What stands for them is in
// shims: our own JavaScript, which makes of calls of builders what chant's make
// of them.
package eval
