package acp

import (
	"encoding/json"
	"strconv"
)

// Implementation names a program on either side (schema type Implementation).
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// ClientCapabilities is what a client offers (schema type ClientCapabilities).
// What is omitted is unsupported and must not be called.
type ClientCapabilities struct {
	FS       FileSystemCapabilities `json:"fs"`
	Terminal bool                   `json:"terminal"`
	Meta     Meta                   `json:"_meta,omitempty"`
}

// FileSystemCapabilities are the fs/* methods a client answers (schema type
// FileSystemCapabilities).
type FileSystemCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

func decodeClientCapabilities(raw json.RawMessage) ClientCapabilities {
	o := readObject(raw, "clientCapabilities")
	var c ClientCapabilities
	o.lenient("terminal", &c.Terminal)
	if v, ok := o.get("fs"); ok {
		fs := readObject(v, "fs")
		fs.lenient("readTextFile", &c.FS.ReadTextFile)
		fs.lenient("writeTextFile", &c.FS.WriteTextFile)
	}
	c.Meta = o.meta()
	return c
}

// InitializeRequest opens a connection (schema type InitializeRequest).
type InitializeRequest struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         *Implementation    `json:"clientInfo,omitempty"`
	Meta               Meta               `json:"_meta,omitempty"`
}

// UnmarshalJSON refuses a protocolVersion that is not an integer from 0 to
// 65535; a capability of a wrong type counts as absent.
func (r *InitializeRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = InitializeRequest{Meta: o.meta()}
	v, ok := o.lookup("protocolVersion")
	n, err := strconv.ParseUint(string(v), 10, 16)
	switch {
	case !ok:
		o.fail("protocolVersion", "is missing: it must be an integer, 1 for this version of the protocol")
	case err != nil:
		o.fail("protocolVersion", "must be an integer from 0 to 65535")
	}
	r.ProtocolVersion = int(n)
	if v, ok := o.get("clientCapabilities"); ok {
		r.ClientCapabilities = decodeClientCapabilities(v)
	}
	if v, ok := o.get("clientInfo"); ok {
		info := readObject(v, "clientInfo")
		ci := Implementation{Name: info.string("name"), Version: info.optString("version"), Title: info.optString("title")}
		if info.err == nil {
			r.ClientInfo = &ci
		}
	}
	return o.done()
}

// InitializeResponse answers it (schema type InitializeResponse).
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	// AuthMethods is always an array on the wire; clients break on null.
	AuthMethods []AuthMethod    `json:"authMethods"`
	AgentInfo   *Implementation `json:"agentInfo,omitempty"`
	Meta        Meta            `json:"_meta,omitempty"`
}

// AuthMethod is a way to log in to an agent (schema type AuthMethod).
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// AgentCapabilities is what an agent offers (schema type AgentCapabilities).
// False and absent are the same to the schema, but not to every client: what
// does not work is left out.
type AgentCapabilities struct {
	LoadSession         bool                 `json:"loadSession,omitempty"`
	PromptCapabilities  *PromptCapabilities  `json:"promptCapabilities,omitempty"`
	SessionCapabilities *SessionCapabilities `json:"sessionCapabilities,omitempty"`
	Meta                Meta                 `json:"_meta,omitempty"`
}

// PromptCapabilities are the kinds of content a prompt may hold beyond text and
// resource links (schema type PromptCapabilities).
type PromptCapabilities struct {
	Image           bool `json:"image,omitempty"`
	Audio           bool `json:"audio,omitempty"`
	EmbeddedContext bool `json:"embeddedContext,omitempty"`
}

// SessionCapabilities are the optional session methods (schema type
// SessionCapabilities).
type SessionCapabilities struct {
	List   *struct{} `json:"list,omitempty"`
	Delete *struct{} `json:"delete,omitempty"`
	Resume *struct{} `json:"resume,omitempty"`
	Close  *struct{} `json:"close,omitempty"`
}
