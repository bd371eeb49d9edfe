package gateway

import (
	"slices"

	"github.com/chant-acp/chant-acp/runtime/session"
)

// Types of events beside those of sessions. What belongs to a heartbeat is
// published by whoever runs it.
const (
	EventGateResolved        = "gate.resolved"
	EventConversationChanged = "conversation.changed"
	EventConfigBroken        = "config.broken"
)

// EventKinds lists every type of event that GET /events tells of.
func EventKinds() []string {
	kinds := append(session.EventKinds(), EventGateResolved, EventConversationChanged, EventConfigBroken)
	for _, k := range []string{"loaded", "stopped", "started", "ended", "skipped", "waits", "problem"} {
		kinds = append(kinds, "heartbeat."+k)
	}
	slices.Sort(kinds)
	return kinds
}
