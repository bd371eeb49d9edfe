//go:build !race

package acpd

const endsAtOnce = ""
