package config

import (
	"reflect"
	"slices"
	"strings"
)

// Type is what a key's value may be.
type Type int

// The types, and how their values are written in the file.
const (
	TypeText     Type = iota // a string
	TypeChoice               // one of Key.Choices
	TypePath                 // a string: an absolute path, or one that begins with ~/
	TypeBool                 // true or false
	TypeInteger              // a whole number from Key.Min to Key.Max
	TypeDuration             // a string such as "90s" or "1h30m", not negative; "0"
	TypeSize                 // a number of bytes, or a string such as "64 MiB"
	TypeList                 // an array of strings
	TypeMap                  // an object of strings
	TypeCommand              // a program and its arguments: an array of strings, or one string that is split as a shell would
)

// Key is a row of the table of keys.
type Key struct {
	// Name is the key's path, with dots. A part such as <slug> stands for any
	// name.
	Name string
	Type Type
	// Choices are the values of a Choice.
	Choices []string
	// Min and Max are the bounds of an Integer or Size, both included.
	Min, Max int64
	// Default is the value where nothing else says one, written as the
	// environment would; "" for none.
	Default string
	// Without says what counts where there is no value and no default.
	Without string
	// Flag is the flag that overrides it, "" for none.
	Flag string
	// Summary says what it is, in one sentence without a full stop.
	Summary string
	// Example is a value as JSON, for documentation.
	Example string
	// Secret: the value is not for everybody's eyes.
	Secret bool
	// Top: it stands in no profile and has no variable.
	Top bool
	// Readers are what looks at it; none: it is kept for later.
	Readers string

	// Where the value goes: in Settings, or in an Adapter.
	setting func(*Settings) any
	adapter func(*Adapter) any
}

// Keys are all keys, in the order of the documentation. The slice is not to be
// changed.
func Keys() []Key { return table[:] }

// table is the one source of types, checks, defaults, schema and documentation.
var table = [...]Key{
	{
		Name: "$schema", Type: TypeText, Top: true, Readers: "editors",
		Summary: "Where the file's JSON Schema is, for editors; `chant-acp schema config` prints it",
		Example: `"./config.schema.json"`,
	},
	{
		Name: "version", Type: TypeInteger, Min: 1, Max: 1, Top: true, Readers: "chant-acp",
		Summary: "The version of the format; every save writes it",
		Example: `1`,
	},
	{
		Name: "activeProfile", Type: TypeText, Top: true, Readers: "chant-acp",
		Without: "no profile",
		Summary: "The profile that counts where neither `--profile` nor `CHANT_ACP_PROFILE` names one",
		Example: `"work"`,
	},
	{
		Name: "agent.output", Type: TypeChoice, Choices: []string{"auto", "full", "plain", "quiet"}, Default: "auto", Flag: "--output", Readers: "the agent",
		Summary: "How much output is shown; a session can choose anew",
		Example: `"full"`,
		setting: func(s *Settings) any { return &s.Agent.Output },
	},
	{
		Name: "agent.refusal", Type: TypeChoice, Choices: []string{"auto", "refusal", "end_turn"}, Default: "auto", Flag: "--refusal", Readers: "the agent",
		Summary: "The stop reason of a refused prompt",
		Example: `"end_turn"`,
		setting: func(s *Settings) any { return &s.Agent.Refusal },
	},
	{
		Name: "agent.exitIdle", Type: TypeDuration, Default: "0", Flag: "--exit-idle", Readers: "the agent",
		Summary: "Leave when, after a cancel, nothing runs and nothing arrives for this long; 0 is never",
		Example: `"30s"`,
		setting: func(s *Settings) any { return &s.Agent.ExitIdle },
	},
	{
		Name: "agent.gates", Type: TypeChoice, Choices: []string{"auto", "reply", "ask", "durable"}, Default: "auto", Flag: "--gates", Readers: "the agent",
		Summary: "What a gate of an Op does: the reply says what to type, the client is asked, or the client answers in a later prompt; auto asks where the client is known to ask a person",
		Example: `"ask"`,
		setting: func(s *Settings) any { return &s.Agent.Gates },
	},
	{
		Name: "agent.allow", Type: TypeChoice, Choices: []string{"ask", "always"}, Default: "ask", Flag: "--allow", Readers: "the agent",
		Summary: "Whether a person has to allow a project's commands before they run, and again once they change; `always` is for machines on which all projects are somebody's own",
		Example: `"always"`,
		setting: func(s *Settings) any { return &s.Agent.Allow },
	},
	{
		Name: "log.max", Type: TypeSize, Min: 1, Max: 1 << 50, Default: "1 GiB", Readers: "the agent",
		Summary: "How much of a command's output its log holds",
		Example: `"64 MiB"`,
		setting: func(s *Settings) any { return &s.Log.Max },
	},
	{
		Name: "chant.command", Type: TypePath, Readers: "the agent",
		Without: "the project's own, else the one on PATH",
		Summary: "The chant program whose verbs are allowed",
		Example: `"~/bin/chant"`,
		setting: func(s *Settings) any { return &s.Chant.Command },
	},
	{
		Name: "conversations.dir", Type: TypePath, Readers: "the agent and the gateway",
		Without: "none, or those of `conversations.workspace`",
		Summary: "The folder that the conversations of all workspaces are written to and read from, as markdown; it is made if need be",
		Example: `"~/notes/chant"`,
		setting: func(s *Settings) any { return &s.Conversations.Dir },
	},
	{
		Name: "conversations.workspace", Type: TypeBool, Default: "false", Readers: "the agent",
		Summary: "Without `conversations.dir`, conversations are written to the folder `.chant-acp/conversations` of workspaces that have it",
		Example: `true`,
		setting: func(s *Settings) any { return &s.Conversations.Workspace },
	},
	{
		Name: "adapters.<slug>.command", Type: TypeCommand, Readers: "the gateway",
		Summary: "An ACP agent that a gateway can start: the program and its arguments; an adapter has to have it",
		Example: `["gemini", "--acp"]`,
		adapter: func(a *Adapter) any { return &a.Command },
	},
	{
		Name: "adapters.<slug>.env", Type: TypeMap, Secret: true, Readers: "the gateway",
		Summary: "Variables that it gets on top of the gateway's own",
		Example: `{"GEMINI_MODEL": "pro"}`,
		adapter: func(a *Adapter) any { return &a.Env },
	},
	{
		Name: "adapters.<slug>.description", Type: TypeText, Readers: "the gateway",
		Summary: "One line for people",
		Example: `"Gemini"`,
		adapter: func(a *Adapter) any { return &a.Description },
	},
	{
		Name: "adapters.<slug>.mcp", Type: TypeBool, Default: "false", Readers: "the gateway",
		Summary: "MCP clients may start it, too; what it runs does not pass the allow-list",
		Example: `true`,
		adapter: func(a *Adapter) any { return &a.MCP },
	},
	{
		Name: "daemon.workspace", Type: TypePath, Without: "the current folder", Flag: "--workspace", Readers: "the gateway",
		Summary: "The folder that the gateway serves",
		Example: `"~/src/shop"`,
		setting: func(s *Settings) any { return &s.Daemon.Workspace },
	},
	{
		Name: "daemon.port", Type: TypeInteger, Min: 0, Max: 65535, Default: "18790", Flag: "--port", Readers: "the gateway",
		Summary: "The TCP port that it listens on; 0 is any that is free",
		Example: `18791`,
		setting: func(s *Settings) any { return &s.Daemon.Port },
	},
	{
		Name: "daemon.bind", Type: TypeText, Default: "127.0.0.1", Flag: "--bind", Readers: "the gateway",
		Summary: "The address that it listens on",
		Example: `"::1"`,
		setting: func(s *Settings) any { return &s.Daemon.Bind },
	},
	{
		Name: "daemon.allowedOrigins", Type: TypeList, Without: "none", Readers: "the gateway",
		Summary: "Origins of web pages that are trusted beside localhost",
		Example: `["https://panel.example"]`,
		setting: func(s *Settings) any { return &s.Daemon.AllowedOrigins },
	},
	{
		Name: "daemon.strictOrigins", Type: TypeBool, Default: "false", Readers: "the gateway",
		Summary: "Trust no web page but those of `daemon.allowedOrigins`, localhost included",
		Example: `true`,
		setting: func(s *Settings) any { return &s.Daemon.StrictOrigins },
	},
	{
		Name: "daemon.allowedHosts", Type: TypeList, Without: "none", Readers: "the gateway",
		Summary: "Names by which a proxy in front of the gateway asks for it (`Host`); with one, nothing is open without the token",
		Example: `["panel.example"]`,
		setting: func(s *Settings) any { return &s.Daemon.AllowedHosts },
	},
	{
		Name: "daemon.label", Type: TypeText, Without: "none",
		Summary: "How the gateway introduces itself through a tunnel",
		Example: `"laptop"`,
		setting: func(s *Settings) any { return &s.Daemon.Label },
	},
	{
		Name: "daemon.openReads", Type: TypeBool, Default: "false", Readers: "the gateway",
		Summary: "Let whoever reaches the port read sessions, events and conversations without the token",
		Example: `true`,
		setting: func(s *Settings) any { return &s.Daemon.OpenReads },
	},
	{
		Name: "tunnel.host", Type: TypeText, Without: "no tunnel",
		Summary: "The ws or wss URL of a host that relays to the gateway",
		Example: `"wss://relay.example"`,
		setting: func(s *Settings) any { return &s.Tunnel.Host },
	},
	{
		Name: "tunnel.token", Type: TypeText, Secret: true, Without: "none",
		Summary: "The token that the host wants",
		Example: `"apt_..."`,
		setting: func(s *Settings) any { return &s.Tunnel.Token },
	},
	{
		Name: "tunnel.autoconnect", Type: TypeBool, Default: "false",
		Summary: "Connect to `tunnel.host` at the start",
		Example: `true`,
		setting: func(s *Settings) any { return &s.Tunnel.Autoconnect },
	},
	{
		Name: "features.pty", Type: TypeBool, Default: "true", Readers: "the gateway",
		Summary: "Terminals can be started",
		Example: `false`,
		setting: func(s *Settings) any { return &s.Features.PTY },
	},
}

// Unread lists the keys that have a value although nothing reads them.
func (s *Settings) Unread() []string {
	var names []string
	for i := range table {
		if k := &table[i]; k.Readers == "" && k.setting != nil && !reflect.ValueOf(k.setting(s)).Elem().IsZero() {
			names = append(names, k.Name)
		}
	}
	return names
}

// Variable is the environment variable that overrides the key, such as
// CHANT_ACP_AGENT_EXIT_IDLE for agent.exitIdle; "" where there is none.
func (k *Key) Variable() string {
	if k.setting == nil {
		return ""
	}
	b := make([]byte, 0, 48)
	b = append(b, "CHANT_ACP_"...)
	for i := range len(k.Name) {
		switch c := k.Name[i]; {
		case c == '.':
			b = append(b, '_')
		case c >= 'A' && c <= 'Z':
			b = append(b, '_', c)
		default:
			b = append(b, c-'a'+'A')
		}
	}
	return string(b)
}

// wildcard says whether a part of a key's name stands for any name.
func wildcard(part string) bool { return strings.HasPrefix(part, "<") }

// lookup finds the key that a path names, in a profile or out of it, and whether
// the path is that of an object that holds keys.
func lookup(path []string) (key *Key, section bool) {
	profile := len(path) > 0 && path[0] == "profiles"
	if profile {
		if path = path[min(len(path), 2):]; len(path) == 0 {
			return nil, true
		}
	}
	for i := range table {
		k := &table[i]
		if profile && k.Top || len(path) > 0 && !strings.HasPrefix(k.Name, path[0]) {
			continue // most, without comparing them part by part
		}
		switch n := match(k.Name, path); {
		case n == 0:
			return k, false
		case n > 0:
			section = true
		}
	}
	return nil, section
}

// match compares a key's name with a path: 0 for the same, a positive number for
// a path that the key lies below, a negative one for anything else.
func match(name string, path []string) int {
	for i := 0; ; i++ {
		part, rest, more := strings.Cut(name, ".")
		if i == len(path) {
			return 1
		}
		if part != path[i] && !wildcard(part) {
			return -1
		}
		if !more {
			return i + 1 - len(path)
		}
		name = rest
	}
}

// choices is a Choice's values for a sentence.
func (k *Key) choices() string { return strings.Join(k.Choices, ", ") }

func (k *Key) takes(word string) bool { return slices.Contains(k.Choices, word) }
