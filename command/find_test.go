//go:build unix

package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tree makes a repository with a folder in it and returns both.
func tree(t *testing.T) (repository, dir string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repository = filepath.Join(base, "repo")
	dir = filepath.Join(repository, "a", "b")
	for _, d := range []string{dir, filepath.Join(repository, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return repository, dir
}

func TestFindManifest(t *testing.T) {
	repository, dir := tree(t)
	check := func(name, from, path, root, says string) {
		t.Helper()
		gotPath, gotRoot, err := FindManifest(from)
		if gotPath != path || gotRoot != root {
			t.Errorf("%s: manifest %q root %q, want %q and %q", name, gotPath, gotRoot, path, root)
		}
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: error %v, want %q", name, err, says)
		}
	}
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	top, middle := filepath.Join(repository, ManifestName), filepath.Join(repository, "a", ManifestName)

	check("none", dir, "", repository, "")
	write(t, filepath.Join(filepath.Dir(repository), ManifestName), "version: 1\n")
	check("above the repository", dir, "", repository, "")
	write(t, top, "version: 1\n")
	check("repository root", dir, top, repository, "")
	check("in the directory itself", repository, top, repository, "")
	write(t, middle, "version: 1\n")
	check("nearest", dir, middle, filepath.Dir(middle), "")

	link := filepath.Join(filepath.Dir(repository), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	check("through a link", link, middle, filepath.Dir(middle), "")

	chmod(middle, 0o666)
	check("world-writable file", dir, "", repository, "everyone may write")
	if _, err := ReadManifest(middle); err == nil {
		t.Error("a world-writable manifest is read")
	}
	chmod(middle, 0o644)
	chmod(filepath.Dir(middle), 0o777)
	check("world-writable folder", dir, "", dir, "because of the folder")
	chmod(filepath.Dir(middle), 0o755)

	if err := os.Remove(middle); err != nil {
		t.Fatal(err)
	}
	chmod(filepath.Dir(middle), 0o777)
	check("stops at a world-writable folder", dir, "", dir, top+" is not used, because the search ends before it, at the folder "+filepath.Dir(middle))
	if err := os.Rename(top, top+".away"); err != nil {
		t.Fatal(err)
	}
	check("stops at a world-writable folder, and misses nothing", dir, "", dir, "")
	if err := os.Rename(top+".away", top); err != nil {
		t.Fatal(err)
	}
	chmod(filepath.Dir(middle), 0o755)

	if err := os.Symlink(filepath.Join(filepath.Dir(repository), ManifestName), middle); err != nil {
		t.Fatal(err)
	}
	check("link out", dir, "", repository, "leads out")
	if err := os.Remove(middle); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "real.yaml"), "version: 1\n")
	if err := os.Symlink("b/real.yaml", middle); err != nil {
		t.Fatal(err)
	}
	check("link inside", dir, middle, filepath.Dir(middle), "")
	if err := os.Remove(middle); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(middle, 0o644); err != nil {
		t.Fatal(err)
	}
	check("pipe", dir, "", repository, "not a regular file")
	if _, err := ReadManifest(middle); err == nil {
		t.Error("a pipe is read as a manifest")
	}
}

func TestFindManifestOutsideARepository(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "a")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(base, ManifestName), "version: 1\n")
	if path, root, err := FindManifest(dir); path != "" || root != dir || err != nil {
		t.Errorf("%q, %q, %v: only the directory itself counts", path, root, err)
	}
	write(t, filepath.Join(dir, ManifestName), "version: 1\n")
	if path, root, err := FindManifest(dir); path != filepath.Join(dir, ManifestName) || root != dir || err != nil {
		t.Errorf("%q, %q, %v", path, root, err)
	}
	if _, _, err := FindManifest(filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory that does not exist gives no error")
	}
}

func TestNamesThatAreNearlyTheManifests(t *testing.T) {
	for _, name := range []string{
		"chant-acp.yml", ".chant-acp.yaml", ".chant-acp.yml", "chant.yaml", "chant.yml", ".chant.yml", "chant_acp.yaml", "chantacp.yml",
		"Chant-ACP.yaml", "CHANT-ACP.YML", "chant-acp.json", "chant-acp.yaml.txt", "chant-apc.yaml", "chant-acps.yml", "chants-acp.yml",
	} {
		repository, dir := tree(t)
		write(t, filepath.Join(repository, name), "version: 1\n")
		got := WhyNoManifest(dir)
		if want := filepath.Join(repository, name) + " is there, but a manifest must be called chant-acp.yaml"; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	repository, dir := tree(t)
	for _, name := range []string{
		"chant.config.ts", "chant.config.json", "chant-acp", ".chant-acp", "chart.yaml", "Chart.yaml", "chant-acp.toml", "chant.json", "README.md", "values.yaml", "compose.yml", "changes.yaml",
	} {
		write(t, filepath.Join(repository, name), "version: 1\n")
	}
	if err := os.Mkdir(filepath.Join(repository, "chant-acp.yml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := WhyNoManifest(dir); got != "" {
		t.Errorf("nothing is nearly a manifest, and yet: %s", got)
	}
}

func TestManifestsThatTheSearchDoesNotReach(t *testing.T) {
	repository, dir := tree(t)
	base := filepath.Dir(repository)
	above := filepath.Join(base, ManifestName)
	write(t, above, "version: 1\n")
	if got := WhyNoManifest(dir); !strings.Contains(got, above+" is not used, because the search ends at the root of the repository, "+repository) {
		t.Errorf("above the repository: %q", got)
	}
	if err := os.Remove(filepath.Join(repository, ".git")); err != nil {
		t.Fatal(err)
	}
	if got := WhyNoManifest(dir); !strings.Contains(got, above+" is not used, because "+dir+" is in no git repository") || !strings.Contains(got, "git init") {
		t.Errorf("outside a repository: %q", got)
	}
	if err := os.Chmod(above, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := WhyNoManifest(dir); got != "" {
		t.Errorf("one that everyone may write to is recommended: %s", got)
	}
	if got := WhyNoManifest(filepath.Join(dir, "gone")); got != "" {
		t.Errorf("no such directory: %s", got)
	}
}

func TestRefusalsSayWhyThereIsNoManifest(t *testing.T) {
	_, dir := tree(t)
	near := filepath.Join(dir, "chant-acp.yml")
	write(t, near, "version: 1\n")
	r := NewRegistry(RegistryOptions{Root: dir, Lacking: func() string { return WhyNoManifest(dir) }})
	_, err := r.Parse([]string{"deploy"}, ParseOptions{})
	if err == nil || !strings.Contains(err.Error(), near+" is there, but") {
		t.Errorf("a command that there is not: %v", err)
	}
	if help := strings.Join(strings.Fields(r.Help(nil, ParseOptions{})), " "); !strings.Contains(help, near+" is there, but") {
		t.Errorf("help does not say it:\n%s", help)
	}
}

func TestFindManifestOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	repository, dir := tree(t)
	name := filepath.Join(dir, ManifestName)
	write(t, name, "version: 1\n")
	if err := os.Chown(name, 12345, 12345); err != nil {
		t.Skip("files cannot be given away here")
	}
	if path, root, err := FindManifest(dir); path != "" || root != repository || err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("%q, %q, %v", path, root, err)
	}
	if _, err := ReadManifest(name); err == nil {
		t.Error("another user's manifest is read")
	}
}
