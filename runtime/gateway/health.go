package gateway

import (
	"net/http"
	"os"
	"time"
)

// healthRoutes say that the gateway is there.
type healthRoutes struct {
	version, workspace string
	started            time.Time
}

func (h healthRoutes) routes() []route {
	return []route{{"GET", "/health", needNothing, false, h.health}}
}

// health serves GET /health.
func (h healthRoutes) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, struct {
		Status    string    `json:"status"`
		Version   string    `json:"version,omitempty"`
		Workspace string    `json:"workspace"`
		PID       int       `json:"pid"`
		Started   time.Time `json:"startedAt"`
		Uptime    float64   `json:"uptime"` // seconds
	}{"ok", h.version, h.workspace, os.Getpid(), h.started.UTC(), time.Since(h.started).Seconds()})
}
