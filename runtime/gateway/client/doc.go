// Package client asks the gateway of a workspace: which sessions there are, what
// happens to them, and for a place at a terminal.
//
// It finds the gateway through runtime.json of the workspace, and sends the token
// in it to the loopback address in it and to nobody else: no proxy is used, and no
// redirect followed. docs/gateway.md shows the routes.
//
// Begin at [Find].
package client
