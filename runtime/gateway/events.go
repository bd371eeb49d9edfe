package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/runtime/session"
)

const (
	// replayEvents is how many events a reader who comes back can be told again.
	replayEvents = 1024
	// keptEvents is how far behind a reader may be before it is closed, and
	// keptBytes how much memory that may take.
	keptEvents = 8192
	keptBytes  = 16 << 20
	// maxEvent is the longest event, in bytes; of a longer one only its type is
	// told.
	maxEvent = 256 << 10
)

// errLagging is why a reader is closed who is too far behind.
var errLagging = fmt.Errorf("the reader is more than %d events behind", keptEvents)

// hub keeps the last events and wakes their readers. Readers share the text of
// events: a thousand of them cost no more than a place in the ring each.
type hub struct {
	boot string // tells the ids of this start from those of others
	now  func() time.Time
	log  zerolog.Logger

	mu    sync.Mutex
	ring  [keptEvents][]byte // text of event n at n % keptEvents, as it is sent
	first uint64             // of those that are kept; ids count from 1
	next  uint64
	bytes int
	more  chan struct{} // closed at the next event
}

func newHub(now func() time.Time, log zerolog.Logger) *hub {
	return &hub{boot: newToken()[:8], now: now, log: log, first: 1, next: 1, more: make(chan struct{})}
}

// sentEvent is an event as readers see it.
type sentEvent struct {
	ID   string    `json:"id"`
	Type string    `json:"type"`
	Time time.Time `json:"time"`
	Data any       `json:"data,omitempty"`
}

// publish adds an event. It does not wait for readers. Data that is no JSON is
// written to the log.
func (h *hub) publish(kind string, data any) {
	if err := h.add(kind, data); err != nil {
		h.log.Warn().Err(err).Str("event", kind).Msg("an event could not be told")
	}
}

// sessionEvent publishes what the registry says.
func (h *hub) sessionEvent(e session.Event) {
	data := map[string]any{"session": e.Session}
	if e.Data != nil {
		data["data"] = e.Data
	}
	h.publish(e.Type, data)
}

func (h *hub) add(kind string, data any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := sentEvent{ID: h.id(h.next), Type: kind, Time: h.now().UTC(), Data: data}
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("an event of the type %s: %w", kind, err)
	}
	if len(raw) > maxEvent {
		e.Data = map[string]any{"tooLarge": len(raw)}
		raw, _ = json.Marshal(e)
	}
	h.drop(len(raw))
	text := sseFrame(e.ID, kind, string(raw))
	h.ring[h.next%keptEvents] = text
	h.bytes += len(text)
	h.next++
	close(h.more)
	h.more = make(chan struct{})
	return nil
}

// drop makes room for one more event.
func (h *hub) drop(size int) {
	for h.first < h.next && (h.next-h.first == keptEvents || h.bytes+size > keptBytes) {
		at := h.first % keptEvents
		h.bytes -= len(h.ring[at])
		h.ring[at] = nil
		h.first++
	}
}

func (h *hub) id(n uint64) string { return h.boot + "." + strconv.FormatUint(n, 10) }

// gap is told to a reader who comes back and can't be told everything.
type gap struct {
	// Missed is how many events are lost; nil where nobody knows, because another
	// start of the gateway numbered them.
	Missed *uint64 `json:"missed,omitempty"`
	Detail string  `json:"detail"`
}

// from returns where a reader begins who has seen the event lastID last ("":
// none), and what it has missed, if anything.
func (h *hub) from(lastID string) (cursor uint64, missed *gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if lastID == "" {
		return h.next, nil
	}
	oldest := h.first
	if h.next > replayEvents {
		oldest = max(oldest, h.next-replayEvents)
	}
	boot, number, _ := strings.Cut(lastID, ".")
	n, err := strconv.ParseUint(number, 10, 64)
	switch {
	case boot != h.boot || err != nil || n >= h.next:
		return oldest, &gap{Detail: "the last event you saw is not one of this start of the gateway: look at what there is now"}
	case n+1 < oldest:
		lost := oldest - (n + 1)
		return oldest, &gap{Missed: &lost, Detail: "more happened than is kept: look at what there is now"}
	}
	return n + 1, nil
}

// take returns the events from cursor on, and the cursor behind them. When there
// are none it returns the channel that the next one closes.
func (h *hub) take(cursor uint64, into [][]byte) (events [][]byte, next uint64, more <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cursor < h.first {
		return nil, cursor, nil, errLagging
	}
	for ; cursor < h.next; cursor++ {
		into = append(into, h.ring[cursor%keptEvents])
	}
	return into, cursor, h.more, nil
}

// sseFrame is an event as text: its data may have several lines.
func sseFrame(id, kind, data string) []byte {
	var b strings.Builder
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	if kind != "" {
		b.WriteString("event: " + kind + "\n")
	}
	data = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
	for line := range strings.SplitSeq(data, "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

// closing is the text of the last event of a stream, which says why it ends.
func closing(why error) []byte {
	code := "ended"
	switch {
	case errors.Is(why, errStopping):
		code = "stopping"
	case errors.Is(why, errLagging), errors.Is(why, session.ErrStalled):
		code = "slow"
	case errors.Is(why, context.Canceled):
		code = "gone"
	}
	raw, _ := json.Marshal(map[string]string{"reason": code, "detail": why.Error()})
	return sseFrame("", "closed", string(raw))
}
