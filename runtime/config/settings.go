package config

import "time"

// Settings are the values that count: of the environment, the active profile,
// the file and the defaults, in this order.
type Settings struct {
	// Profile is the active profile's name; "" for none.
	Profile string

	Agent         Agent
	Log           Log
	Chant         Chant
	Conversations Conversations
	Daemon        Daemon
	Tunnel        Tunnel
	Features      Features
	// Adapters are the ACP agents that a gateway can start, by slug.
	Adapters map[string]Adapter

	// Problems are the values that were not used, and why. What counts in their
	// place is what would count without them.
	Problems []Problem
}

// Agent is how the agent behaves towards its client.
type Agent struct {
	// Gates is what a gate of an Op does: "reply", "ask" or "durable".
	Gates string
	// Output is how much output is shown: "auto", "full", "plain" or "quiet".
	Output string
	// Refusal is the stop reason of a refused prompt: "auto", "refusal" or
	// "end_turn".
	Refusal string
	// Allow says whether a person has to allow a project's commands: "ask" or
	// "always", which is that nobody has to.
	Allow string
	// ExitIdle is how long after a cancel a silent agent stays; 0 for ever.
	ExitIdle time.Duration
}

// Log is about the logs of commands.
type Log struct {
	// Max is how much of a command's output one log holds, in bytes.
	Max int64
}

// Chant is about the chant program.
type Chant struct {
	// Command is the program's absolute path; "" to look for one.
	Command string
}

// Conversations are threads as markdown.
type Conversations struct {
	// Dir is the absolute path of the folder they go to; "" for none.
	Dir string
	// Workspace: without Dir, they go to the folder in each workspace, where there is
	// one. Nobody but the user says so: a clone could bring the folder.
	Workspace bool
}

// Daemon is about the gateway.
type Daemon struct {
	// Workspace is the absolute path of the folder that it serves; "" for the
	// current one.
	Workspace string
	// Port is the TCP port; 0 for any that is free.
	Port int
	// Bind is the address that it listens on.
	Bind string
	// AllowedOrigins are web pages' origins that are trusted beside localhost.
	AllowedOrigins []string
	// StrictOrigins: AllowedOrigins only.
	StrictOrigins bool
	// AllowedHosts are names by which a proxy in front of the gateway asks for it.
	AllowedHosts []string
	// Label is how the gateway introduces itself through a tunnel.
	Label string
	// OpenReads opens the routes that only read to whoever reaches the port.
	OpenReads bool
}

// Tunnel is the connection to a host that relays to the gateway.
type Tunnel struct {
	Host        string // a ws or wss URL; "" for none
	Token       string
	Autoconnect bool
}

// Features switch parts of the gateway off.
type Features struct {
	// PTY: terminals can be started.
	PTY bool
}

// Adapter is an ACP agent that a gateway can start.
type Adapter struct {
	// Command is the program and its arguments, never empty.
	Command []string
	// Env are variables that it gets on top of the gateway's own.
	Env map[string]string
	// Description is one line for people.
	Description string
	// MCP: MCP clients may start it, too, although what it runs does not pass the
	// allow-list.
	MCP bool
}
