package problem

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found is what the usual formats find.
func locations(t *testing.T, text string, formats []Format) []Location {
	t.Helper()
	f := NewFinder(formats)
	f.Write(text)
	var all []Location
	for _, l := range f.found() {
		all = append(all, l.Location)
	}
	return all
}

// What the tools print is from their own documents and from runs: Go 1.26, GCC 14,
// TypeScript 5.9, ESLint 9, rustc 1.90.
func TestFormats(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []Location
	}{
		"go build":            {"# example.com/m\n./main.go:3:5: undefined: x\n", []Location{{"./main.go", 3, 5}}},
		"go vet":              {"# example.com/m/sub\nsub/a.go:7:2: unreachable code\n", []Location{{"sub/a.go", 7, 2}}},
		"go vet, types":       {"vet: sub/a.go:7:2: undefined: y\n", []Location{{"sub/a.go", 7, 2}}},
		"go test":             {"--- FAIL: TestX (0.00s)\n    a_test.go:12: got 1\n", []Location{{"a_test.go", 12, 0}}},
		"go panic":            {"main.main()\n\t/p/main.go:9 +0x1d\n", []Location{{"/p/main.go", 9, 0}}},
		"go, no line":         {"see main.go: it is new\nmain.go:x\nmain.go:0:1\nmain.go:12abc\n", nil},
		"gcc":                 {"a b.c:3:5: error: expected ';'\n    3 |   int x\n", []Location{{"a b.c", 3, 5}}},
		"gcc without columns": {"a.c:3: error: expected ';'\n", []Location{{"a.c", 3, 0}}},
		"gcc, fatal":          {"a.c:1:10: fatal error: x.h: No such file or directory\n", []Location{{"a.c", 1, 10}}},
		"gcc, linker":         {"/usr/bin/ld: cannot find -lx: No such file\ncollect2: error: ld returned 1 exit status\n", nil},
		"gcc, with colour":    {"\x1b[01m\x1b[Ka.c:3:5:\x1b[m\x1b[K \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kno\n", []Location{{"a.c", 3, 5}}},
		"warnings come last":  {"a.c:1:2: warning: unused\nb.c:3:4: error: no\n", []Location{{"b.c", 3, 4}, {"a.c", 1, 2}}},
		"tsc":                 {"src/a.ts(3,5): error TS2322: Type 'x'\n", []Location{{"src/a.ts", 3, 5}}},
		"tsc --pretty":        {"\x1b[96msrc/a.ts\x1b[0m:\x1b[93m3\x1b[0m:\x1b[93m5\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m TS2322: \x1b[0mType\n", []Location{{"src/a.ts", 3, 5}}},
		"tsc, a folder (1)":   {"src/(group)/a.ts(3,5): error TS2322: Type\n", []Location{{"src/(group)/a.ts", 3, 5}}},
		"eslint":              {"\n/p/a.js\n  3:5   error  no  no-x\n  4:1   warning  hm  y\n\n✖ 2 problems\n", []Location{{"/p/a.js", 3, 5}, {"/p/a.js", 4, 1}}},
		"eslint, no header":   {"  3:5   error  no  no-x\n", nil},
		"rust":                {"error[E0308]: mismatched types\n  --> src/main.rs:3:5\n", []Location{{"src/main.rs", 3, 5}}},
		"rust, warning first": {"warning: unused\n --> src/a.rs:1:2\nerror: no\n --> src/b.rs:3:4\n", []Location{{"src/b.rs", 3, 4}, {"src/a.rs", 1, 2}}},
		"rust, panic":         {"thread 'main' panicked at src/main.rs:3:5:\nboom\n", []Location{{"src/main.rs", 3, 5}}},
		"rust, older panic":   {"thread 'main' panicked at 'a, b', src/main.rs:3:5\n", []Location{{"src/main.rs", 3, 5}}},
		"once":                {"a.go:1:2: x\na.go:1:2: x\n", []Location{{"a.go", 1, 2}}},
		"no line feed":        {"a.go:1:2: x", []Location{{"a.go", 1, 2}}},
		"a carriage return":   {"50%\ra.go:1:2: x\r\n", []Location{{"a.go", 1, 2}}},
		"other text":          {"12:30:45 listening on http://localhost:8080\nerror: no\nwarning: hm: 3\n", nil},
		"a line that is long": {strings.Repeat("x", maxLine) + " a.go:1:2: x\nb.go:1:2: x\n", []Location{{"b.go", 1, 2}}},
		"a number too large":  {"a.go:99999999999999999999:2: x\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, locations(t, tt.text, Usual())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	text := "warning: w\n --> w.rs:1:1\n/p/a.js\n  3:5  error  x\nb.go:1:2: x\n" + strings.Repeat("y", 2*maxLine) + "\nc.c:1:2: error: x"
	want := locations(t, text, Usual())
	if len(want) != 4 {
		t.Fatal(want)
	}
	for size := 1; size < len(text); size = size*2 + 1 {
		f := NewFinder(Usual())
		for p := range slices.Chunk([]byte(text), size) {
			f.Write(string(p))
		}
		var got []Location
		for _, l := range f.found() {
			got = append(got, l.Location)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pieces of %d: %s", size, diff)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range Names() {
		if f, ok := Named(name); !ok || f.name != name {
			t.Errorf("%s is not known", name)
		}
	}
	if _, ok := Named("cobol"); ok {
		t.Error("cobol is known")
	}
	f, _ := Named("gcc")
	if got := locations(t, "a.go:1:2: x\na.c:1:2: error: x\n", []Format{f}); len(got) != 1 || got[0].Path != "a.c" {
		t.Errorf("gcc alone finds %v", got)
	}
	if got := locations(t, "a.go:1:2: x\n", nil); got != nil {
		t.Errorf("no format finds %v", got)
	}
}

func TestPattern(t *testing.T) {
	for expr, want := range map[string]string{
		`(`:                                "is not a regular expression (RE2 syntax): missing closing ): `(`",
		`(?P<line>\d+)`:                    "needs a group for the file: (?P<file>…)",
		`(?P<file>\S+)`:                    "needs a group for the line: (?P<line>…)",
		`(?P<file>.)(?P<line>.)(?P<col>.)`: "has a group col; its groups are file, line and column",
	} {
		if _, err := Pattern(expr); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expr, err, want)
		}
	}
	for expr, want := range map[string][]Location{
		`File "(?P<file>[^"]+)", line (?P<line>\d+)`:            {{"a.py", 3, 0}},
		`^(?<file>\S+) @(?P<line>\d+)(\.(?P<column>\d+))?( |$)`: {{"b.x", 4, 7}, {"c.x", 5, 0}},
		`(?P<file>\w*)!(?P<line>\w*)`:                           nil,
	} {
		f, err := Pattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		got := locations(t, "  File \"a.py\", line 3, in x\nb.x @4.7\nc.x @5\nd!e\n!1\nx!0\n", []Format{f})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", expr, diff)
		}
	}
}

// TestResolve: only files that are there, and inside, are locations.
func TestResolve(t *testing.T) {
	outside := t.TempDir()
	root := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"main.go", "main_test.go", "sub/a.go", "sub/a_test.go", "sub/deep/d.go", "sub/main_test.go", "dir.go/x"} {
		write(filepath.Join(root, name))
	}
	write(filepath.Join(outside, "out.go"))
	for link, to := range map[string]string{"out": outside, "out.go": filepath.Join(outside, "out.go"), "in.go": "main.go"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "project")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir, text string
		want      []string // paths below the root
	}{
		"relative":             {"", "./main.go:1: x\nsub/a.go:2:3: y\n", []string{"main.go", "sub/a.go"}},
		"from a folder":        {"sub", "a.go:1: x\n../main.go:2: y\ndeep/d.go:3: z\n", []string{"sub/a.go", "main.go", "sub/deep/d.go"}},
		"absolute":             {"", root + "/main.go:1: x\n", []string{"main.go"}},
		"outside":              {"", "/etc/passwd.go:1: x\n../x.go:1: x\n" + outside + "/out.go:1: x\n", nil},
		"behind a link":        {"", "out/out.go:1: x\nout.go:1: x\nin.go:1: x\n", []string{"in.go"}},
		"not there, no file":   {"", "none.go:1: x\ndir.go:1: x\n", nil},
		"a test of a package":  {"", "    a_test.go:1: x\nFAIL\nFAIL\texample.com/m/sub\t0.01s\n", []string{"sub/a_test.go"}},
		"tests of two":         {"", "    main_test.go:1: x\nFAIL\texample.com/m\t0.01s\n    main_test.go:1: x\nFAIL\texample.com/m/sub\t0.01s\n", []string{"main_test.go", "sub/main_test.go"}},
		"a test of the folder": {"sub", "    a_test.go:1: x\nFAIL\texample.com/m/sub\t0.01s\n", []string{"sub/a_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, root := range []string{root, link} {
				f := NewFinder(Usual())
				f.Write(tt.text)
				var got, want []string
				for _, l := range f.Resolve(root, filepath.Join(root, tt.dir)) {
					got = append(got, l.Path)
				}
				for _, path := range tt.want {
					want = append(want, filepath.Join(root, path))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	if got := Files(root, filepath.Join(root, "sub"), []string{"a.go", "deep", "none", "/etc/hosts", "../main.go", "a.go"}); !slices.Equal(got, []string{root + "/sub/a.go", root + "/main.go"}) {
		t.Errorf("Files: %v", got)
	}
}

func TestResolveIsBounded(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f := NewFinder(Usual())
	for i := range 100_000 {
		f.Write("a.go:" + string('1'+rune(i%9)) + strings.Repeat("0", i%10) + ": x\n")
	}
	if got := f.Resolve(root, root); len(got) != MaxLocations {
		t.Errorf("%d locations", len(got))
	}
}

func FuzzFinder(f *testing.F) {
	for _, seed := range []string{
		"a.go:1:2: x\n", "FAIL\tm/sub\t1s\n", "a.c:1:2: error: x", "a.ts(1,2): error TS1: x", "a.ts:1:2 - error TS1: x",
		"/a.js\n  1:2  error x", "error\n --> a.rs:1:2", "panicked at 'x', a.rs:1:2", "\x1b[31ma.go:1\r\n", ":1: error: ", "x@1", "\x1b",
	} {
		f.Add([]byte(seed), 3)
	}
	pattern, err := Pattern(`(?P<file>\w*)@(?P<line>\d*)(:(?P<column>\d+))?`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		formats := append(Usual(), pattern)
		whole, pieces := NewFinder(formats), NewFinder(formats)
		whole.Write(string(text))
		for p := range slices.Chunk(text, max(size, 1)) {
			pieces.Write(string(p))
		}
		all, parts := whole.found(), pieces.found()
		if !slices.Equal(all, parts) {
			t.Fatalf("%q: %v, and %v in pieces", text, all, parts)
		}
		for _, l := range all {
			if l.Path == "" || l.Line < 1 || l.Column < 0 || strings.Contains(l.Path, "\n") {
				t.Fatalf("%q: %+v", text, l)
			}
		}
	})
}

// BenchmarkFinder is the rate at which output is read that holds no location, and that
// holds nothing else.
func BenchmarkFinder(b *testing.B) {
	pattern, err := Pattern(`File "(?P<file>[^"]+)", line (?P<line>\d+)`)
	if err != nil {
		b.Fatal(err)
	}
	for name, formats := range map[string][]Format{"usual": Usual(), "usual and a pattern": append(Usual(), pattern)} {
		for what, line := range map[string]string{"text": "2026-12-01T10:00:00Z INFO handled GET /api/v1/things in 12 ms: 200\n", "problems": "src/pkg/file.go:123:45: undefined: something\n"} {
			chunk := strings.Repeat(line, 8<<10/len(line))
			b.Run(name+"/"+what, func(b *testing.B) {
				f := NewFinder(formats)
				b.SetBytes(int64(len(chunk)))
				for b.Loop() {
					f.read = 0
					f.Write(chunk)
				}
			})
		}
	}
}
