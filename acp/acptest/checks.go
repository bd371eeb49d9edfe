package acptest

import "slices"

// checks are all rows, in the order in which an agent's author would fix them.
func checks() []check {
	return slices.Concat(
		connectionChecks(),
		framingChecks(),
		paramChecks(),
		turnChecks(),
		permissionChecks(),
		sessionChecks(),
		outputChecks(),
		leaveChecks(),
	)
}
