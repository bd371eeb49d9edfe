package gitstate

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzIndex reads indexes that git wrote, and what becomes of them.
func FuzzIndex(f *testing.F) {
	for _, name := range []string{"v2", "v3", "v4", "sparse", "conflict", "sha256"} {
		data, err := os.ReadFile(filepath.Join("testdata", "index", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, name == "sha256")
	}
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		h := sha1Names
		if long {
			h = sha256Names
		}
		entries, err := parseIndex(data, h)
		if err != nil {
			return
		}
		before := ""
		for _, e := range entries {
			if len(e.id) != h.size || e.name < before || strings.HasPrefix(e.name, "/") || strings.Contains("/"+e.name+"/", "/../") {
				t.Fatalf("%q after %q", e.name, before)
			}
			before = e.name
		}
		if id, ok := treeID(h, entries, ""); ok && len(id) != h.size {
			t.Errorf("a tree's id is %x", id)
		}
	})
}

// The indexes in testdata hold these, by `git ls-files --stage` and `git write-tree`.
func TestIndex(t *testing.T) {
	for _, c := range []struct{ name, files, tree string }{
		{"v2", "a.txt dir-x dir/b.txt dir/sub/c.txt link", "397f3e35146a71bf564ecc5ad1a16dbf8bdf1493"},
		{"v3", "a.txt dir-x dir/b.txt dir/sub/c.txt link new", ""},
		{"v4", "a.txt dir-x dir/b.txt dir/sub/c.txt link", "397f3e35146a71bf564ecc5ad1a16dbf8bdf1493"},
		{"sparse", "a.txt dir-x dir/ link", "397f3e35146a71bf564ecc5ad1a16dbf8bdf1493"},
		{"conflict", "a.txt a.txt a.txt dir-x dir/b.txt dir/sub/c.txt link", ""},
		{"sha256", "a.txt dir-x dir/b.txt dir/sub/c.txt link", "4e10c39a16a7108de0439e37ead22ae74f58fd045eec9e9f5206d0c0c90da338"},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "index", c.name))
		if err != nil {
			t.Fatal(err)
		}
		h := sha1Names
		if c.name == "sha256" {
			h = sha256Names
		}
		entries, err := parseIndex(data, h)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.name)
		}
		if got := strings.Join(names, " "); got != c.files {
			t.Errorf("%s holds %q, want %q", c.name, got, c.files)
		}
		if id, ok := treeID(h, entries, ""); c.tree != "" && (!ok || hex.EncodeToString(id) != c.tree) {
			t.Errorf("%s makes the tree %x, want %s", c.name, id, c.tree)
		}
		for n := range data { // each prefix, and each damage of a length
			_, _ = parseIndex(data[:n], h)
			damaged := bytes.Clone(data)
			damaged[n] ^= 0xff
			_, _ = parseIndex(damaged, h)
		}
	}
}

func TestPaths(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a/b": true, "a/": true, ".gitignore": true, "..a": true,
		"": false, "/a": false, "a//b": false, "../a": false, "a/../b": false, "./a": false, ".git/config": false, "a/.GIT/hooks": false,
		strings.Repeat("a", maxPath+1): false, strings.Repeat("a/", maxDepth+1) + "a": false,
	} {
		if got := isPath(name); got != want {
			t.Errorf("%.20q: got %t", name, got)
		}
	}
}

// Cases of "Syntax" in git-config(1).
func TestConfig(t *testing.T) {
	for _, c := range []struct{ text, key, want string }{
		{"[core]\n\tbare = false\n", "core.bare", "false"},
		{"[CORE] Bare=yes", "core.bare", "yes"},
		{"[core]\nbare", "core.bare", "true"},
		{"[core]\nbare # comment\n", "core.bare", "true"},
		{"[core]\nbare =\n", "core.bare", ""},
		{"[a \"B c\"]\nd = e f  ; comment", "a.B c.d", "e f"},
		{"[a \"q\\\"\\\\\"]\nd=1", "a.q\"\\.d", "1"},
		{"[a]\nb = \" x # y \" ", "a.b", " x # y "},
		{"[a]\r\nb = x\\\r\ny\r\n", "a.b", "xy"},
		{"[a]\nb = \\t\\n\\\"\\\\", "a.b", "\t\n\"\\"},
		{"[a]\nb = 1\nb = 2", "a.b", "2"},
		{"\ufeff; x\n[a]b=1", "a.b", "1"},
	} {
		got, err := parseConfig(c.text)
		if value, ok := got.get(c.key); err != nil || !ok || value != c.want {
			t.Errorf("%q: got %q in %q, %v", c.text, value, got.values, err)
		}
	}
	for _, text := range []string{"a = 1", "[a", "[a \"b]", "[a]\nb = \"x", "[a]\nb = \\x", "[a]\nb c", "[]", "[a]\n= 1", "[a]\nb = x\\"} {
		if got, err := parseConfig(text); err == nil {
			t.Errorf("%q: got %q", text, got.values)
		}
	}
	for text, includes := range map[string]bool{"[include]\npath=x": true, "[includeIf \"gitdir:x\"]\npath=x": true, "[included]\npath=x": false} {
		if got, err := parseConfig(text); err != nil || got.includes != includes {
			t.Errorf("%q: got %t, %v", text, got.includes, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("[core]\n\tbare = false ; no\n[a \"b\\\"\"] c\nd = \"x\\n\" y\\\nz")
	f.Add("[include]\npath = x")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseConfig(text) })
}

// The numbers are those of "Deltified representation" in gitformat-pack(5).
func TestDelta(t *testing.T) {
	source := []byte("0123456789")
	for _, c := range []struct{ delta, want string }{
		{"\x0a\x04\x91\x02\x03\x01x", "234x"},
		{"\x0a\x03\x90\x03", "012"},
		{"\x0a\x05\x91\x02\x03\x01x", ""},    // shorter than it says
		{"\x0a\x03\x91\x02\x03\x01x", ""},    // longer
		{"\x09\x04\x91\x02\x03\x01x", ""},    // for another source
		{"\x0a\x04\x91\x08\x03\x01x", ""},    // beyond the source
		{"\x0a\x04\x80", ""},                 // 64 KiB of ten bytes
		{"\x0a\x04\x00", ""},                 // reserved
		{"\x0a\x04\x05x", ""},                // cut short
		{"\x0a\xff\xff\xff\xff\xff\xff", ""}, // a size without an end
		{"", ""},
	} {
		got, err := applyDelta(source, []byte(c.delta))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q, %v", c.delta, got, err)
		}
	}
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("0123456789"), []byte("\x0a\x04\x91\x02\x03\x01x"))
	f.Fuzz(func(t *testing.T, source, delta []byte) {
		if out, err := applyDelta(source, delta); err == nil && len(out) > maxCommit {
			t.Errorf("%d bytes", len(out))
		}
	})
}
