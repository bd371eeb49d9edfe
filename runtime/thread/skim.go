package thread

// skim looks at the lines up to end, where one ends, that this process has
// neither written nor looked at before: what is damaged is not gone on with.
// It takes 2 ms a MiB, a fraction of what reading takes, so that there is no
// size beyond which nobody looks.
func (l *logFile) skim(end int64) error {
	from := max(l.size, l.events)
	if end < from {
		return l.unreadable("was cut to %d bytes", end)
	}
	if end > from {
		if _, err := l.lines(from, end, func(at int64, line []byte) error {
			if !whole(line) {
				return l.unreadable("has a line at byte %d that is no event", at)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	l.size = end
	return nil
}

// whole says whether a line may be an object, without parsing it: what is in no
// string is of the characters of JSON and its brackets close at the end, and
// strings hold no control characters. Zeros, text, halves of lines and two lines
// run into one, as crashes and strangers leave them, are not whole.
func whole(line []byte) bool {
	depth, closed := 0, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		if closed || depth == 0 && c != '{' {
			return false
		}
		switch c {
		case '"':
			n := stringLen(line[i+1:])
			if n < 0 {
				return false
			}
			i += n + 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			closed = depth == 0
		case ',', ':', '.', '+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'E',
			'a', 'e', 'f', 'l', 'n', 'r', 's', 't', 'u':
		default:
			return false
		}
	}
	return closed
}

// stringLen is the length of a JSON string up to its closing quote; -1 where it
// has none, or a control character.
func stringLen(s []byte) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' { // nearly always
			continue
		}
		switch c {
		case '"':
			return i
		case '\\':
			if i++; i == len(s) || s[i] < ' ' {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}
