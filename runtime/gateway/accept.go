package gateway

import (
	"strconv"
	"strings"
)

// accepts says whether an Accept header allows a media type without parameters:
// RFC 9110, section 12.5.1. The most specific range counts, and q=0 excludes. Where
// there is no header, anything is accepted. Parameters other than q are passed
// over, and so is what can't be read.
func accepts(header []string, media string) bool {
	family, _, _ := strings.Cut(media, "/")
	best, accepted, ranges := 0, false, 0
	for element := range strings.SplitSeq(strings.Join(header, ","), ",") {
		parts := strings.Split(element, ";")
		name := strings.ToLower(strings.TrimSpace(parts[0]))
		if name == "" {
			continue
		}
		ranges++
		specific := 0
		switch name {
		case media:
			specific = 3
		case family + "/*":
			specific = 2
		case "*/*":
			specific = 1
		}
		if specific > 0 && specific >= best {
			acceptable := quality(parts[1:]) > 0
			accepted = acceptable || accepted && specific == best
			best = specific
		}
	}
	return ranges == 0 || accepted
}

// quality is the weight among the parameters of a media range, 1 where there is
// none.
func quality(params []string) float64 {
	for _, p := range params {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return q
		}
	}
	return 1
}
