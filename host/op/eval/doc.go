// Package eval reads all Ops of a project, *.op.ts among them: TypeScript is
// bundled by esbuild and evaluated by QuickJS, without Node, in a child process
// that has a deadline, little memory, and no way to the file system but for the
// sources of the project. What was read is kept in a cache.
//
// The child is chant-acpd ([github.com/chant-acp/chant-acp/internal/acpd]), and what
// it does is in package engine. Without it, or where it is of another version, each
// *.op.ts that the cache does not know says so, and all other Ops are read.
//
// [Load] takes a project's folder and gives all its Ops.
package eval
