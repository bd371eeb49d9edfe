package shelltext_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-acp/chant-acp/command/source/shelltext"
)

// pieces reads a script in which § is the place of the value.
func pieces(script string) []shelltext.Piece {
	var list []shelltext.Piece
	for i, text := range strings.Split(script, "§") {
		if i > 0 {
			list = append(list, shelltext.Piece{Hole: "x"})
		}
		list = append(list, shelltext.Piece{Text: text})
	}
	return list
}

// safe are scripts that take the value as an argument. rec, in the test below,
// writes down what it is given.
var safe = []string{
	"rec §", "rec a § b", `rec "§"`, "rec '§'", "rec pre§post", "rec --x=§", `rec "a § b"`, "rec ./§/x", "rec a; rec §", "rec a && rec § || rec b",
	"rec $(rec §)", "rec `rec §`", `rec "$(rec "§")"`, "if true; then rec §; fi", "for i in a §; do rec $i; done", "FOO=§ rec x", `FOO="§"; rec "$FOO"`,
	"export FOO=§; rec $FOO", "rec a \\\n  §", "rec a | cat; rec §", "(rec §)", "{ rec §; }", "# § is a comment\nrec x", "case § in a) rec a;; *) rec §;; esac",
	`[ "§" = a ] && rec b`, "rec '$§' '\\§'", "! rec §", "rec a 2>&1 §", "rec ${HOME+x} §", "while rec §; do break; done",
}

var unsafe = []string{
	"§ build", "rec a; § b", "rec a && §", "rec a | §", "$(§)", "`§`", "if §; then :; fi", "FOO=1 §", "(§)", "{ §; }", "sudo -n §", "env FOO=1 §", "env § rec", "exec §", "! §", "a§",
	"echo $((§ + 1))", "((§))", `echo "$(( 1 + § ))"`, "echo ${§}", "echo ${a:-§}", "echo $§", `echo "$§"`, "echo \\§", "echo ~§", "echo {a,§}", "echo {1..§}",
	"rec > §", "rec >>§", "rec 2>§", "rec < §", "rec &> §", "rec §>x", "cat <<EOF\n§\nEOF\n", "cat <<-'EOF'\n§\nEOF", "rec §\ncat <<EOF\nEOF\n",
	"eval rec §", `eval "rec §"`, `sh -c "rec §"`, "bash -euc 'rec §'", "docker exec box sh -c 'rec §'", "python3 -c 'print(§)'", "perl -pe 's/a/§/'", "node --eval '§'",
	". §", "source ./§", "trap § EXIT", "export §", "export §=1", "declare §", "local a§", "set §", "let a=§", "unset §", "read §", "alias §", "ssh host §", "xargs §", "awk '{§}'", "sed s/a/§/",
	"[ § -eq 1 ]", "[[ $a -lt § ]]", "for § in a; do :; done", "a=(§)", "echo $'§'", "echo $(case § in a) rec;; esac)",
}

func TestUses(t *testing.T) {
	for _, script := range safe {
		if got := shelltext.Uses(pieces(script)); got["x"].Unsafe != "" {
			t.Errorf("%q: %v, want no reason", script, got)
		}
	}
	for _, script := range unsafe {
		why := shelltext.Uses(pieces(script))["x"].Unsafe
		if !strings.HasPrefix(why, "it ") && !strings.Contains(why, "reads it") {
			t.Errorf("%q: %q, want a reason", script, why)
		}
	}
}

func TestUsesTellsValuesApart(t *testing.T) {
	got := shelltext.Uses([]shelltext.Piece{{Hole: "a"}, {Text: " x "}, {Hole: "b"}, {Text: "; rec \""}, {Hole: "a"}, {Text: "\""}})
	if got["a"].Unsafe == "" || got["b"].Unsafe != "" {
		t.Errorf("got %v", got)
	}
	if a, b := got["a"], got["b"]; !a.Bare || !a.Quoted || !b.Bare || b.Quoted {
		t.Errorf("got %v", got)
	}
}

// TestSafeInAShell holds, with the system's shell, that a value of type word is
// one word in each script that is called safe: what the script does with it is
// what it does with a plain letter, but for the letter.
func TestSafeInAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	const first = "abzAZ019_@%+:,./"
	word := rapid.Custom(func(t *rapid.T) string {
		for {
			w := rapid.StringOfN(rapid.SampledFrom([]rune(first)), 1, 1, -1).Draw(t, "first") + rapid.StringOfN(rapid.SampledFrom([]rune(first+"=-")), 0, 6, -1).Draw(t, "rest")
			if !strings.Contains("/"+w+"/", "/../") {
				return w
			}
		}
	})
	run := func(value string) string {
		var b strings.Builder
		b.WriteString("rec() { for a; do printf '<%s>' \"$a\"; done; printf '\\n'; }\n")
		for _, script := range safe {
			b.WriteString("(\n" + strings.ReplaceAll(script, "§", value) + "\n)\necho --\n")
		}
		cmd := exec.Command(sh, "-c", b.String())
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", value, err, out)
		}
		return string(out)
	}
	const plain = "QQQ"
	want := run(plain)
	rapid.Check(t, func(t *rapid.T) {
		value := word.Draw(t, "value")
		got := run(value)
		if expected := strings.ReplaceAll(want, plain, value); value != "a" && got != expected {
			t.Fatalf("%q:\n%s\nwant\n%s", value, got, expected)
		}
	})
}

func FuzzUses(f *testing.F) {
	for _, s := range append(safe, unsafe...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for hole := range shelltext.Uses(pieces(script)) {
			if hole != "x" || !strings.Contains(script, "§") {
				t.Errorf("%q: a value %q", script, hole)
			}
		}
	})
}
