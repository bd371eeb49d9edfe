// Command mutate says how much of a package's code its tests hold: it breaks the code in
// one small way at a time and runs the tests, which should fail.
//
//	go run ./internal/mutate -n 40 ./command ./acp/agent/turn=./acp/agent
//
// A mutant has one condition turned around, one border moved by one, one statement left
// out, or one error not returned, in code that a test runs. Behind = stands the package
// whose tests are to notice, where that is another one. Files are not changed: go test
// gets each mutant by its -overlay. One that does not compile does not count, and one
// whose tests hang is caught.
//
// Mutants of code that ends processes may end others than their own: run this in a PID
// namespace of its own, as .ci/run does. Begin at examine.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	n := flag.Int("n", 40, "how many mutants of each package to try; 0 for all")
	seed := flag.Uint64("seed", uint64(time.Now().Unix()), "which of them")
	flag.Parse()
	if err := run(flag.Args(), *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(packages []string, n int, seed uint64) error {
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Printf("seed %d\n", seed)
	all := tally{}
	for _, arg := range packages {
		name, tests, ok := strings.Cut(arg, "=")
		if !ok {
			tests = name
		}
		got, err := examine(subject{name, tests, scratch}, n, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		fmt.Printf("%s: %s\n", name, got)
		all.caught, all.tried = all.caught+got.caught, all.tried+got.tried
	}
	fmt.Printf("all: %s\n", all)
	return nil
}

// tally is how many mutants were tried, and how many of those the tests noticed.
type tally struct{ caught, tried int }

func (t tally) String() string {
	return fmt.Sprintf("%d of %d mutants caught (%.0f %%)", t.caught, t.tried, 100*float64(t.caught)/float64(max(1, t.tried)))
}

// subject is a package, and the one whose tests are to hold it.
type subject struct{ name, tests, scratch string }

// examine tries n mutants of a package, and prints those that no test notices.
func examine(s subject, n int, random *rand.Rand) (tally, error) {
	began := time.Now()
	ran, err := s.covered()
	if err != nil {
		return tally{}, err
	}
	limit := 3*time.Since(began) + time.Minute
	mutants, err := s.mutants(ran)
	if err != nil {
		return tally{}, err
	}
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	var t tally
	for _, m := range mutants {
		if n > 0 && t.tried == n {
			break
		}
		compiles, caught, err := s.try(m, limit)
		if err != nil {
			return t, err
		}
		if !compiles {
			continue
		}
		t.tried++
		if caught {
			t.caught++
		} else {
			fmt.Printf("survives: %s\n", m)
		}
	}
	return t, nil
}

// covered runs the tests as they are, and returns the stretches of code that they run, in
// the words of a coverage profile: file:line.column,line.column statements count.
func (s subject) covered() (stretches []stretch, err error) {
	profile := filepath.Join(s.scratch, "cover")
	out, err := exec.Command("go", "test", "-count=1", "-coverpkg="+s.name, "-coverprofile="+profile, s.tests).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the tests fail without a mutant: %w\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ".go:")
		var st stretch
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &st.from, &st.fromColumn, &st.to, &st.toColumn, &statements, &count); err == nil && count > 0 {
			st.file = filepath.Base(name) + ".go"
			stretches = append(stretches, st)
		}
	}
	return stretches, nil
}

// stretch is a part of a file that tests run.
type stretch struct {
	file                           string
	from, fromColumn, to, toColumn int
}

func (st stretch) holds(at token.Position) bool {
	after := at.Line > st.from || at.Line == st.from && at.Column >= st.fromColumn
	before := at.Line < st.to || at.Line == st.to && at.Column < st.toColumn
	return st.file == filepath.Base(at.Filename) && after && before
}

// mutant is one file with other text at one place.
type mutant struct {
	at       token.Position
	from, to int // offsets of what is replaced
	was, is  string
	source   []byte
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s -> %s", filepath.Base(m.at.Filename), m.at.Line, brief(m.was), brief(m.is))
}

func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "nothing"
	}
	return text[:min(len(text), 90)]
}

// mutants are all of a package's in code that tests run.
func (s subject) mutants(ran []stretch) (list []mutant, err error) {
	out, err := exec.Command("go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, s.name).Output()
	if err != nil {
		return nil, err
	}
	for path := range strings.FieldsSeq(string(out)) {
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		put := func(from, to token.Pos, is string) {
			at := files.Position(from)
			for _, st := range ran {
				if st.holds(at) {
					a, b := files.Position(from).Offset, files.Position(to).Offset
					list = append(list, mutant{at, a, b, string(source[a:b]), is, source})
					return
				}
			}
		}
		ast.Inspect(file, func(node ast.Node) bool { mutate(node, put); return true })
	}
	return list, nil
}

// other is what stands in the place of an operator.
var other = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.LAND: "||", token.LOR: "&&",
}

// mutate puts the mutants of one node.
func mutate(node ast.Node, put func(from, to token.Pos, is string)) {
	switch x := node.(type) {
	case *ast.BinaryExpr:
		if is, ok := other[x.Op]; ok {
			put(x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), is)
		}
	case *ast.IfStmt:
		switch cond := x.Cond.(type) {
		case *ast.UnaryExpr:
			put(cond.OpPos, cond.OpPos+1, "")
		case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr:
			put(cond.Pos(), cond.Pos(), "!")
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt:
		put(node.Pos(), node.End(), "")
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			put(x.Pos(), x.End(), "")
		}
	case *ast.ReturnStmt:
		if len(x.Results) > 0 {
			if last, ok := x.Results[len(x.Results)-1].(*ast.Ident); ok && last.Name == "err" {
				put(last.Pos(), last.End(), "nil")
			}
		}
	}
}

// try runs the tests on a mutant.
func (s subject) try(m mutant, limit time.Duration) (compiles, caught bool, err error) {
	text := string(m.source[:m.from]) + m.is + string(m.source[m.to:])
	file, overlay := filepath.Join(s.scratch, "mutant.go"), filepath.Join(s.scratch, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{m.at.Filename: file}})
	err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600), os.WriteFile(overlay, list, 0o600))
	if err != nil {
		return false, false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-timeout", limit.String(), "-overlay", overlay, s.tests)
	c.WaitDelay = time.Second // a process that a mutant left behind may hold the output
	out, err := c.CombinedOutput()
	return !bytes.Contains(out, []byte("[build failed]")), err != nil, nil
}
