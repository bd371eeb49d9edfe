package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
)

// Only the option that allows, chosen, lets a command run; everything else is a
// no, and the turn ends in order.
func TestAnswersToAPermissionRequest(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		ran          bool
		says         string
	}{
		{"allow", allowed, true, "`ask` completed in"},
		{"reject", rejected, false, "was not run: it was rejected"},
		{"an option that was not offered", `"result":{"outcome":{"outcome":"selected","optionId":"allow_for_ever"}}`, false, "none of those offered"},
		{"the kind instead of the id", `"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}`, false, "none of those offered"},
		{"the id in capitals", `"result":{"outcome":{"outcome":"selected","optionId":"Allow"}}`, false, "none of those offered"},
		{"no option", `"result":{"outcome":{"outcome":"selected"}}`, false, "none of those offered"},
		{"null for an option", `"result":{"outcome":{"outcome":"selected","optionId":null}}`, false, "none of those offered"},
		{"a number for an option", `"result":{"outcome":{"outcome":"selected","optionId":0}}`, false, "none of those offered"},
		{"cancelled", `"result":{"outcome":{"outcome":"cancelled"}}`, false, "dismissed"},
		{"cancelled, with the option that allows", `"result":{"outcome":{"outcome":"cancelled","optionId":"allow"}}`, false, "dismissed"},
		{"an unknown outcome", `"result":{"outcome":{"outcome":"allowed","optionId":"allow"}}`, false, "was not run"},
		{"the outcome by another case", `"result":{"Outcome":{"outcome":"selected","optionId":"allow"}}`, false, "was not run"},
		{"the option by another case", `"result":{"outcome":{"outcome":"selected","OptionId":"allow"}}`, false, "was not run"},
		{"an outcome that is a string", `"result":{"outcome":"selected"}`, false, "was not run"},
		{"no outcome", `"result":{}`, false, "was not run"},
		{"null", `"result":null`, false, "was not run"},
		{"an array", `"result":["selected","allow"]`, false, "was not run"},
		{"an error", `"error":{"code":-32601,"message":"no such method"}`, false, "could not ask (no such method)"},
		{"an odd error", `"error":"no"`, false, "was not run"},
		{"a result and an error", allowed + `,"error":{"code":-32603,"message":"x"}`, false, "was not run"},
	} {
		for _, terminal := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", terminal ", terminal), func(t *testing.T) {
				w := dial(t, setup{client: "zed", terminal: terminal})
				session := w.newSession()
				id := w.begin(session, "ask")
				ask := w.asked()
				w.send(answerLine(ask, c.answer))
				o := w.ended(id)
				log := turnLog(w.seen)
				want, statuses := "end_turn/refused", "pending failed"
				if c.ran {
					want, statuses = "end_turn/completed", "pending in_progress completed"
				}
				if o.String() != want || log.statuses() != statuses {
					t.Errorf("ended %s with %s", o, log.statuses())
				}
				if !strings.Contains(log.text(), c.says) {
					t.Errorf("it said %q, want %q in it", log.text(), c.says)
				}
				if len(w.host.runs()) > 0 != c.ran {
					t.Errorf("ran %v", w.host.runs())
				}
				w.send(answerLine(ask, allowed)) // once more, and too late
				if o, _ := w.prompt(session, "ok"); o.String() != "end_turn/completed" {
					t.Errorf("the next ended %s", o)
				}
				if n := len(w.host.runs()); n > 2 {
					t.Errorf("ran %v", w.host.runs())
				}
			})
		}
	}
}

func TestShapeOfAPermissionRequest(t *testing.T) {
	w := dial(t, setup{client: "zed"})
	w.begin(w.newSession(), "ask '<b>' '&' 'c d'")
	ask := w.asked()
	if got := fmt.Sprint(ask.Params.Options); got != "[{allow allow_once} {reject reject_once} {allow_always allow_always}]" {
		t.Errorf("options %s", got)
	}
	call := ask.Params.ToolCall
	if call.Title != "ask <b> '&' 'c d'" || call.Status != "pending" || call.ToolKind != "execute" || call.RawInput.Command != call.Title {
		t.Errorf("the tool call is %+v", call)
	}
	if text := call.text(); !strings.Contains(text, "```sh\nok <b> '&' 'c d'\n```\n\nin `"+w.host.root+"`") {
		t.Errorf("the content is %q", text)
	}
}

func TestCancelWhileAPersonIsAsked(t *testing.T) {
	for _, late := range []string{allowed, rejected, `"error":{"code":-32603,"message":"gone"}`, `"result":{"outcome":{"outcome":"cancelled"}}`} {
		for _, terminal := range []bool{false, true} {
			w := dial(t, setup{client: "zed", terminal: terminal})
			session := w.newSession()
			id := w.begin(session, "ask")
			ask := w.asked()
			w.send(cancelLine(session))
			if o := w.ended(id); o.String() != "cancelled/cancelled" {
				t.Errorf("ended %s", o)
			}
			w.send(answerLine(ask, late))
			if o, _ := w.prompt(session, "ok"); o.String() != "end_turn/completed" || fmt.Sprint(w.host.runs()) != "[ok]" {
				t.Errorf("the next ended %s; ran %v", o, w.host.runs())
			}
		}
	}
}

// The answer that allows and a cancel in one packet, in either order, start
// nothing.
func TestAllowAndCancelInOnePacket(t *testing.T) {
	w := dial(t, setup{client: "zed"})
	session := w.newSession()
	for round := range 1000 {
		id := w.begin(session, "ask")
		ask := w.asked()
		lines := []string{answerLine(ask, allowed), cancelLine(session)}
		if round%4 > 1 {
			lines[1] = notification("$/cancel_request", map[string]any{"requestId": id})
		}
		if round%2 == 1 {
			slices.Reverse(lines)
		}
		w.send(lines...)
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Fatalf("round %d ended %s", round, o)
		}
	}
	if n := len(w.host.runs()); n > 0 {
		t.Errorf("%d programs were started", n)
	}
}

// A turn that waits for a person gives the place up. What ran meanwhile decides
// whether the person is asked again.
func TestThePlaceWhileAPersonIsAsked(t *testing.T) {
	for _, c := range []struct {
		meanwhile string
		again     bool
	}{
		{"ok", false}, {"fail", false}, {"write", true}, {"where dev", true}, {"vanish", false}, {"wipe", false}, {"help", false},
	} {
		t.Run(c.meanwhile, func(t *testing.T) {
			w := dial(t, setup{client: "zed"})
			first, second := w.newSession(), w.newSession()
			id := w.begin(first, "ask")
			ask := w.asked()
			w.prompt(second, c.meanwhile)
			before := len(w.host.runs())
			w.send(answerLine(ask, allowed))
			if c.again {
				w.said(first, "asked for again")
				ask = w.asked()
				if len(w.host.runs()) != before {
					t.Errorf("ran %v", w.host.runs())
				}
				w.send(answerLine(ask, allowed))
			}
			if o := w.ended(id); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
			if got := w.host.runs(); got[len(got)-1] != "ask" || len(got) != before+1 {
				t.Errorf("ran %v", got)
			}
		})
	}
}

// An answered turn goes before those that have waited longer.
func TestAnAnsweredTurnGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{client: "zed"})
		asks, runs, waits := w.newSession(), w.newSession(), w.newSession()
		first := w.begin(asks, "ask")
		ask := w.asked()
		running := w.begin(runs, "slow")
		w.begun()
		queued := w.begin(waits, "ok")
		synctest.Wait()
		w.send(answerLine(ask, allowed))
		synctest.Wait()
		if got := fmt.Sprint(w.host.runs()); got != "[slow]" {
			t.Errorf("ran %s", got)
		}
		w.send(cancelLine(runs))
		for _, id := range []int{running, first, queued} {
			w.ended(id)
		}
		if got := fmt.Sprint(w.host.runs()); got != "[slow ask ok]" {
			t.Errorf("ran %s", got)
		}
	})
}

// A person may take hours.
func TestAQuestionDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{client: "zed"})
		id := w.begin(w.newSession(), "ask")
		ask := w.asked()
		time.Sleep(48 * time.Hour)
		w.send(answerLine(ask, allowed))
		if o := w.ended(id); o.String() != "end_turn/completed" {
			t.Errorf("ended %s", o)
		}
	})
}

// code runs a command that has to be confirmed and returns the code.
func (w *wire) code(session, line string) string {
	w.t.Helper()
	o, log := w.prompt(session, line)
	key := o.Meta.Chant.Confirm
	if o.String() != "end_turn/waiting" || key == "" {
		w.t.Fatalf("%s ended %s: %q", line, o, log.text())
	}
	if !strings.Contains(log.text(), "\nconfirm "+key+"\n") || !strings.Contains(log.text(), "within 5m") {
		w.t.Errorf("%s said %q", line, log.text())
	}
	return key
}

// notConfirmed holds a confirm to being refused for a reason.
func (w *wire) notConfirmed(session, key, why string) {
	w.t.Helper()
	before := len(w.host.runs())
	o, log := w.prompt(session, "confirm "+key)
	if o.String() != "refusal/refused" || !strings.Contains(log.text(), why) || len(w.host.runs()) != before {
		w.t.Errorf("confirm ended %s and said %q, want %q; ran %v", o, log.text(), why, w.host.runs()[before:])
	}
}

func TestConfirmCodes(t *testing.T) {
	const unknown = "othing waits for the code"
	for name, f := range map[string]func(t *testing.T, w *wire, s string){
		"good once": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe a")
			o, log := w.prompt(s, "confirm "+key)
			if o.String() != "end_turn/completed" || log.updates("tool_call")[0].Title != "wipe a" || fmt.Sprint(w.host.runs()) != "[wipe a]" {
				t.Errorf("ended %s, ran %v", o, w.host.runs())
			}
			w.notConfirmed(s, key, unknown)
		},
		"in capitals": func(t *testing.T, w *wire, s string) {
			if o, _ := w.prompt(s, "/confirm "+strings.ToUpper(w.code(s, "wipe"))); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		},
		"several wait": func(t *testing.T, w *wire, s string) {
			a, b := w.code(s, "wipe a"), w.code(s, "wipe b")
			if a == b {
				t.Error("one code for two commands")
			}
			w.prompt(s, "confirm "+b)
			w.prompt(s, "confirm "+a)
			if got := fmt.Sprint(w.host.runs()); got != "[wipe b wipe a]" {
				t.Errorf("ran %s", got)
			}
		},
		"just in time": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			time.Sleep(5*time.Minute - time.Millisecond)
			if o, _ := w.prompt(s, "confirm "+key); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		},
		"too late": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			time.Sleep(5*time.Minute + time.Millisecond)
			w.notConfirmed(s, key, "older than 5m")
			w.notConfirmed(s, key, unknown)
		},
		"of another session": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.notConfirmed(w.newSession(), key, unknown)
			if o, _ := w.prompt(s, "confirm "+key); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		},
		"wrong guesses void it": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			for range 5 {
				w.notConfirmed(s, "000000", unknown)
			}
			w.notConfirmed(s, key, unknown)
		},
		"a few wrong guesses do not": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			for range 4 {
				w.notConfirmed(s, "000000", unknown)
			}
			if o, _ := w.prompt(s, "confirm "+key); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		},
		"the manifest changed around it": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.host.write(stubManifest + "\n# a comment\n")
			if o, _ := w.prompt(s, "confirm "+key); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		},
		"its entry changed": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.host.write(strings.Replace(stubManifest, "type a code first", "type nothing", 1))
			w.notConfirmed(s, key, "something else now than when it was asked for: the entry of wipe changed, after the question")
		},
		"a file of it changed, and is what it was again": func(t *testing.T, w *wire, s string) {
			w.host.file("one")
			key := w.code(s, "wipe")
			w.host.file("two")
			w.notConfirmed(s, key, "something else now than when it was asked for: version changed")
			w.host.file("one")
			w.notConfirmed(s, key, unknown)
		},
		"the argv changed": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.host.write(strings.Replace(stubManifest, `"--force"`, `"--force-all"`, 1))
			w.notConfirmed(s, key, "something else now")
		},
		"the command is gone": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.host.write("version: 1\ncommands: {}\n")
			w.notConfirmed(s, key, "here is no command")
		},
		"the manifest is broken": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.host.write("version: 1\nnonsense: 1\n")
			w.notConfirmed(s, key, "here is no command")
		},
		"the option env is the one it was asked with": func(t *testing.T, w *wire, s string) {
			w.answer(w.setOption(s, "env", "dev"))
			key := w.code(s, "wipe")
			w.answer(w.setOption(s, "env", "staging"))
			w.prompt(s, "confirm "+key)
			if got := w.host.last().env("CHANT_ENV"); got != "dev" {
				t.Errorf("CHANT_ENV is %q", got)
			}
		},
		"many": func(t *testing.T, w *wire, s string) {
			keys := []string{}
			for i := range 17 {
				keys = append(keys, w.code(s, fmt.Sprint("wipe ", i)))
				time.Sleep(time.Second)
			}
			w.notConfirmed(s, keys[0], unknown)
			w.prompt(s, "confirm "+keys[1])
			w.prompt(s, "confirm "+keys[16])
			if got := fmt.Sprint(w.host.runs()); got != "[wipe 1 wipe 16]" {
				t.Errorf("ran %s", got)
			}
		},
		"cancelled before it ran": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			id, line := w.line("session/prompt", promptParams(s, acp.Text("confirm "+key)))
			w.send(line, cancelLine(s))
			if o := w.ended(id); o.String() != "cancelled/cancelled" || len(w.host.runs()) > 0 {
				t.Errorf("ended %s, ran %v", o, w.host.runs())
			}
		},
		"no code, two codes": func(t *testing.T, w *wire, s string) {
			key := w.code(s, "wipe")
			w.notConfirmed(s, "", "missing")
			w.notConfirmed(s, key+" "+key, "one argument too many")
			if o, _ := w.prompt(s, "confirm "+key); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, setup{})
				f(t, w, w.newSession())
			})
		})
	}
}

// Where no person is, nothing is confirmed.
func TestConfirmingNeedsAPerson(t *testing.T) {
	for origin, why := range map[agent.Origin]string{agent.OriginMCP: "MCP", agent.OriginHeartbeat: "HEARTBEAT.md", agent.OriginProgram: "a program that chant-acp runs"} {
		for _, confirm := range []string{"auto", "ask", "retype"} {
			s := setup{origin: origin, client: "zed"}
			s.options.Confirm = confirm
			w := dial(t, s)
			session := w.newSession()
			for _, line := range []string{"wipe", "ask", "confirm abcdef", "again"} {
				o, log := w.prompt(session, line)
				if o.Meta.Chant.Outcome != "refused" || line != "again" && !strings.Contains(log.text(), why) || len(log.updates("tool_call")) > 0 {
					t.Errorf("%v, %s: ended %s and said %q", confirm, line, o, log.text())
				}
			}
			if len(w.host.runs()) > 0 {
				t.Errorf("ran %v", w.host.runs())
			}
			for _, u := range turnLog(w.seen).updates("available_commands_update") {
				for _, c := range u.Commands {
					if slices.Contains([]string{"approve", "reject", "signal", "confirm", "allow"}, c.Name) || strings.Contains(c.Description, "cancel") {
						t.Errorf("%v is offered %+v", origin, c)
					}
				}
			}
			if o, log := w.prompt(session, "where prod"); o.Meta.Chant.Outcome != "refused" || !strings.Contains(log.text(), "prod is protected") {
				t.Errorf("where prod ended %s and said %q", o, log.text())
			}
			for _, line := range []string{"write", "where dev"} {
				if o, _ := w.prompt(session, line); o.String() != "end_turn/completed" {
					t.Errorf("%s ended %s", line, o)
				}
			}
		}
	}
}

// What is known of clients, and what overrides it.
func TestClients(t *testing.T) {
	const ask, retype = "asks", "retype"
	for _, c := range []struct {
		client, confirm, refusal string
		want, refused            string
	}{
		{"zed", "", "", ask, "end_turn"},
		{"zed", "auto", "auto", ask, "end_turn"},
		{"zed", "retype", "refusal", retype, "refusal"},
		{"agent-shell", "", "", ask, "end_turn"},
		{"CodeCompanion.nvim", "", "", ask, "end_turn"},
		{"vscode-acp-client", "", "", ask, "refusal"},
		{agent.PromptClient, "", "", ask, "refusal"},
		{"acpx", "", "", retype, "refusal"},
		{"Zed", "", "", retype, "refusal"},
		{"", "", "", retype, "refusal"},
		{"", "ask", "end_turn", ask, "end_turn"},
		{"unknown", "ask", "", ask, "refusal"},
	} {
		t.Run(fmt.Sprint(c.client, " ", c.confirm, " ", c.refusal), func(t *testing.T) {
			s := setup{client: c.client}
			s.options.Confirm, s.options.Refusal = c.confirm, c.refusal
			w := dial(t, s)
			session := w.newSession()
			if o, log := w.prompt(session, "nonsense"); o.StopReason != c.refused || o.Meta.Chant.Outcome != "refused" || !strings.Contains(log.text(), "no command") {
				t.Errorf("a refusal ended %s", o)
			}
			id := w.begin(session, "ask")
			if c.want == ask {
				w.send(answerLine(w.asked(), rejected))
			}
			want := map[string]string{ask: "end_turn/refused", retype: "end_turn/waiting"}[c.want]
			if o := w.ended(id); o.String() != want {
				t.Errorf("ask ended %s, want %s", o, want)
			}
			if o, _ := w.prompt(session, "wipe"); o.String() != "end_turn/waiting" {
				t.Errorf("wipe ended %s", o)
			}
		})
	}
}

// A client that shows nothing of a tool call but its title shows text: there its
// person reads what would run before the question is put.
func TestWhatIsAskedIsReadInEveryClient(t *testing.T) {
	for client, asText := range map[string]bool{"CodeCompanion.nvim": true, "vscode-acp-client": true, "zed": false, "agent-shell": false} {
		w := dial(t, setup{client: client})
		id := w.begin(w.newSession(), "ask it")
		ask := w.asked()
		text := turnLog(w.seen).text()
		if reads := strings.Contains(text, "ok it") && strings.Contains(text, "digest "); reads != asText {
			t.Errorf("%s: before the question stands %q", client, text)
		}
		w.send(answerLine(ask, allowed))
		w.ended(id)
		if fenceOpen(turnLog(w.seen).text()) {
			t.Errorf("%s: a code block is open", client)
		}
	}
}
