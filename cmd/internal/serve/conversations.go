package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/runtime/conversation"
)

// conversations writes the turns of sessions as markdown, in workspaces that
// have a folder for that, or all in one folder.
type conversations struct {
	log zerolog.Logger
	dir string // conversations.dir; "" for each workspace's own

	mu   sync.Mutex      // one turn at a time, as they end
	made map[string]bool // by folder and id: the file was made

	looking sync.Mutex
	looks   map[string]look // by directory
}

// look is whether a directory's workspace has a folder of conversations, and
// until when that counts.
type look struct {
	found bool
	until time.Time
}

// lookFor is how long a look counts: turns can follow each other in less than a
// millisecond, and a folder is not made between two of them.
const lookFor = time.Second

// wants says whether the turns in a directory are written at all.
func (c *conversations) wants(cwd string) bool {
	if c.dir != "" {
		return true
	}
	c.looking.Lock()
	defer c.looking.Unlock()
	now := time.Now()
	l := c.looks[cwd]
	if now.After(l.until) {
		l = look{conversationsOf(cwd) != "", now.Add(lookFor)}
		c.looks[cwd] = l
	}
	return l.found
}

func newConversations(log zerolog.Logger, dir string) *conversations {
	if dir != "" {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real // the user named it, so it may be a link
		}
	}
	return &conversations{log: log, dir: dir, made: map[string]bool{}, looks: map[string]look{}}
}

// turnEnded adds a turn to the conversation of its session. That it can't is no
// matter of the turn, which is over: only the log says so.
func (c *conversations) turnEnded(s agent.SessionRecord, turn []agent.Event) {
	dir := c.dir
	if dir == "" {
		dir = conversationsOf(s.Cwd)
	}
	if dir == "" {
		return
	}
	if err := c.add(dir, s, turn); err != nil {
		c.log.Warn().Err(err).Str("session", s.ID).Msg("a turn was not added to its conversation")
	}
}

// sessionEnded closes the conversation of a session. A turn that comes all the same
// opens it again.
func (c *conversations) sessionEnded(s agent.SessionRecord) {
	dir := c.dir
	if dir == "" {
		dir = conversationsOf(s.Cwd)
	}
	if dir == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.made, filepath.Join(dir, s.ID))
	if err := conversation.SetStatus(dir, s.ID, conversation.Closed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn().Err(err).Str("session", s.ID).Msg("a conversation was not closed")
	}
}

func (c *conversations) add(dir string, s agent.SessionRecord, turn []agent.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := filepath.Join(dir, s.ID); !c.made[key] {
		if c.dir == "" { // a folder of the workspace
			if err := conversation.KeepOut(filepath.Dir(dir)); err != nil {
				return err
			}
		}
		m := conversation.Meta{ID: s.ID, Agent: conversation.AgentName, Started: s.Created, Status: conversation.Open}
		if err := conversation.Create(dir, m); err != nil {
			return err
		}
		if err := conversation.SetStatus(dir, s.ID, conversation.Open); err != nil {
			return err
		}
		c.made[key] = true
	}
	return conversation.Append(dir, s.ID, conversation.Turns(turn)...)
}

// conversationsOf is the folder of conversations of the workspace that cwd lies
// in: of the directory itself, else of its project; "" where there is none.
func conversationsOf(cwd string) string {
	if dir := conversationsIn(cwd); dir != "" {
		return dir
	}
	// A manifest that can't be used has a root all the same.
	if _, root, _ := command.FindManifest(cwd); root != "" && root != cwd {
		return conversationsIn(root)
	}
	return ""
}

// conversationsIn wants real folders: a link, which a project may bring along,
// could lead anywhere.
func conversationsIn(workspace string) string {
	dir := filepath.Join(workspace, ".chant-acp")
	for _, part := range []string{dir, filepath.Join(dir, "conversations")} {
		if st, err := os.Lstat(part); err != nil || !st.IsDir() {
			return ""
		}
		dir = part
	}
	return dir
}
