package allow

import "strings"

// maxLines bounds what is compared: more are told of as a whole.
const maxLines = 2000

// difference shows two texts as one, a line each: "- " before what is gone, "+ "
// before what is new, "  " before what is next to either; "" where they are the
// same.
func difference(was, is string) string {
	if was == is {
		return ""
	}
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	if len(a) > maxLines || len(b) > maxLines {
		return ""
	}
	// common[i][j] is the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	changed := map[int]bool{}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			changed[len(lines)] = true
			lines = append(lines, "- "+a[i])
			i++
		default:
			changed[len(lines)] = true
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	var near []string
	for n, line := range lines {
		if changed[n] || changed[n-1] || changed[n+1] {
			near = append(near, line)
		}
	}
	return strings.Join(near, "\n")
}
