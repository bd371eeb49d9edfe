package shape

import "testing"

// BenchmarkShaperMiddle is the rate at which output that is not shown is taken.
func BenchmarkShaperMiddle(b *testing.B) {
	s := New(Config{Emit: func(string) error { return nil }})
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
	for name, mode := range map[string]Mode{"text": Text, "terminal": Terminal} {
		b.Run(name, func(b *testing.B) {
			s := New(Config{Mode: mode, Full: true, Emit: func(string) error { return nil }})
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
