package subject

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
)

// Limits of a folder of code. What is beyond does not count, which its part says.
const (
	maxFolderFiles = 5000
	maxFolderBytes = 64 << 20
)

// code adds a folder that a program loads code from, such as a package, as one
// part: all regular files in it, by their paths, sizes and contents. Other packages
// that lie in it do not count, and neither do links.
func (m *maker) code(folder string) {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return // the program says that it is not there
	}
	rel, inside := m.below(real)
	if !inside || rel == "." {
		return
	}
	rel = filepath.ToSlash(rel)
	key := "code " + rel
	p, known := m.read[key]
	if !known {
		p = m.hashFolder(rel)
		m.read[key] = p
	}
	p.Kind, p.Name, p.Path = KindProgram, rel, real
	m.parts = append(m.parts, p)
}

func (m *maker) hashFolder(rel string) Part {
	h := sha256.New()
	var p Part
	files := 0
	err := fs.WalkDir(m.folder.FS(), rel, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != rel && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		file, err := m.hash(filepath.FromSlash(name), maxFolderBytes-p.Size)
		if err != nil {
			return err
		}
		if files++; files > maxFolderFiles || file.Lacks != "" {
			p.Lacks = "larger than is looked at"
			return fs.SkipAll
		}
		fmt.Fprintf(h, "%d;%s%d;%s", len(name), path.Clean(name), file.Size, file.SHA256)
		p.Size += file.Size
		if file.Changed.After(p.Changed) {
			p.Changed = file.Changed
		}
		return nil
	})
	if err != nil {
		return Part{Lacks: "not readable"}
	}
	p.SHA256 = hex.EncodeToString(h.Sum(nil))
	return p
}
