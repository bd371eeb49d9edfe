package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/internal/near"
)

// maxEntries bounds how much of a folder is looked through for a name.
const maxEntries = 4096

// WhyNoManifest says, for a person, why a session in dir has no manifest where
// [FindManifest] found none without an error: a file has nearly the name of one,
// or there is one that the search does not reach. It is a clause without a full
// stop, and "" where there is nothing to say.
func WhyNoManifest(dir string) string {
	at, err := filepath.EvalSymlinks(dir)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil {
		return ""
	}
	folders, repository := searched(at)
	for _, folder := range folders {
		if name := nearManifest(folder); name != "" {
			return fmt.Sprintf("%s is there, but a manifest must be called %s; rename it if it is meant as one", name, ManifestName)
		}
	}
	name := manifestAbove(folders[len(folders)-1])
	switch {
	case name == "":
		return ""
	case repository == "":
		return fmt.Sprintf("%s is not used, because %s is in no git repository, and outside of one only the directory itself counts; "+
			"begin in %s, or run git init there", name, at, filepath.Dir(name))
	}
	return fmt.Sprintf("%s is not used, because the search ends at the root of the repository, %s; put a manifest there, or begin in %s", name, repository, filepath.Dir(name))
}

// manifestAbove finds the nearest manifest in the folders above one, among those
// that could be trusted there.
func manifestAbove(folder string) string {
	for above := filepath.Dir(folder); above != folder; folder, above = above, filepath.Dir(above) {
		start, err := os.Stat(above)
		if err != nil || distrustFolder(above, start) != "" {
			continue
		}
		if name := filepath.Join(above, ManifestName); there(name) && distrustManifest(name, start) == "" {
			return name
		}
	}
	return ""
}

// nearManifest finds a file in the folder whose name was probably meant to be a
// manifest's.
func nearManifest(folder string) string {
	f, err := os.Open(folder)
	if err != nil {
		return ""
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxEntries) // what could be read is looked at
	for _, e := range entries {
		if e.Type()&fs.ModeDir == 0 && isNearManifest(e.Name()) {
			return filepath.Join(folder, e.Name())
		}
	}
	return ""
}

// isNearManifest says whether a file's name is a manifest's in another case, with
// another ending, a dot before it, other separators or a slip of the pen.
func isNearManifest(name string) bool {
	stem := strings.TrimSuffix(strings.ToLower(name), ".txt")
	if stem == ManifestName {
		return name != ManifestName
	}
	ext := filepath.Ext(stem)
	stem = strings.TrimPrefix(strings.TrimSuffix(stem, ext), ".")
	meant := strings.TrimSuffix(ManifestName, filepath.Ext(ManifestName))
	switch ext {
	case ".yaml", ".yml":
		return stem == "chant" || near.Distance(stem, meant, 1) <= 1
	case ".json":
		return stem == meant
	}
	return false
}
