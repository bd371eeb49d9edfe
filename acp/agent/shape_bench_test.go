package agent

import "testing"

// BenchmarkShaperMiddle is the rate at which output that is not shown is taken.
func BenchmarkShaperMiddle(b *testing.B) {
	s := newShaper(shaperConfig{Emit: func(string) error { return nil }})
	chunk := numbered(2621, 100)
	s.Write(chunk)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		s.Write(chunk)
	}
	s.Finish()
}

// BenchmarkShaperShown is the rate at which output is shown.
func BenchmarkShaperShown(b *testing.B) {
	for name, mode := range map[string]shapeMode{"text": shapeText, "terminal": shapeTerminal} {
		b.Run(name, func(b *testing.B) {
			s := newShaper(shaperConfig{Mode: mode, Full: true, Emit: func(string) error { return nil }})
			chunk := numbered(320, 100)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				s.Write(chunk)
			}
			s.Finish()
		})
	}
}
