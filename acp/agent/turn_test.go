package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/acp"
)

func TestHowTurnsEnd(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       string // stop reason and outcome
		statuses   string
		says       string // text of the turn
		exit       int    // exitCode of the outcome; -1 for none
	}{
		{"completes", "ok", "end_turn/completed", "in_progress completed", "`ok` completed in ", 0},
		{"completes with another exit code", "odd", "end_turn/completed", "in_progress completed", "`odd` completed with exit code 1 in ", 1},
		{"fails", "fail", "end_turn/failed", "in_progress failed", "`fail` failed with exit code 1 after ", 1},
		{"does not start", "vanish", "end_turn/failed", "in_progress failed", "`vanish` did not start: vanish was not found in PATH (/bin)", -1},
		{"runs into its time limit", "brief", "end_turn/failed", "in_progress failed", "longer than its time limit of 10s", 143},
		{"prints much", "loud", "end_turn/completed", "in_progress completed", "left out here", 0},
		{"unknown command", "okay", "refusal/refused", "", "here is no command \"okay\"", -1},
		{"not a line", "ok 'open", "refusal/refused", "", "quote is never closed", -1},
		{"two lines", "ok\nfail", "refusal/refused", "", "more than one line", -1},
		{"wrong argument", "where moon", "refusal/refused", "", "moon", -1},
		{"has to be confirmed", "wipe", "end_turn/waiting", "", "confirm ", -1},
		{"built in", "help", "end_turn/completed", "", "READ: changes nothing", -1},
		{"slash command", "/ok x", "end_turn/completed", "in_progress completed", "`ok x` completed", 0},
		{"led by chant", "chant ok", "end_turn/completed", "in_progress completed", "`ok` completed", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, setup{})
				o, log := w.prompt(w.newSession(), c.line)
				if o.String() != c.want {
					t.Errorf("ended %s, want %s", o, c.want)
				}
				if got := log.statuses(); got != c.statuses {
					t.Errorf("statuses %q, want %q", got, c.statuses)
				}
				if !strings.Contains(log.text(), c.says) {
					t.Errorf("it said %.2000q, want %q in it", log.text(), c.says)
				}
				if code := o.Meta.Chant.ExitCode; (code == nil) != (c.exit < 0) || code != nil && *code != c.exit {
					t.Errorf("exit code %v, want %d", code, c.exit)
				}
			})
		})
	}
}

// Whether a person cancels, or the client leaves, and whatever the program
// does then: the prompt is answered, and says so.
func TestHowStoppedTurnsEnd(t *testing.T) {
	for _, c := range []struct {
		name, line string
		stop       func(w *wire, session string)
		want, says string
	}{
		{"cancel", "slow", func(w *wire, s string) { w.send(cancelLine(s)) }, "cancelled/cancelled", "`slow` was cancelled after"},
		{"cancel a program that does not obey", "deaf", func(w *wire, s string) { w.send(cancelLine(s), cancelLine(s)) }, "cancelled/cancelled", "killed"},
		{"$/cancel_request", "slow", func(w *wire, s string) {
			w.send(notification("$/cancel_request", map[string]any{"requestId": w.id}))
		}, "cancelled/cancelled", "`slow` was cancelled after"},
		{"close of the session", "slow", func(w *wire, s string) {
			w.request("session/close", map[string]any{"sessionId": s})
		}, "cancelled/cancelled", "`slow` was cancelled after"},
		{"signal", "slow", func(w *wire, s string) { w.leave() }, "cancelled/interrupted", "`slow` was interrupted after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, setup{})
				session := w.newSession()
				id := w.begin(session, c.line)
				w.said(session, "begun")
				w.id = id // for $/cancel_request
				from := len(w.seen)
				c.stop(w, session)
				o := w.ended(id)
				if o.String() != c.want {
					t.Errorf("ended %s, want %s", o, c.want)
				}
				log := turnLog(w.seen[from:])
				if !strings.Contains(log.text(), c.says) {
					t.Errorf("it said %q, want %q in it", log.text(), c.says)
				}
				if got := log.statuses(); got != "failed" {
					t.Errorf("statuses %q", got)
				}
			})
		})
	}
}

// What a program prints when it is asked to end is for the person who asked.
func TestLastWordsOfACancelledProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		session := w.newSession()
		id := w.begin(session, "slow")
		w.said(session, "begun")
		from := len(w.seen)
		w.send(cancelLine(session))
		w.ended(id)
		if text := turnLog(w.seen[from:]).text(); !strings.Contains(text, "last words\n") {
			t.Errorf("it said %q", text)
		}
	})
}

func TestShapeOfATurn(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	_, log := w.prompt(session, `/ok a 'b c'`)
	if got, want := log.kinds(), "available_commands_update tool_call agent_message_chunk tool_call_update agent_message_chunk session_info_update"; got != want {
		t.Errorf("updates %s, want %s", got, want)
	}
	call := log.updates("tool_call")[0]
	if call.ToolKind != "execute" || call.Title != "ok a 'b c'" || call.Status != "in_progress" || call.ToolCallID == "" {
		t.Errorf("the tool call is %+v", call)
	}
	in := call.RawInput
	if in == nil || in.Command != "ok a 'b c'" || fmt.Sprintf("%q", in.Argv) != `["ok" "a" "b c"]` || in.Cwd != w.host.root {
		t.Errorf("rawInput is %+v", in)
	}
	last := log.updates("tool_call_update")[0]
	if last.text() != "" {
		t.Errorf("what was printed is told twice: %q", last.text())
	}
	for _, key := range []string{"exitCode", "durationMs", "bytes", "truncated", "log"} {
		if _, ok := last.RawOutput[key]; !ok {
			t.Errorf("rawOutput lacks %s: %v", key, last.RawOutput)
		}
	}
	if last.RawOutput["bytes"] != 5.0 || last.RawOutput["log"] != "/logs/"+call.ToolCallID+".log" {
		t.Errorf("rawOutput is %v", last.RawOutput)
	}
	if !strings.Contains(log.text(), "    done\n") {
		t.Errorf("it said %q", log.text())
	}
	if info := log.updates("session_info_update")[0]; info.Title != "ok a 'b c'" || info.UpdatedAt == "" {
		t.Errorf("the title is %+v", info)
	}
	if _, log := w.prompt(session, "ok"); strings.Contains(log.kinds(), "session_info_update") {
		t.Errorf("the second turn has %s", log.kinds())
	}
}

// The title is the first line that was typed, until something ran: then it is that.
func TestTitleComesFromTheFirstCommandLine(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	for _, c := range []struct{ line, want string }{{"nonsense\nand more", "nonsense"}, {"help", ""}} {
		var got string
		if _, log := w.prompt(session, c.line); len(log.updates("session_info_update")) > 0 {
			got = log.updates("session_info_update")[0].Title
		}
		if got != c.want {
			t.Errorf("%q: the title is %q, want %q", c.line, got, c.want)
		}
	}
	if _, log := w.prompt(session, "where prod"); log.updates("session_info_update")[0].Title != "[prod] where prod" {
		t.Errorf("the title is %v", log.updates("session_info_update"))
	}
	if _, log := w.prompt(session, "ok"); len(log.updates("session_info_update")) > 0 {
		t.Errorf("what ran second is the title: %v", log.updates("session_info_update"))
	}
}

func TestProtectedEnvironmentsLead(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	_, log := w.prompt(session, "where prod")
	if got := log.updates("tool_call")[0].Title; got != "[prod] where prod" {
		t.Errorf("the title is %q", got)
	}
	if !strings.Contains(log.text(), "\n[prod] `where prod` completed") {
		t.Errorf("it said %q", log.text())
	}
	_, log = w.prompt(session, "where dev")
	if got := log.updates("tool_call")[0].Title; got != "where dev" {
		t.Errorf("the title is %q", got)
	}
	_, log = w.prompt(session, "wipe env prod")
	if !strings.HasPrefix(log.text(), "[prod] `wipe env prod` has to be confirmed") {
		t.Errorf("it said %q", log.text())
	}
}

// However hostile an argument is: no line is longer than 24 KiB (rules), a
// title has 200 runes at most, and the turn ends as it should.
func TestHostileArguments(t *testing.T) {
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for name, args := range map[string]string{
		"long":                 fill("x", 60<<10),
		"backslashes":          "'" + fill(`\`, 60<<10) + "'",
		"double quotes":        "'" + fill(`"`, 60<<10) + "'",
		"newlines":             "'" + fill("\n", 60<<10) + "'",
		"tabs":                 "'" + fill("\t", 60<<10) + "'",
		"line separators":      fill("\u2028", 60<<10),
		"four bytes":           fill("\U0001F600", 60<<10),
		"backticks":            "'" + fill("`", 60<<10) + "'",
		"empty arguments":      fill("'' ", 60<<10),
		"one byte arguments":   fill("x ", 60<<10),
		"quote arguments":      fill(`\" `, 60<<10),
		"backslash arguments":  fill(`\\ `, 60<<10),
		"fences":               "'" + fill("```\n", 60<<10) + "'",
		"html":                 "'" + fill("<&>", 60<<10) + "'",
		"combining characters": fill("e\u0301", 60<<10),
	} {
		for _, command := range []string{"ok", "ask", "wipe", "unknown"} {
			if command == "wipe" && strings.Contains(args, "\n") {
				continue // its pattern refuses them
			}
			t.Run(command+" "+name, func(t *testing.T) {
				w := dial(t, setup{client: "zed"})
				session := w.newSession()
				id := w.begin(session, command+" "+args)
				if command == "ask" {
					ask := w.asked()
					if n := utf8.RuneCountInString(ask.Params.ToolCall.Title); n > 200 || n < 190 {
						t.Errorf("the title has %d runes", n)
					}
					w.rules.long(ask)
					w.send(answerLine(ask, allowed))
				}
				o := w.ended(id)
				if o.StopReason != "end_turn" {
					t.Errorf("ended %s", o)
				}
				for _, call := range turnLog(w.seen).updates("tool_call") {
					if n := utf8.RuneCountInString(call.Title); n > 200 || n < 190 {
						t.Errorf("the title has %d runes", n)
					}
				}
				if command == "ok" && len(w.host.last().inv.Argv) < 2 {
					t.Errorf("the program got %q", w.host.last().inv.Argv)
				}
			})
		}
	}
}

// Text that is too long for one line comes whole in several.
func TestLongTextsComeWhole(t *testing.T) {
	w := dial(t, setup{})
	arg := strings.Repeat(`\"é`, 12<<10)
	_, log := w.prompt(w.newSession(), "explain ok '"+arg+"'")
	text := strings.ReplaceAll(log.text(), "\n```\n```\n", "") // a code block ends with each update
	if !strings.Contains(text, arg) {
		t.Error("explain does not show the whole argument")
	}
}

func TestBuiltins(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	say := func(line, want string) {
		t.Helper()
		if _, log := w.prompt(session, line); !strings.Contains(log.text(), want) {
			t.Errorf("%s said %q, want %q in it", line, log.text(), want)
		}
	}
	say("history", "Nothing was run")
	say("again", "no command to run again")
	say("explain where prod", "(protected)")
	say("explain nonsense", "here is no command")
	if n := len(w.host.runs()); n > 0 {
		t.Errorf("built-ins ran %v", w.host.runs())
	}
	say("ok 1", "`ok 1` completed")
	say("fail", "failed with exit code 1")
	say("again 2", "`ok 1` completed")
	say("again", "`ok 1` completed")
	say("again 9", "no command to run again")
	say("again x", "must be a number")
	say("history", "failed")
	if got, want := fmt.Sprint(w.host.runs()), "[ok 1 fail ok 1 ok 1]"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	_, log := w.prompt(session, "history 2")
	if strings.Contains(log.text(), "fail") || strings.Count(log.text(), "ok 1") != 2 {
		t.Errorf("history 2 said %q", log.text())
	}
}

// again is no way around a confirmation.
func TestAgainIsConfirmedAnew(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	o, _ := w.prompt(session, "wipe")
	w.prompt(session, "confirm "+o.Meta.Chant.Confirm)
	o, _ = w.prompt(session, "again")
	if o.Meta.Chant.Outcome != "waiting" || len(w.host.runs()) != 1 {
		t.Errorf("ended %s with %v run", o, w.host.runs())
	}
}

func TestPromptBlocks(t *testing.T) {
	h := newStub(t)
	if err := os.Mkdir(filepath.Join(h.root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := func(uri string) acp.ContentBlock {
		return acp.ContentBlock{Type: acp.ContentResourceLink, Name: "x", URI: uri}
	}
	in := func(path string) acp.ContentBlock { return link("file://" + filepath.Join(h.root, path)) }
	text := "data"
	for _, c := range []struct {
		name   string
		blocks []acp.ContentBlock
		argv   string // "" where it is refused
		says   string
	}{
		{"text", []acp.ContentBlock{acp.Text("ok a")}, `["ok" "a"]`, ""},
		{"blank texts around", []acp.ContentBlock{acp.Text(" \n"), acp.Text("ok a"), acp.Text("\t")}, `["ok" "a"]`, ""},
		{"link", []acp.ContentBlock{acp.Text("ok"), in("a.txt")}, `["ok" "a.txt"]`, ""},
		{"link between texts", []acp.ContentBlock{acp.Text("ok a "), in("b.txt"), acp.Text(" c")}, `["ok" "a" "b.txt" "c"]`, ""},
		{"blank text between links", []acp.ContentBlock{acp.Text("ok"), in("a"), acp.Text(" "), in("b")}, `["ok" "a" "b"]`, ""},
		{"blank is no part of the link", []acp.ContentBlock{acp.Text("ok"), in("a%20b.txt")}, `["ok" "a b.txt"]`, ""},
		{"nothing in a link is special", []acp.ContentBlock{acp.Text("ok"), in(`a%22;%20$(x)%20'%5C%5C`)}, `["ok" "a\"; $(x) '\\\\"]`, ""},
		{"encoded slash", []acp.ContentBlock{acp.Text("ok"), in("a%2Fb")}, `["ok" "a/b"]`, ""},
		{"unicode", []acp.ContentBlock{acp.Text("ok"), in("%C3%A9.txt")}, `["ok" "é.txt"]`, ""},
		{"the root itself", []acp.ContentBlock{acp.Text("ok"), in("")}, `["ok" "."]`, ""},
		{"leading dash", []acp.ContentBlock{acp.Text("ok"), in("-rf")}, `["ok" "./-rf"]`, ""},
		{"leading dash, encoded", []acp.ContentBlock{acp.Text("ok"), in("%2Drf")}, `["ok" "./-rf"]`, ""},
		{"two leading dashes", []acp.ContentBlock{acp.Text("ok"), in("--x")}, `["ok" "./--x"]`, ""},
		{"outside", []acp.ContentBlock{acp.Text("ok"), link("file:///etc/passwd")}, `["ok" "/etc/passwd"]`, ""},
		{"outside by dots", []acp.ContentBlock{acp.Text("ok"), link("file:///nowhere/../etc/passwd")}, `["ok" "/etc/passwd"]`, ""},
		{"outside by encoded dots", []acp.ContentBlock{acp.Text("ok"), in("%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/x")}, `["ok" "/etc/x"]`, ""},
		{"localhost", []acp.ContentBlock{acp.Text("ok"), link("file://localhost/etc/x")}, `["ok" "/etc/x"]`, ""},
		{"one slash", []acp.ContentBlock{acp.Text("ok"), link("file:/etc/x")}, `["ok" "/etc/x"]`, ""},

		{"a command in a folder of its own", []acp.ContentBlock{acp.Text("within"), in("sub/a.txt"), in("b.txt"), in("sub")}, fmt.Sprintf("%q", []string{"ok", "a.txt", filepath.Join(h.root, "b.txt"), "."}), ""},

		{"another host", []acp.ContentBlock{acp.Text("ok"), link("file://elsewhere/etc/x")}, "", "not a file of this machine"},
		{"web", []acp.ContentBlock{acp.Text("ok"), link("https://example.com/x")}, "", "only file: links"},
		{"zed", []acp.ContentBlock{acp.Text("ok"), link("zed:///agent/thread/1")}, "", "only file: links"},
		{"no scheme", []acp.ContentBlock{acp.Text("ok"), link("/etc/passwd")}, "", "only file: links"},
		{"opaque", []acp.ContentBlock{acp.Text("ok"), link("file:etc/passwd")}, "", "only file: links"},
		{"no path", []acp.ContentBlock{acp.Text("ok"), link("file://")}, "", "type the path"},
		{"nothing", []acp.ContentBlock{acp.Text("ok"), link("")}, "", "only file: links"},
		{"bad escape", []acp.ContentBlock{acp.Text("ok"), link("file:///a%zz")}, "", "can't be read"},
		{"NUL", []acp.ContentBlock{acp.Text("ok"), in("a%00b")}, "", "type the path"},
		{"newline", []acp.ContentBlock{acp.Text("ok"), in("a%0Ab")}, "", "type the path"},
		{"escape character", []acp.ContentBlock{acp.Text("ok"), in("a%1Bb")}, "", "type the path"},
		{"not UTF-8", []acp.ContentBlock{acp.Text("ok"), in("a%FFb")}, "", "type the path"},
		{"link first", []acp.ContentBlock{in("ok"), acp.Text("ok")}, "", "begin with the command"},
		{"two texts", []acp.ContentBlock{acp.Text("ok a"), acp.Text("b")}, "", "two pieces of text"},
		{"two texts, a blank one between", []acp.ContentBlock{acp.Text("ok a"), acp.Text(" "), acp.Text("b")}, "", "two pieces of text"},
		{"an open quote around a link", []acp.ContentBlock{acp.Text("ok 'a"), in("b"), acp.Text("c'")}, "", "never closed"},
		{"image", []acp.ContentBlock{acp.Text("ok"), {Type: "image", Data: "AA==", MimeType: "image/png"}}, "", "an image"},
		{"audio", []acp.ContentBlock{acp.Text("ok"), {Type: "audio", Data: "AA==", MimeType: "audio/wav"}}, "", "a sound"},
		{"resource", []acp.ContentBlock{acp.Text("ok"), {Type: "resource", Resource: &acp.EmbeddedResource{URI: "file:///x", Text: &text}}}, "", "an embedded resource"},
		{"no blocks", nil, "", "type a command"},
		{"blank", []acp.ContentBlock{acp.Text("  \n ")}, "", "type a command"},
		{"slash alone", []acp.ContentBlock{acp.Text("/")}, "", "here is no command"},
		{"chant alone", []acp.ContentBlock{acp.Text("chant")}, "", "no command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dial(t, setup{host: h})
			before := len(h.runs())
			id := w.request("session/prompt", promptParams(w.newSession(), c.blocks...))
			o := w.ended(id)
			if c.argv == "" {
				if o.String() != "refusal/refused" || len(h.runs()) > before {
					t.Errorf("ended %s; ran %v", o, h.runs()[before:])
				}
				if text := turnLog(w.seen).text(); !strings.Contains(text, c.says) {
					t.Errorf("it said %q, want %q in it", text, c.says)
				}
				return
			}
			if o.String() != "end_turn/completed" {
				t.Fatalf("ended %s: %s", o, turnLog(w.seen).text())
			}
			if got := fmt.Sprintf("%q", h.last().inv.Argv); got != c.argv {
				t.Errorf("ran %s, want %s", got, c.argv)
			}
		})
	}
}

// Whatever the host does, the prompt is answered and the next one works.
func TestAPanicInTheHost(t *testing.T) {
	for _, c := range []struct{ name, line string }{{"in Start", "crash"}, {"in Wait", "burst"}} {
		for _, terminal := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, terminal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := dial(t, setup{terminal: terminal})
					session := w.newSession()
					o, log := w.prompt(session, c.line)
					if o.String() != "end_turn/failed" || log.statuses() != "in_progress failed" {
						t.Errorf("ended %s with %s", o, log.statuses())
					}
					if o, _ := w.prompt(session, "ok"); o.String() != "end_turn/completed" {
						t.Errorf("the next prompt ended %s", o)
					}
				})
			})
		}
	}
	t.Run("before the turn has a command", func(t *testing.T) {
		w := dial(t, setup{})
		session := w.newSession()
		w.host.dirPanics = true
		if o, _ := w.prompt(session, "ok"); o.String() != "end_turn/failed" {
			t.Errorf("ended %s", o)
		}
	})
}
