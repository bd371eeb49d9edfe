// Package acptest is a conformance suite for agents of the Agent Client
// Protocol, version 1 (stable): any agent, written with whatever library, over
// pipes within the test process or as a process of its own.
//
//	func TestConformance(t *testing.T) {
//		acptest.Run(t, acptest.Agent{
//			Dial: acptest.Spawn([]string{"./my-agent"}, nil, ""),
//			OK:   "true",
//			Slow: "sleep 60",
//			Cwd:  t.TempDir(),
//		})
//	}
//
// The suite speaks raw lines, because most of what goes wrong between clients
// and agents can't be said through a client library. Whatever check is running,
// every line of the agent is held to JSON-RPC 2.0, to the shapes and enums of
// the protocol, to the rules of order (see [Wire]) and, where the JSON Schema
// of the protocol is given, to the schema type of its method.
//
// What the protocol demands is checked of every agent. Where it is silent and
// clients are not, the check is one of Agent's options, most under Strict.
//
// It runs on Linux, where it can look at pipes and processes.
//
// Time is never measured. Waiting is bounded by Agent.Patience, and a wait that
// long is reported as a hang.
package acptest
