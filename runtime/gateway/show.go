package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/conversation"
)

// health serves GET /health.
func (g *Gateway) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, struct {
		Status    string    `json:"status"`
		Version   string    `json:"version,omitempty"`
		Workspace string    `json:"workspace"`
		PID       int       `json:"pid"`
		Started   time.Time `json:"startedAt"`
		Uptime    float64   `json:"uptime"` // seconds
	}{"ok", g.o.Version, g.claim.workspace, os.Getpid(), g.started.UTC(), time.Since(g.started).Seconds()})
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

// listConversations serves GET /conversations.
func (g *Gateway) listConversations(w http.ResponseWriter, _ *http.Request) error {
	entries, err := conversation.List(g.conversationsDir())
	if err != nil {
		return notHere.problem("%v", err)
	}
	list := make([]conversationEntry, len(entries))
	for i, e := range entries {
		list[i] = conversationEntry{e.ID, conversationMeta{e.Meta.Agent, e.Meta.Started, e.Meta.Status}}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"conversations": list})
}

// getConversation serves GET /conversations/{id}: its markdown.
func (g *Gateway) getConversation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	c, err := conversation.Read(g.conversationsDir(), id)
	switch {
	case errors.Is(err, conversation.ErrBadID), errors.Is(err, fs.ErrNotExist):
		return notFound.problem("there is no conversation %q; GET /conversations lists them", brief.Bytes(id, 100))
	case err != nil:
		return conflict.problem("%v", err)
	}
	writeBody(w, http.StatusOK, "text/markdown; charset=utf-8", c.Markdown())
	return nil
}

// lookEvery is how often the folder of conversations is looked at: agents that
// the gateway did not start write there too.
const lookEvery = 2 * time.Second

// watchConversations tells of conversations that are new or have grown.
func (g *Gateway) watchConversations(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen := g.lookAtConversations()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := g.lookAtConversations()
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if now[id] != seen[id] {
				g.Publish("conversation.changed", map[string]any{"id": id})
			}
		}
		seen = now
	}
}

// lookAtConversations is how each file is now, as text to compare.
func (g *Gateway) lookAtConversations() map[string]string {
	files, err := os.ReadDir(g.conversationsDir())
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

// folder returns the folder of a session: an absolute path of one that is there,
// or the workspace where none is named.
func (g *Gateway) folder(cwd string) (string, error) {
	if cwd == "" {
		return g.claim.workspace, nil
	}
	if !filepath.IsAbs(cwd) {
		return "", fieldProblem("cwd", "must be an absolute path, not %q", brief.Bytes(cwd, 200))
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return "", fieldProblem("cwd", "is not a folder: %q", brief.Bytes(cwd, 200))
	}
	return filepath.Clean(cwd), nil
}
