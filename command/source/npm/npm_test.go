package npm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/npm"
)

func TestParse(t *testing.T) {
	l, err := npm.Parse([]byte(`{"name": "x", "scripts": {"test": "node --test", "build:web": "vite build\n", "prebuild:web": "x", "preview": "vite preview",
		"prepare": "husky", "postinstall": "x", "-x": "y", "say it": "echo"}}`), "package.json")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range l.Tasks {
		got = append(got, task.Name+" "+task.Left)
	}
	want := []string{"test ", "build:web ", "preview ", "-x its name begins with a hyphen, which npm takes for an option", "say it "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	text, _, _, err := source.Manifest([]*source.Listing{l}, command.NameError)
	if err != nil {
		t.Fatal(err)
	}
	m, err := command.ParseManifest("package.json", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r := command.NewRegistry(command.RegistryOptions{Root: t.TempDir(), Manifest: m})
	for line, want := range map[string]string{
		"test":             "npm run test --",
		"test a 'b $(id)'": "npm run test -- a 'b $(id)'",
		"say it again":     "npm run 'say it' -- again",
		"test -x":          "",
		"prepare":          "",
	} {
		words, err := command.Split(line)
		if err != nil {
			t.Fatal(err)
		}
		inv, err := r.Parse(words, command.ParseOptions{})
		if want == "" && err == nil || want != "" && (err != nil || command.Quote(inv.Argv) != want) {
			t.Errorf("%s: %+v, %v, want %q", line, inv, err, want)
		}
	}
}

func TestParseOdd(t *testing.T) {
	for _, text := range []string{`{}`, `{"scripts": null}`, `{"scripts": {}}`, `{"name": 1}`} {
		if l, err := npm.Parse([]byte(text), "package.json"); err != nil || len(l.Tasks) > 0 {
			t.Errorf("%s: %v, %v", text, l, err)
		}
	}
	for _, text := range []string{``, `[]`, `{"scripts": []}`, `{"scripts": {"a": 1}}`, `{"scripts": "x"`} {
		if _, err := npm.Parse([]byte(text), "web/package.json"); err == nil || !strings.Contains(err.Error(), "web/package.json") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestScriptsSeeArguments holds, with the npm of this machine, that arguments
// reach a script as they are.
func TestScriptsSeeArguments(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	if os.Getenv("CHANT_ACP_TEST_TOOLS") == "" {
		t.Skip("npm takes long to start; CHANT_ACP_TEST_TOOLS=1 runs it")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"scripts":{"show":"printf '<%s>'"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	values := []string{"a b", "$(id)", "`id`", `"`, "'", `\`, "*", "", "a\nb", "~", "$HOME;x", "&&", "!", "%PATH%"}
	cmd := exec.Command("npm", append([]string{"run", "--silent", "show", "--"}, values...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "npm_config_cache="+filepath.Join(dir, "cache"), "npm_config_update_notifier=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "<" + strings.Join(values, "><") + ">"; !strings.HasSuffix(string(out), want) {
		t.Errorf("the script saw\n%s\nwant\n%s", out, want)
	}
}
