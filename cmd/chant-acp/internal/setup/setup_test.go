package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/shlex"
)

func plain() Options {
	return Options{Binary: "/usr/local/bin/chant-acp", Home: "/home/ada", GOOS: "linux"}
}

func awkward() Options {
	o := plain()
	o.Binary = `/opt/my "tools"/ü\x/it's chant-acp`
	o.Args = []string{"--log-file", "a\tb"}
	return o
}

func TestClients(t *testing.T) {
	want := []string{"zed", "jetbrains", "emacs", "neovim", "vscode", "acpx", "fountain"}
	if diff := cmp.Diff(want, Clients()); diff != "" {
		t.Error(diff)
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"zed": "zed", "ZED": "zed", " zed ": "zed", "nvim": "neovim", "agent-shell": "emacs",
		"code": "vscode", "vscode-acp": "vscode", "GoLand": "jetbrains", "codecompanion": "codecompanion", "avante.nvim": "avante",
	} {
		got, err := Lookup(name)
		if err != nil || got.Name() != want {
			t.Errorf("Lookup(%q) = %v, %v; want %s", name, got, err, want)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	for name, hint := range map[string]string{"zee": `"zed"`, "emac": `"emacs"`, "neovin": `"neovim"`, "nano": "", "": ""} {
		_, err := Lookup(name)
		if err == nil {
			t.Fatalf("Lookup(%q) found something", name)
		}
		if !strings.Contains(err.Error(), strings.Join(Clients(), ", ")) {
			t.Errorf("%q: the clients are not listed: %v", name, err)
		}
		if got := strings.Contains(err.Error(), "Did you mean "+hint); got != (hint != "") {
			t.Errorf("%q: %v; want hint %s", name, err, hint)
		}
	}
}

func TestSnippets(t *testing.T) {
	for folder, o := range map[string]Options{"plain": plain(), "awkward": awkward()} {
		for _, target := range targets() {
			t.Run(folder+"/"+target.Name(), func(t *testing.T) {
				want, err := os.ReadFile(filepath.Join("testdata", folder, target.Name()+".golden"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), target.Snippet(o)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// The JSON snippets are what a standard reader reads back as the same paths.
func TestJSONSnippetsReadBack(t *testing.T) {
	o := awkward()
	for _, target := range targets() {
		if target.settings == nil {
			continue
		}
		var got map[string]map[string]struct {
			Command string
			Args    []string
			Argv    []string
		}
		if err := json.Unmarshal([]byte(target.Snippet(o)), &got); err != nil {
			t.Fatal(target.Name(), err)
		}
		keys := target.settings.keys
		e := got[keys[0]][keys[1]]
		argv := append([]string{e.Command}, e.Args...)
		if target.Name() == "acpx" {
			argv = e.Argv
		}
		if diff := cmp.Diff(append([]string{o.Binary}, o.Args...), argv); diff != "" {
			t.Error(target.Name(), diff)
		}
	}
}

func TestCommandLineSplitsBack(t *testing.T) {
	for _, words := range [][]string{
		{"a"}, {"a b", "c"}, {"", "x"}, {"it's", `"q"`, `\`, "$HOME", "`x`", "#", "a#b", "~", "*"}, {"ü", "a\nb", "\t"}, {`'"'"'`},
	} {
		got, err := shlex.Split(commandLine(words))
		if err != nil || !slices.Equal(got, words) {
			t.Errorf("%q: %q came back as %q, %v", words, commandLine(words), got, err)
		}
	}
}

func TestStringLiterals(t *testing.T) {
	for _, c := range []struct{ in, lua, elisp string }{
		{`a`, `"a"`, `"a"`},
		{`C:\x "y"`, `"C:\\x \"y\""`, `"C:\\x \"y\""`},
		{"a\nb\tc\x7f", `"a\nb\009c\127"`, `"a\nb\011c\177"`},
		{"\x1b1", `"\0271"`, `"\0331"`},
		{"grüß 🙂 \ufffd", `"grüß 🙂 ` + "\ufffd" + `"`, `"grüß 🙂 ` + "\ufffd" + `"`},
		{"\xff1", `"\2551"`, `"\3771"`},
		{"\xef1", `"\2391"`, `"\3571"`},
		{"\xef\xbf", `"\239\191"`, `"\357\277"`},
	} {
		if got := luaString(c.in); got != c.lua {
			t.Errorf("luaString(%q) = %s, want %s", c.in, got, c.lua)
		}
		if got := elispString(c.in); got != c.elisp {
			t.Errorf("elispString(%q) = %s, want %s", c.in, got, c.elisp)
		}
	}
}

func TestFountainArgs(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "serve --allow always --exit-idle 30s"},
		{"serve --exit-idle 5s", "serve --exit-idle 5s --allow always"},
		{"serve --allow=ask --exit-idle=5s", "serve --allow=ask --exit-idle=5s"},
		{"serve --output plain", "serve --output plain --allow always --exit-idle 30s"},
	} {
		if got := strings.Join(fountainArgs(Options{Args: strings.Fields(c.in)}), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, ".acpxrc.json")
	if err := os.WriteFile(project, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			if i := slices.Index(pairs, key); i >= 0 {
				return pairs[i+1]
			}
			return ""
		}
	}
	for _, c := range []struct {
		client string
		o      Options
		want   string // of an error, a part, after "!"
	}{
		{"zed", Options{Home: "/h", GOOS: "linux"}, "/h/.config/zed/settings.json"},
		{"zed", Options{Home: "/h", GOOS: "linux", Env: env("XDG_CONFIG_HOME", "/x")}, "/x/zed/settings.json"},
		{"zed", Options{Home: "/h", GOOS: "linux", Env: env("XDG_CONFIG_HOME", "x")}, "/h/.config/zed/settings.json"},
		{"zed", Options{GOOS: "linux", Env: env("XDG_CONFIG_HOME", "/x")}, "/x/zed/settings.json"},
		{"zed", Options{Home: "/h", GOOS: "darwin", Env: env("XDG_CONFIG_HOME", "/x")}, "/h/.config/zed/settings.json"},
		{"zed", Options{GOOS: "windows", Env: env("APPDATA", "/app")}, "/app/Zed/settings.json"},
		{"zed", Options{GOOS: "windows"}, "!APPDATA is not set"},
		{"zed", Options{GOOS: "linux"}, "!HOME is not set"},
		{"jetbrains", Options{Home: "/h"}, "/h/.jetbrains/acp.json"},
		{"jetbrains", Options{}, "!HOME is not set"},
		{"vscode", Options{Home: "/h", GOOS: "linux"}, "/h/.config/Code/User/settings.json"},
		{"vscode", Options{Home: "/h", GOOS: "darwin"}, "/h/Library/Application Support/Code/User/settings.json"},
		{"vscode", Options{GOOS: "windows", Env: env("APPDATA", "/app")}, "/app/Code/User/settings.json"},
		{"acpx", Options{Home: "/h", Dir: "/nowhere"}, "/h/.acpx/config.json"},
		{"acpx", Options{Home: "/h", Dir: dir}, project},
		{"acpx", Options{Dir: "/nowhere"}, "!HOME is not set"},
		{"emacs", plain(), "!paste what setup prints"},
		{"neovim", plain(), "!paste what setup prints"},
		{"fountain", plain(), "!own database"},
	} {
		target, err := Lookup(c.client)
		if err != nil {
			t.Fatal(err)
		}
		got, err := target.Path(c.o)
		part, fails := strings.CutPrefix(c.want, "!")
		if fails != (err != nil) || fails && !strings.Contains(err.Error(), part) || !fails && got != filepath.FromSlash(c.want) {
			t.Errorf("%s %+v: %q, %v; want %s", c.client, c.o, got, err, c.want)
		}
	}
}

func TestWhere(t *testing.T) {
	for _, target := range targets() {
		for _, o := range []Options{plain(), {}} {
			if got := target.Where(o); !strings.HasSuffix(got, "\n") || len(got) < 20 {
				t.Errorf("%s: Where says %q", target.Name(), got)
			}
		}
	}
}
