package command

import "fmt"

// Lacking warns of what the manifest names and this machine does not have, so
// that a command could not run: its program, and its folder (cwd). root is the
// project root; find looks for a program as it is when the command runs, with
// the variables ("NAME=value") that the manifest sets for it, and its error says
// what to do.
func (m *Manifest) Lacking(root string, find func(program string, vars []string) error) []Diagnostic {
	w := &warner{file: m.file}
	seen := make(map[string]int) // the line that says what is missing in full
	for _, s := range m.commands {
		if reason := s.checkFolder(root); reason != "" {
			w.at(s.folder.line, s.folder.column, "%s cannot run here: %s", s.name, reason)
		}
		if reason := s.checkProgram(root); reason != "" {
			w.at(s.program.line, s.program.column, "%s cannot run here: %s", s.name, reason)
			continue
		}
		err := find(argv0(s), variableList(s.env, ""))
		if err == nil {
			continue
		}
		reason := err.Error()
		if line := seen[reason]; line > 0 {
			reason = fmt.Sprintf("see line %d about its program %q", line, argv0(s))
		} else {
			seen[reason] = s.program.line
		}
		w.at(s.program.line, s.program.column, "%s cannot run here: %s", s.name, reason)
	}
	sortDiagnostics(w.found)
	return w.found
}
