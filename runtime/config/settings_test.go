package config

import (
	"encoding/json"
	"fmt"

	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// defaults are those that the design and its sources name.
func defaults() Settings {
	return Settings{
		Agent:    Agent{Allow: "ask", Gates: "auto", Output: "auto", Refusal: "auto"},
		Log:      Log{Max: 1 << 30},
		Daemon:   Daemon{Port: 18790, Bind: "127.0.0.1"},
		Features: Features{PTY: true},
	}
}

func TestDefaults(t *testing.T) {
	for _, d := range []*Document{{}, document(t, ""), document(t, "{}")} {
		s, err := d.Settings("", environment())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(defaults(), s, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

const everything = `{
  "agent": {"output": "full", "refusal": "end_turn", "exitIdle": "30s", "gates": "ask"},
  "log": {"max": "64 MiB"},
  "chant": {"command": "/opt/chant"},
  "conversations": {"dir": "~/notes"},
  "daemon": {"workspace": "/w", "port": 1e3, "bind": "::1", "allowedOrigins": ["https://a", "https://b"], "allowedHosts": ["h"], "strictOrigins": true, "label": "l", "openReads": true},
  "tunnel": {"host": "wss://h", "token": "apt_x", "autoconnect": true},
  "features": {"pty": false},
  "adapters": {
    "a.b": {"command": ["x", "--y"], "env": {"K": "v"}, "description": "d", "mcp": true},
    "c": {"command": ["z"]}
  },
  "profiles": {
    "work": {"agent": {"output": "quiet"}, "log": {"max": 5}, "adapters": {"c": {"env": {"K": "w"}}, "new": {"command": ["n"]}, "none": {"mcp": true}}},
    "home": {}
  }
}`

func TestSettingsOfFile(t *testing.T) {
	want := Settings{
		Agent:         Agent{Allow: "ask", Gates: "ask", Output: "full", Refusal: "end_turn", ExitIdle: 30 * time.Second},
		Log:           Log{Max: 64 << 20},
		Chant:         Chant{Command: "/opt/chant"},
		Conversations: Conversations{Dir: "/home/p/notes"},
		Daemon:        Daemon{Workspace: "/w", Port: 1000, Bind: "::1", AllowedOrigins: []string{"https://a", "https://b"}, AllowedHosts: []string{"h"}, StrictOrigins: true, Label: "l", OpenReads: true},
		Tunnel:        Tunnel{Host: "wss://h", Token: "apt_x", Autoconnect: true},
		Adapters: map[string]Adapter{
			"a.b": {Command: []string{"x", "--y"}, Env: map[string]string{"K": "v"}, Description: "d", MCP: true},
			"c":   {Command: []string{"z"}},
		},
	}
	d := document(t, everything)
	s, err := d.Settings("", environment("HOME=/home/p"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}

	want.Profile, want.Agent.Output, want.Log.Max = "work", "quiet", 5
	want.Adapters["c"] = Adapter{Command: []string{"z"}, Env: map[string]string{"K": "w"}}
	want.Adapters["new"] = Adapter{Command: []string{"n"}}
	s, err = d.Settings("work", environment("HOME=/home/p"))
	if err != nil || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].String(), "the adapter none of the profile work is not used") {
		t.Errorf("%v, %v", err, s.Problems)
	}
	s.Problems = nil
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

// Environment, active profile, file, default: each in turn is taken away.
func TestPrecedence(t *testing.T) {
	const profile = `"profiles": {"p": {"agent": {"output": "plain"}}}, "activeProfile": "p"`
	const file = `"agent": {"output": "quiet"}`
	for _, c := range []struct{ text, env, want, from string }{
		{"{" + profile + "," + file + "}", "CHANT_ACP_AGENT_OUTPUT=full", "full", FromEnvironment},
		{"{" + profile + "," + file + "}", "", "plain", FromProfile},
		{"{" + file + "}", "", "quiet", FromFile},
		{"{}", "", "auto", FromDefault},
	} {
		d := document(t, c.text)
		s, err := d.Settings("", environment(c.env))
		if err != nil || len(s.Problems) > 0 || s.Agent.Output != c.want {
			t.Errorf("%s with %s: %q, %v, %v; want %q", c.text, c.env, s.Agent.Output, s.Problems, err, c.want)
		}
		values, problems, err := d.Values("", environment(c.env))
		if err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
		for _, v := range values {
			if v.Name == "agent.output" && (v.From != c.from || string(v.JSON) != `"`+c.want+`"`) {
				t.Errorf("%s with %s: %s from %s", c.text, c.env, v.JSON, v.From)
			}
		}
	}
}

func TestVariables(t *testing.T) {
	s, err := (&Document{}).Settings("", environment(
		"HOME=/home/p", "CHANT_ACP_AGENT_EXIT_IDLE=1m30s", "CHANT_ACP_AGENT_REFUSAL=refusal", "CHANT_ACP_AGENT_GATES=durable", "CHANT_ACP_LOG_MAX=2KiB",
		"CHANT_ACP_CHANT_COMMAND=~/bin/chant", "CHANT_ACP_CONVERSATIONS_DIR=/c", "CHANT_ACP_DAEMON_WORKSPACE=/w", "CHANT_ACP_DAEMON_PORT=0",
		"CHANT_ACP_DAEMON_ALLOWED_ORIGINS=https://a, https://b", "CHANT_ACP_DAEMON_STRICT_ORIGINS=1", "CHANT_ACP_DAEMON_OPEN_READS=true",
		"CHANT_ACP_TUNNEL_TOKEN=t", "CHANT_ACP_FEATURES_PTY=0"))
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Agent = Agent{Allow: "ask", Gates: "durable", Output: "auto", Refusal: "refusal", ExitIdle: 90 * time.Second}
	want.Log.Max, want.Chant.Command, want.Conversations.Dir = 2048, "/home/p/bin/chant", "/c"
	want.Daemon = Daemon{Workspace: "/w", Bind: "127.0.0.1", AllowedOrigins: []string{"https://a", "https://b"}, StrictOrigins: true, OpenReads: true}
	want.Tunnel.Token, want.Features.PTY = "t", false
	if diff := cmp.Diff(want, s, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// What can't be used does not count, is told, and disturbs nothing else.
func TestProblems(t *testing.T) {
	d := document(t, "{\n  \"agent\": {\"output\": \"loud\", \"refusal\": \"refusal\"},\n  \"log\": 5,\n  \"chant\": {\"command\": \"~/c\"},\n  \"activeProfile\": \"gone\",\n  \"z\": 1\n}\n")
	s, err := d.Settings("", environment("CHANT_ACP_AGENT_EXIT_IDLE=soon", "CHANT_ACP_TUNNEL_AUTOCONNECT=secret", "CHANT_ACP_PROFILE=other"))
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Agent.Refusal = "refusal"
	got := s
	got.Problems = nil
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	texts := []string{
		`c.json:2:23: agent.output must be one of auto, full, plain, quiet, and is "loud"`,
		`c.json:3:10: log must be an object, and is 5`,
		`CHANT_ACP_PROFILE is not used: there is no profile "other", and no other: c.json has none`,
		`c.json:5:20: activeProfile is not used: there is no profile "gone", and no other: c.json has none`,
		`CHANT_ACP_AGENT_EXIT_IDLE must be a duration such as 90s, 10m or 1h30m, and is "soon"`,
		`chant.command begins with ~/, and HOME is not set`,
		`CHANT_ACP_TUNNEL_AUTOCONNECT must be true or false, and is "secret"`,
	}
	var told []string
	for _, p := range s.Problems {
		told = append(told, p.String())
	}
	if diff := cmp.Diff(texts, told); diff != "" {
		t.Error(diff)
	}
	if _, err := d.Settings("gone", environment()); err == nil || !strings.Contains(err.Error(), `no profile "gone"`) {
		t.Error(err)
	}
}

func TestProfiles(t *testing.T) {
	d := document(t, `{"activeProfile": "a", "profiles": {"a": {"log": {"max": 1}}, "b": {"log": {"max": 2}}}}`)
	for _, c := range []struct {
		asked, env, want string
		max              int64
	}{{"", "", "a", 1}, {"", "CHANT_ACP_PROFILE=b", "b", 2}, {"a", "CHANT_ACP_PROFILE=b", "a", 1}} {
		s, err := d.Settings(c.asked, environment(c.env))
		if err != nil || s.Profile != c.want || s.Log.Max != c.max || len(s.Problems) > 0 {
			t.Errorf("%+v: %q, %d, %v, %v", c, s.Profile, s.Log.Max, s.Problems, err)
		}
	}
}

// Each key leads to a field of its own, and all fields have one.
func TestTableFillsSettings(t *testing.T) {
	for _, of := range []any{&Settings{}, &Adapter{}} {
		fields := map[any]string{}
		for _, k := range Keys() {
			var field any
			switch s := of.(type) {
			case *Settings:
				if k.setting == nil {
					continue
				}
				field = k.setting(s)
			case *Adapter:
				if k.adapter == nil {
					continue
				}
				field = k.adapter(s)
			}
			if other := fields[field]; other != "" {
				t.Errorf("%s and %s are one field", other, k.Name)
			}
			fields[field] = k.Name
		}
		count := 0
		var walk func(v reflect.Value)
		walk = func(v reflect.Value) {
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				switch f := v.Field(i); {
				case name == "Profile" || name == "Problems" || name == "Adapters":
				case f.Kind() == reflect.Struct:
					walk(f)
				default:
					if count++; fields[f.Addr().Interface()] == "" {
						t.Errorf("no key leads to %T.%s", of, name)
					}
				}
			}
		}
		walk(reflect.ValueOf(of).Elem())
		if count != len(fields) {
			t.Errorf("%T has %d fields, and %d keys", of, count, len(fields))
		}
	}
}

func TestTableIsSound(t *testing.T) {
	variables := map[string]string{}
	for _, k := range Keys() {
		value := document(t, `{"v": `+k.Example+`}`)
		if _, wrong := k.read(value.find([]string{"v"})); wrong != "" {
			t.Errorf("the example of %s %s", k.Name, wrong)
		}
		if _, wrong := k.parse(k.Default); k.Default != "" && wrong != "" {
			t.Errorf("the default of %s %s", k.Name, wrong)
		}
		if k.Summary == "" || strings.HasSuffix(k.Summary, ".") {
			t.Errorf("%s is not well explained: %q", k.Name, k.Summary)
		}
		if v := k.Variable(); v != "" {
			if variables[v] != "" {
				t.Errorf("%s and %s have the variable %s", k.Name, variables[v], v)
			}
			variables[v] = k.Name
		}
	}
	for v, key := range map[string]string{"CHANT_ACP_AGENT_EXIT_IDLE": "agent.exitIdle", "CHANT_ACP_DAEMON_PORT": "daemon.port"} {
		if variables[v] != key {
			t.Errorf("%s is of %q", v, variables[v])
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		env        []string
		want, says string
	}{
		{[]string{"CHANT_ACP_CONFIG=/c/x.json", "XDG_CONFIG_HOME=/x", "HOME=/h"}, "/c/x.json", ""},
		{[]string{"CHANT_ACP_CONFIG=x.json", "HOME=/h"}, "", "absolute path"},
		{[]string{"XDG_CONFIG_HOME=/x", "HOME=/h"}, "/x/chant-acp/config.json", ""},
		{[]string{"XDG_CONFIG_HOME=x", "HOME=/h"}, "/h/.config/chant-acp/config.json", ""},
		{nil, "", "HOME is not set"},
	} {
		got, err := Path(environment(c.env...))
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %q, %v", c.env, got, err)
		}
	}
	if _, err := Path(environment()); !errors.Is(err, ErrNoHome) {
		t.Error(err)
	}
}

// What an agent's start pays: nothing to speak of without a file.
func BenchmarkLoad(b *testing.B) {
	for name, text := range map[string]string{"none": "", "file": everything} {
		b.Run(name, func(b *testing.B) {
			path := b.TempDir() + "/config.json"
			if text != "" {
				write(b, path, text)
			}
			b.Setenv("CHANT_ACP_CONFIG", path)
			for b.Loop() {
				d, err := Load(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := d.Settings("", environment("HOME=/h")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSilent(t *testing.T) {
	for _, c := range []struct {
		text    string
		environ []string
		want    bool
	}{
		{"", nil, true},
		{" \n", []string{"HOME=/h", "CHANT_ENV=x", "CHANT_ACP_STATE=/s", "CHANT_ACP_CONFIG=/c"}, true},
		{"{}", nil, false},
		{"", []string{"CHANT_ACP_PROFILE=x"}, false},
		{"", []string{"CHANT_ACP_AGENT_OUTPUT=full"}, false},
	} {
		if got := document(t, c.text).Silent(c.environ); got != c.want {
			t.Errorf("%q with %q: %v", c.text, c.environ, got)
		}
	}
	for _, k := range Keys() { // no key's variable is taken for another thing
		if v := k.Variable(); v != "" && (&Document{}).Silent([]string{v + "=1"}) {
			t.Errorf("%s is not heard", v)
		}
	}
}

// What nothing reads is named where it has a value, and else not.
func TestUnread(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`:       nil,
		everything: {"daemon.label", "tunnel.host", "tunnel.token", "tunnel.autoconnect"},
		`{"tunnel": {"autoconnect": false}, "daemon": {"label": ""}}`: nil,
	} {
		s, err := document(t, text).Settings("", environment("HOME=/home/p"))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Unread(); !slices.Equal(got, want) {
			t.Errorf("%s\n%q, want %q", text, got, want)
		}
	}
}

// A command may be one text: words and quotes, and no shell.
func TestCommandAsText(t *testing.T) {
	for text, want := range map[string][]string{
		`gemini --acp`:                 {"gemini", "--acp"},
		`'my agent' "--name=a b" $X;y`: {"my agent", "--name=a b", "$X;y"},
		`a\ b`:                         {"a b"},
		`gemini "--acp`:                nil,
		`""`:                           nil,
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse("config.json", fmt.Appendf(nil, `{"adapters": {"x": {"command": %s}}}`, quoted))
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Settings("", func(string) string { return "" })
		if err != nil || !slices.Equal(s.Adapters["x"].Command, want) || (len(s.Problems) == 0) != (want != nil) {
			t.Errorf("%s: %q, %v, %v", text, s.Adapters["x"].Command, s.Problems, err)
		}
	}
}
