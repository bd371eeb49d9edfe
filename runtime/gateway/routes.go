package gateway

import (
	"context"
	"errors"
	stdlog "log"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// handler answers a request, or returns what is wrong with it: a *Problem, or an
// error that problemOf knows.
type handler func(http.ResponseWriter, *http.Request) error

// route is one method of one pattern.
type route struct {
	method, pattern string
	need            need
	// long answers take as long as they take: streams, turns. They see to
	// deadlines themselves.
	long bool
	do   handler
}

// router takes requests to their routes, and does what comes before any route.
type router struct {
	access        *access
	log, requests zerolog.Logger
	life          context.Context // ends when the gateway stops
	work          *work
}

// handler makes the handler of a table of routes.
func (rt *router) handler(table []route) http.Handler {
	methods := make(map[string]map[string]route) // by pattern
	for _, r := range table {
		if methods[r.pattern] == nil {
			methods[r.pattern] = make(map[string]route)
		}
		methods[r.pattern][r.method] = r
	}
	mux := http.NewServeMux()
	for pattern, by := range methods {
		mux.HandleFunc(pattern, rt.dispatch(by))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, notFound.problem("there is nothing at this path; docs/gateway.md lists the routes"))
	})
	return rt.logged(rt.guarded(mux))
}

// dispatch chooses among the methods of a pattern.
func (rt *router) dispatch(by map[string]route) http.HandlerFunc {
	if get, ok := by["GET"]; ok && !get.long {
		by["HEAD"] = get
	}
	allow := strings.Join(append(slices.Sorted(maps.Keys(by)), "OPTIONS"), ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			preflight(w, allow)
			return
		}
		route, ok := by[r.Method]
		if !ok {
			w.Header().Set("Allow", allow)
			writeProblem(w, wrongMethod.problem("%s takes %s here, not %s", "this path", allow, brief.Bytes(r.Method, 20)).with("allow", allow))
			return
		}
		if p := rt.access.authorize(r, route.need); p != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="chant-acp"`)
			writeProblem(w, p)
			return
		}
		if !route.long {
			answerSoon(w)
		}
		if err := route.do(w, r); err != nil {
			writeProblem(w, rt.problemOf(r, err))
		}
	}
}

// answerSoon bounds how long a client may take to take the answer.
func answerSoon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
}

// guarded does what comes before any route.
func (rt *router) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = []string{"nosniff"}
		h["Cache-Control"] = []string{"no-store"}
		if p := rt.access.checkHost(r); p != nil {
			writeProblem(w, p)
			return
		}
		if p := rt.access.checkOrigin(r); p != nil {
			writeProblem(w, p)
			return
		}
		rt.access.allowOrigin(w, r)
		next.ServeHTTP(w, r)
	})
}

// logged follows a request from its begin to its end: it is waited for at Stop,
// told to the log of requests, and does not take the gateway down with it.
func (rt *router) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rt.work.enter() {
			w.Header().Set("Connection", "close")
			writeProblem(w, unavailable.problem("the gateway stops"))
			return
		}
		defer rt.work.Done()
		began := time.Now()
		recorded := &recorder{ResponseWriter: w}
		defer func() {
			if v := recover(); v == http.ErrAbortHandler { // how handlers cut a connection
				panic(v)
			} else if v != nil {
				rt.log.Error().Interface("panic", v).Bytes("stack", debug.Stack()).Msg("a request failed")
				if recorded.status == 0 {
					writeProblem(recorded, internal.problem("the gateway failed; its log says more"))
				}
			}
			rt.logRequest(r, recorded, began)
		}()
		next.ServeHTTP(recorded, r)
	})
}

// logRequest tells no token, no query and no body. A path that is no route's may
// hold anything, and isn't told either.
func (rt *router) logRequest(r *http.Request, recorded *recorder, began time.Time) {
	e := rt.requests.Info()
	if e == nil {
		return
	}
	if r.Pattern != "" && r.Pattern != "/" {
		e = e.Str("route", r.Pattern)
	}
	if id := r.PathValue("id"); id != "" && recorded.status < 400 {
		e = e.Str("id", brief.Bytes(id, 200))
	}
	e.Str("method", brief.Bytes(r.Method, 20)).Int("status", recorded.status).Int64("bytes", recorded.bytes).
		Dur("ms", time.Since(began)).Str("from", r.RemoteAddr).Msg("request")
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 || status == http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// problemOf makes a problem of an error. What nobody foresaw goes to the log, and
// not to the client.
func (rt *router) problemOf(r *http.Request, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	if p := sessionProblem(err); p != nil {
		return p
	}
	if rt.life.Err() != nil {
		return unavailable.problem("the gateway stops")
	}
	rt.log.Error().Err(err).Str("route", r.Pattern).Msg("a request failed")
	return internal.problem("the gateway failed; its log says more")
}

// serverLog passes on what net/http has to say.
func serverLog(log zerolog.Logger) *stdlog.Logger {
	return stdlog.New(logWriter{log}, "", 0)
}

type logWriter struct{ log zerolog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Warn().Str("said", strings.TrimSpace(string(p))).Msg("net/http")
	return len(p), nil
}
