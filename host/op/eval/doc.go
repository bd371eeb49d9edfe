// Package eval reads all Ops of a project, *.op.ts among them: TypeScript is
// bundled by esbuild and evaluated by QuickJS, without Node, in a child process
// that has a deadline, little memory, and no way to the file system but for the
// sources of the project. What was read is kept in a cache.
//
// The child is a copy of the running executable. What it does is in package
// engine, which a program that reads Ops links by a blank import; this package
// does not, so that who only reads Ops is not slowed down at its start by what
// evaluates them.
package eval
