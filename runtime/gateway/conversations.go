package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/conversation"
)

// conversationRoutes show conversations: those of agents that this gateway
// started, and of others that write into the same folder.
type conversationRoutes struct {
	dir string
	hub *hub
}

func (c conversationRoutes) routes() []route {
	return []route{
		{"GET", "/conversations", needRead, false, c.list},
		{"GET", "/conversations/{id}", needRead, false, c.get},
	}
}

// conversationMeta is a conversation's front matter on the wire.
type conversationMeta struct {
	Agent   string              `json:"agent"`
	Started time.Time           `json:"started,omitzero"`
	Status  conversation.Status `json:"status"`
}

type conversationEntry struct {
	ID   string           `json:"id"`
	Meta conversationMeta `json:"meta"`
}

// list serves GET /conversations.
func (c conversationRoutes) list(w http.ResponseWriter, _ *http.Request) error {
	entries, err := conversation.List(c.dir)
	if err != nil {
		return notHere.problem("%v", err)
	}
	list := make([]conversationEntry, len(entries))
	for i, e := range entries {
		list[i] = conversationEntry{e.ID, conversationMeta{e.Meta.Agent, e.Meta.Started, e.Meta.Status}}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"conversations": list})
}

// get serves GET /conversations/{id}: its file, byte for byte.
func (c conversationRoutes) get(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	raw, err := conversation.Read(c.dir, id)
	switch {
	case errors.Is(err, conversation.ErrBadID), errors.Is(err, fs.ErrNotExist):
		return notFound.problem("there is no conversation %q; GET /conversations lists them", brief.Bytes(id, 100))
	case err != nil:
		return conflict.problem("%v", err)
	}
	writeBody(w, http.StatusOK, "text/markdown; charset=utf-8", raw)
	return nil
}

// lookEvery is how often the folder of conversations is looked at: agents that
// the gateway did not start write there too.
const lookEvery = 2 * time.Second

// watch tells of conversations that are new or have grown.
func (c conversationRoutes) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen := c.look()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := c.look()
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if now[id] != seen[id] {
				c.hub.publish(EventConversationChanged, map[string]any{"id": id})
			}
		}
		seen = now
	}
}

// look is how each file is now, as text to compare.
func (c conversationRoutes) look() map[string]string {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return nil // there are none
	}
	found := make(map[string]string, len(files))
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".md")
		if !ok || !f.Type().IsRegular() {
			continue
		}
		if st, err := f.Info(); err == nil {
			found[id] = fmt.Sprint(st.Size(), st.ModTime().UnixNano())
		}
	}
	return found
}
