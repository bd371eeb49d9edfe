package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// declared is what the module's files hold: their paths, and the names that they declare.
type declared struct {
	files []string
	// names are top-level names, also with the package's name in front, and members with
	// that of their type.
	names map[string]bool
	// goroutines counts, by file, the places at which one is started; not in tests.
	goroutines map[string]int
}

// readDeclared reads the whole module.
func readDeclared(t *testing.T) declared {
	t.Helper()
	s := declared{names: make(map[string]bool), goroutines: make(map[string]int)}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || path == "testdata/project" {
				return fs.SkipDir
			}
			return nil
		}
		path = filepath.ToSlash(path)
		s.files = append(s.files, path)
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata/") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.add(file)
		if !strings.HasSuffix(path, "_test.go") {
			if n := starts(file); n > 0 {
				s.goroutines[path] = n
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// add takes in the names of a file.
func (s declared) add(file *ast.File) {
	top := func(name string) {
		s.names[name], s.names[file.Name.Name+"."+name] = true, true
	}
	member := func(typ, name string) { top(typ + "." + name) }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				top(d.Name.Name)
			} else {
				member(receiver(d), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						top(name.Name)
					}
				case *ast.TypeSpec:
					top(spec.Name.Name)
					for _, name := range members(spec.Type) {
						member(spec.Name.Name, name)
					}
				}
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// members are the fields of a struct and the methods of an interface.
func members(typ ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		for _, name := range f.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// starts counts where a file starts goroutines: go statements, and calls of the method
// Go, which wait groups have.
func starts(file *ast.File) (n int) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			n++
		case *ast.CallExpr:
			if f, ok := node.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(node.Args) == 1 {
				n++
			}
		}
		return true
	})
	return n
}

// has says whether a path is one of the module's, from its root or from any folder.
func (s declared) has(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return slices.ContainsFunc(s.files, func(file string) bool {
		return file == path || strings.HasSuffix(file, "/"+path) || strings.HasPrefix(file, path+"/") || strings.Contains(file, "/"+path+"/")
	})
}

var (
	pathLike = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)*/?$`)
	goName   = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)*$`)
)

// TestNamesInArchitecture wants every file, package and identifier that the page names
// to be there. Words in lower case without a dot or a slash are left to the reader:
// commands, variables and states.
func TestNamesInArchitecture(t *testing.T) {
	atRoot(t)
	s := readDeclared(t)
	methods := page(t, "acp/doc.go")
	var checked int
	for _, m := range inlineCode.FindAllStringSubmatch(page(t, "ARCHITECTURE.md"), -1) {
		word := m[1]
		switch {
		case strings.Contains(methods, `"`+word+`"`): // of the protocol
		case strings.Contains(word, "..."), strings.Contains(word, "*"), strings.HasPrefix(word, "CHANT_"):
		case pathLike.MatchString(word) && (strings.Contains(word, "/") || filepath.Ext(word) != "" && s.has(word)):
			checked++
			if !s.has(word) {
				t.Errorf("ARCHITECTURE.md names %s, and there is no such file or folder", word)
			}
		case goName.MatchString(word) && word != strings.ToLower(word):
			checked++
			if !s.names[word] && !library[word] {
				t.Errorf("ARCHITECTURE.md names %s, and nothing of that name is declared", word)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d names were found", checked)
	}
}

// TestFilesInDecisions wants every file and folder that a decision names to be there.
func TestFilesInDecisions(t *testing.T) {
	atRoot(t)
	s := readDeclared(t)
	methods := page(t, "acp/doc.go")
	files, err := filepath.Glob("docs/decisions/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, m := range inlineCode.FindAllStringSubmatch(page(t, file), -1) {
			word := m[1]
			if pathLike.MatchString(word) && strings.Contains(word, "/") && !strings.Contains(methods, `"`+word+`"`) && !s.has(word) {
				t.Errorf("%s names %s, and there is no such file or folder", file, word)
			}
		}
	}
}

// library are names of other modules, and words that only look like names.
var library = map[string]bool{"TestMain": true, "PATH": true, "context.AfterFunc": true, "SIGTERM": true, "SIGKILL": true, "Wait": true}

// TestGoroutinesInArchitecture wants a row for each place that starts a goroutine.
func TestGoroutinesInArchitecture(t *testing.T) {
	atRoot(t)
	want := readDeclared(t).goroutines
	_, table, found := strings.Cut(page(t, "ARCHITECTURE.md"), "\n## Goroutines\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no table of goroutines")
	}
	got := make(map[string]int)
	for line := range strings.Lines(table) {
		if file, ok := strings.CutPrefix(line, "| `"); ok {
			file, _, _ = strings.Cut(file, "`")
			got[file]++
		}
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if got[file] != want[file] {
			t.Errorf("%s starts goroutines at %d places, and ARCHITECTURE.md has %d rows for it: say of each how it ends and who waits for it", file, want[file], got[file])
		}
		delete(got, file)
	}
	for file := range got {
		t.Errorf("ARCHITECTURE.md has a row for a goroutine of %s, which starts none", file)
	}
}

// TestCommentWidth holds comments on lines of their own to 100 columns, a tab being 4.
// Code has no such bound: a sentence for people stays in one piece, to be searched for.
func TestCommentWidth(t *testing.T) {
	atRoot(t)
	for _, file := range readDeclared(t).files {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		text := page(t, file)
		line := 0
		for l := range strings.Lines(text) {
			line++
			l = strings.ReplaceAll(strings.TrimRight(l, "\n"), "\t", "    ")
			comment, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "// ")
			if ok && strings.Contains(comment, " ") && utf8.RuneCountInString(l) > 100 {
				t.Errorf("%s:%d: the comment has more than 100 columns; fill it anew", file, line)
			}
		}
	}
}
