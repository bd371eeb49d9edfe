// Package configcmd holds the commands that look at settings and change them: config
// (ours), setup (those of clients), and schema.
package configcmd
