package gateway

import (
	"net/http"
	"os"
	"time"
)

// healthRoutes say that the gateway is there.
type healthRoutes struct {
	access             *access
	version, workspace string
	started            time.Time
}

func (h healthRoutes) routes() []route {
	return []route{{"GET", "/health", needNobody, false, h.health}}
}

// health serves GET /health: that it is there to everybody, and what it is to who
// has the token.
func (h healthRoutes) health(w http.ResponseWriter, r *http.Request) error {
	if !h.access.hasToken(r) {
		return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	}
	return writeJSON(w, http.StatusOK, struct {
		Status    string    `json:"status"`
		Version   string    `json:"version,omitempty"`
		Workspace string    `json:"workspace"`
		PID       int       `json:"pid"`
		Started   time.Time `json:"startedAt"`
		Uptime    float64   `json:"uptime"` // seconds
	}{"ok", h.version, h.workspace, os.Getpid(), h.started.UTC(), time.Since(h.started).Seconds()})
}
