package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/runtime/person"
)

// newToken returns 32 random bytes as text.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, it says
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// access is who may ask for what.
type access struct {
	token     [sha256.Size]byte // SHA-256 of the token, so that tokens of any length compare in constant time
	loopback  bool              // the gateway listens on a loopback address only
	proxied   bool              // others reach it through a proxy: nothing is open
	openReads bool
	hosts     []string // names of the machine and of proxies, in lower case, beside addresses
	origins   []string // trusted ones, as browsers write them
	strict    bool     // only those
	people    person.Keeper
}

// need is what a route asks of a request.
type need int

const (
	// needToken is for all that changes something, or shows what was said.
	needToken need = iota
	// needNothing is open on loopback: it shows what there is, and no content.
	needNothing
	// needNobody is open everywhere.
	needNobody
	// needProtocol is needToken for WebSockets, whose pages can't send headers: the
	// token, or a capability, may be in a subprotocol, of a page that is trusted.
	needProtocol
	// needRead is open on loopback too where reads were opened.
	needRead
	// needPerson is for what decides: it wants a capability that the socket for
	// people gave out.
	needPerson
)

// authorize says whether a request may use a route.
func (a *access) authorize(r *http.Request, n need) *Problem {
	if n == needNobody || a.loopback && !a.proxied && (n == needNothing || n == needRead && a.openReads) {
		return nil
	}
	given := bearerOf(r)
	if n == needProtocol && given == "" && r.Header.Get("Origin") != "" { // checkOrigin has looked at the page
		given = protocolToken(r)
	}
	if given == "" {
		return unauthorized.problem("send Authorization: Bearer TOKEN; the token of a running gateway is in .chant-acp/%s of its workspace", runtimeName)
	}
	switch {
	case a.people.Good(given, time.Now()):
	case a.isToken(given) && n == needPerson:
		return noPerson.problem("a person decides this, and the token in .chant-acp/%s is a program's, too: send Authorization: Bearer CAPABILITY with what `chant-acp gateway capability` prints in a terminal of your own, or type the decision in the editor", runtimeName)
	case !a.isToken(given):
		return unauthorized.problem("the token is not this gateway's: each start makes a new one; read .chant-acp/%s of its workspace again", runtimeName)
	}
	return nil
}

func (a *access) isToken(given string) bool {
	digest := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(digest[:], a.token[:]) == 1
}

// hasToken says whether a request came with the token, or a capability, in its
// header.
func (a *access) hasToken(r *http.Request) bool {
	given := bearerOf(r)
	return a.isToken(given) || a.people.Good(given, time.Now())
}

// bearerOf is the token of an Authorization header, "" where there is none.
func bearerOf(r *http.Request) string {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(given)
}

const (
	// ptyProtocol is the subprotocol of a terminal's WebSocket.
	ptyProtocol = "chant-acp.pty"
	// bearerPrefix begins one that holds the token, or a capability. It is never
	// answered with.
	bearerPrefix = "bearer."
)

// protocolToken is the token, or the capability, among the subprotocols that a
// WebSocket offers.
func protocolToken(r *http.Request) string {
	for offered := range strings.SplitSeq(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
		if token, ok := strings.CutPrefix(strings.TrimSpace(offered), bearerPrefix); ok {
			return token
		}
	}
	return ""
}

// isPerson says whether a request comes with a person's capability.
func (a *access) isPerson(r *http.Request) bool {
	return a.people.Good(bearerOf(r), time.Now())
}

// checkHost refuses names that are not the gateway's: a page whose name was made
// to resolve to this machine (DNS rebinding) still sends that name.
func (a *access) checkHost(r *http.Request) *Problem {
	name := hostName(r.Host)
	if ip, err := netip.ParseAddr(name); err == nil {
		// An address can't be made to resolve to another. On loopback the others
		// are not the gateway's.
		if !a.loopback || ip.Unmap().IsLoopback() {
			return nil
		}
	} else if name == "localhost" || slices.Contains(a.hosts, name) {
		return nil
	}
	return foreignHost.problem("the gateway does not listen as this Host; ask for it by the address in .chant-acp/%s of its workspace", runtimeName)
}

// hostName is the host of a Host header without its port, in lower case.
func hostName(hostport string) string {
	name := hostport
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return strings.ToLower(name)
}

// checkOrigin refuses what a page of another origin asks for. Browsers say so in
// Origin, and in Sec-Fetch-Site where they leave Origin out; other clients send
// neither.
func (a *access) checkOrigin(r *http.Request) *Problem {
	values := r.Header["Origin"]
	if len(values) > 1 || len(values) == 1 && !a.trusts(values[0]) {
		return foreignOrigin.problem("this page's origin is not one that the gateway trusts; daemon.allowedOrigins may list it")
	}
	if len(values) == 1 {
		return nil
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	case "same-site":
		if !a.strict {
			return nil // a page of another port on the same host, most likely this one
		}
	}
	return foreignOrigin.problem("a page of another origin asked for this")
}

// trusts says whether pages of an origin may use the gateway.
func (a *access) trusts(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origin {
		return false
	}
	if slices.Contains(a.origins, strings.ToLower(origin)) {
		return true
	}
	if a.strict {
		return false
	}
	name := hostName(u.Host)
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// allowOrigin lets a page of a trusted origin read the answer.
func (a *access) allowOrigin(w http.ResponseWriter, r *http.Request) {
	w.Header()["Vary"] = []string{"Origin"}
	if origin := r.Header.Get("Origin"); origin != "" {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "Location, Mcp-Session-Id")
	}
}

// preflight answers what a browser asks before a request with a token.
func preflight(w http.ResponseWriter, allow string) {
	h := w.Header()
	h.Set("Allow", allow)
	h.Set("Access-Control-Allow-Methods", allow)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// machineNames are the names by which a gateway beyond loopback is asked for.
func machineNames(bind string) []string {
	names := []string{hostName(bind)}
	if name, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(name))
	}
	return names
}
