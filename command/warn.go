package command

func warnings(m *Manifest) []Diagnostic { return nil }
