//go:build !race

package selfcopy

const endsAtOnce = ""
