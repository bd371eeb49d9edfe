// Package gateway serves what runs in a workspace over HTTP on this machine:
// sessions of agents and terminals, what happens to them as server-sent events,
// conversations, runs and their gates, and the allow-list as tools of the Model
// Context Protocol.
//
// A browser page must not get at any of it. A gateway listens on loopback unless
// told otherwise, takes only names that are its own (Host) and pages that are
// trusted (Origin), and wants a bearer token, new at each start, for all that
// changes something or shows what was said. The token stands in a file that only
// the user can read, .chant-acp/runtime.json of the workspace.
//
// Gateway starts and stops; router (routes.go) does what comes before any route.
// Each group of routes is a type of its own with the few things that it needs, and
// a method that lists its routes: healthRoutes, eventRoutes, conversationRoutes,
// adapterRoutes, sessionRoutes, agentRoutes, outputRoutes, runRoutes, mcpRoutes.
//
// Errors are problem documents of RFC 9457. docs/gateway.md shows every route.
//
// Begin at [New]; [Options] holds what the gateway is given to show.
package gateway
