package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// speak runs prompts in a new session of a process of its own, as a client
// does, and puts the session's id into a variable: speak a project hello fail
// sets $A. With a flag instead of a name, the agent gets the flag.
func speak(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: speak name|flag folder [line ...]")
	}
	fail := func(err error) {
		if err != nil {
			ts.Fatalf("speaking with chant-acp: %v", err)
		}
	}
	var lines strings.Builder
	write := func(id int, method string, params any) {
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		fail(err)
		fmt.Fprintf(&lines, "%s\n", raw)
	}
	write(0, "initialize", map[string]any{"protocolVersion": 1, "clientInfo": map[string]string{"name": "test", "version": "1"}})
	write(1, "session/new", map[string]any{"cwd": ts.MkAbs(args[1]), "mcpServers": []any{}})
	agent, err := start(ts, strings.HasPrefix(args[0], "-"), args[0])
	fail(err)
	_, err = io.WriteString(agent.in, lines.String())
	fail(err)
	session := agent.answer(ts, 1).Result.SessionID
	for i, line := range args[2:] {
		lines.Reset()
		write(2+i, "session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]string{"type": "text", "text": line}}})
		_, err = io.WriteString(agent.in, lines.String())
		fail(err)
		agent.answer(ts, 2+i)
	}
	fail(agent.in.Close())
	fail(agent.wait())
	if !strings.HasPrefix(args[0], "-") {
		ts.Setenv(strings.ToUpper(args[0]), session)
	}
}

type spoken struct {
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

func start(ts *testscript.TestScript, flag bool, arg string) (*spoken, error) {
	c := exec.Command(ts.Getenv("CHANT"), "serve")
	// ts.Getenv knows the variables that count: the state goes below HOME.
	c.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH"), raceOptions + "=" + ts.Getenv(raceOptions), "CHANT_ACP_AGENT_ALLOW=" + ts.Getenv("CHANT_ACP_AGENT_ALLOW")}
	if where := ts.Getenv("CHANT_ACP_CONVERSATIONS_WORKSPACE"); where != "" {
		c.Env = append(c.Env, "CHANT_ACP_CONVERSATIONS_WORKSPACE="+where)
	}
	if flag {
		c.Args = append(c.Args, arg)
	}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &spoken{in, bufio.NewReader(out), c.Wait}, c.Start()
}

// answer reads up to an answer.
func (s *spoken) answer(ts *testscript.TestScript, id int) message {
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			ts.Fatalf("reading what chant-acp says: %v", err)
		}
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Error != nil {
			ts.Fatalf("chant-acp said %s", line)
		}
		if string(m.ID) == strconv.Itoa(id) {
			return m
		}
	}
}

// logs wants so many logs of commands.
func logs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: logs number")
	}
	found, err := filepath.Glob(filepath.Join(ts.Getenv("HOME"), ".local/state/chant-acp/logs/*.log"))
	if err != nil || strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("there are %d logs, not %s (%v)", len(found), args[0], err)
	}
}
