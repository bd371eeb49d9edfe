// Package acp is the Agent Client Protocol, version 1 (stable), on a wire of
// newline-delimited JSON-RPC 2.0: the message types, a Peer that frames and
// correlates messages, and both halves of a connection, the agent's and the
// client's.
//
// The types carry the names of the protocol's schema
// (https://agentclientprotocol.com/protocol/schema). Results and notifications are encoded without
// more escapes than JSON asks for; decoding matches property names exactly, case included, and
// refuses what the schema refuses with an [*Error] that names the property.
//
// Messages come in through a [Transport] and go to a [Handler]; answers and updates go out through
// [Request] and [Batch]. An agent begins at [NewPeer], a client at [Connect]; the example has both.
package acp

// ProtocolVersion is the one version of the protocol spoken here.
const ProtocolVersion = 1

// Method names of protocol version 1, stable.
const (
	MethodInitialize             = "initialize"
	MethodAuthenticate           = "authenticate"
	MethodLogout                 = "logout"
	MethodSessionNew             = "session/new"
	MethodSessionLoad            = "session/load"
	MethodSessionResume          = "session/resume"
	MethodSessionList            = "session/list"
	MethodSessionClose           = "session/close"
	MethodSessionDelete          = "session/delete"
	MethodSessionSetMode         = "session/set_mode"
	MethodSessionSetConfigOption = "session/set_config_option"
	MethodSessionPrompt          = "session/prompt"
	MethodSessionCancel          = "session/cancel"
	MethodSessionUpdate          = "session/update"
	MethodRequestPermission      = "session/request_permission"
	MethodCancelRequest          = "$/cancel_request"
)
