package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
)

// maxBundle bounds all that one Op is made of, and the bundle of it, in bytes.
const maxBundle = 4 << 20

// Namespaces of esbuild: files of the project, which we alone open, and packages
// of chant.
const (
	ours  = "project"
	chant = "chant"
)

// A bundler makes one script of an Op's file and what it imports.
type bundler struct {
	root *os.Root
	// report is told of everything that was seen, each before it is used.
	report func(wire.Seen)

	mu   sync.Mutex // esbuild asks from several goroutines
	seen wire.Seen  // since the last report
	size int
}

// bundle returns the script, or what is wrong with the sources.
func (b *bundler) bundle(file string) (string, []op.Finding) {
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: file, OutputPath: "op"}},
		Bundle:              true,
		Format:              api.FormatCommonJS,
		Platform:            api.PlatformNeutral,
		Target:              api.ES2022,
		TsconfigRaw:         "{}",
		Outdir:              "/",
		LogLevel:            api.LogLevelSilent,
		LogLimit:            20,
		Plugins:             []api.Plugin{{Name: "chant", Setup: func(build api.PluginBuild) { b.setup(file, build) }}},
	})
	if len(result.Errors) > 0 {
		return "", findings(file, result.Errors)
	}
	script := result.OutputFiles[0].Contents
	if len(script) > maxBundle {
		return "", failed(file, "the file and what it imports make a script of %d bytes, and %d are the most", len(script), maxBundle)
	}
	return string(script), nil
}

func failed(file, format string, args ...any) []op.Finding {
	return op.Failed(file, format, args...).Findings
}

// findings turns esbuild's messages into ours.
func findings(file string, messages []api.Message) []op.Finding {
	var found []op.Finding
	for _, m := range messages {
		f := op.Finding{File: file, Message: m.Text}
		if strings.HasPrefix(m.Text, "Top-level await") {
			f.Message = "Top-level await can't be used: an Op's file is evaluated in one go; let a step wait"
		}
		if m.Location != nil {
			f.File = strings.TrimPrefix(m.Location.File, ours+":")
			column := min(m.Location.Column, len(m.Location.LineText))
			f.At = op.Position{Line: m.Location.Line, Column: 1 + utf8.RuneCountInString(m.Location.LineText[:column])}
		}
		found = append(found, f)
	}
	return found
}

// setup makes esbuild ask us for everything. file is the Op's.
func (b *bundler) setup(file string, build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		switch {
		case a.Kind == api.ResolveEntryPoint:
			return api.OnResolveResult{Path: file, Namespace: ours}, nil
		case strings.HasPrefix(a.Path, "@intentius/"):
			return api.OnResolveResult{Path: a.Path, Namespace: chant}, nil
		}
		found, err := b.resolve(a.Importer, a.Path)
		return api.OnResolveResult{Path: found, Namespace: ours}, err
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: chant}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text := "module.exports = __chant_module(" + strconv.Quote(a.Path) + ")"
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: ours}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := b.load(a.Path)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		loader := loaderOf(a.Path)
		if wrong := computedImports(a.Path, text, loader); wrong != nil {
			return api.OnLoadResult{Errors: wrong}, nil
		}
		return api.OnLoadResult{Contents: &text, Loader: loader}, nil
	})
	// Else esbuild would open what is in no namespace of ours by itself.
	build.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return api.OnLoadResult{}, fmt.Errorf("%s can't be read: only files of the project are", a.Path)
	})
}

// computedImports refuses imports whose name is not one literal. Bundling them,
// esbuild would look for the files that the name may mean by itself, wherever
// they are. It only does so in bundles, so that here, where it translates one
// file, it finds these imports and opens nothing.
func computedImports(file, text string, loader api.Loader) []api.Message {
	if loader == api.LoaderJSON {
		return nil
	}
	result := api.Transform(text, api.TransformOptions{
		Loader: loader, Sourcefile: file, Format: api.FormatCommonJS, Target: api.ES2022, TsconfigRaw: "{}",
		LogLevel: api.LogLevelSilent, LogLimit: 20,
		LogOverride: map[string]api.LogLevel{dynamicImport: api.LogLevelError, requireCall: api.LogLevelError},
	})
	var wrong []api.Message
	for _, m := range result.Errors {
		if m.ID != dynamicImport && m.ID != requireCall {
			continue // bundling it tells
		}
		m.Text = "it has an import whose name is not one literal; write each file's name out"
		m.Location.File = ours + ":" + file
		wrong = append(wrong, m)
	}
	return wrong
}

// esbuild's names for an import() and a require() without a literal name.
const (
	dynamicImport = "unsupported-dynamic-import"
	requireCall   = "unsupported-require-call"
)

func loaderOf(file string) api.Loader {
	switch path.Ext(file) {
	case ".ts":
		return api.LoaderTS
	case ".json":
		return api.LoaderJSON
	}
	return api.LoaderJS
}

// resolve finds what a file imports, among the files of the project.
func (b *bundler) resolve(importer, imported string) (string, error) {
	if !strings.HasPrefix(imported, "./") && !strings.HasPrefix(imported, "../") && imported != "." && imported != ".." {
		return "", fmt.Errorf("it imports %q; an Op's file can import files of the project (./…) and @intentius/*, and nothing else: it is evaluated without Node and its packages", imported)
	}
	target := path.Join(path.Dir(importer), imported)
	if !filepath.IsLocal(target) {
		return "", fmt.Errorf("it imports %q, which lies outside the project", imported)
	}
	for _, candidate := range candidates(target) {
		name, state, err := wire.Follow(b.root, candidate)
		b.mu.Lock()
		b.seen.Path(candidate, state)
		b.mu.Unlock()
		switch {
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("it imports %q, which cannot be used: %w", imported, err)
		}
	}
	return "", fmt.Errorf("it imports %q, and there is no such file; files that can be imported end in %s", imported, strings.Join(wire.Endings, ", "))
}

// candidates are the files that an import may mean, in TypeScript's order.
func candidates(target string) []string {
	var all []string
	ext := path.Ext(target)
	if slices.Contains(wire.Endings, ext) {
		all = append(all, target)
	}
	if ext == ".js" || ext == ".mjs" { // what a .ts file is called once it is compiled
		all = append(all, strings.TrimSuffix(target, ext)+".ts")
	}
	for _, e := range wire.Endings {
		all = append(all, target+e)
	}
	for _, e := range wire.Endings {
		all = append(all, target+"/index"+e)
	}
	if !slices.Contains(wire.Endings, ext) {
		all = append(all, target) // not usable; bundling reports it to the author
	}
	return all
}

func (b *bundler) load(file string) (string, error) {
	data, state, err := wire.ReadSource(b.root, file)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.File(file, state)
	b.tell() // before esbuild works on it, and may end the process
	if err != nil {
		return "", err
	}
	if b.size += len(data); b.size > maxBundle {
		return "", fmt.Errorf("the files that it is made of have more than %d bytes together, the most that is read", maxBundle)
	}
	return string(data), nil
}

// tell reports what was seen since the last time.
func (b *bundler) tell() {
	b.report(b.seen)
	b.seen = wire.Seen{}
}
