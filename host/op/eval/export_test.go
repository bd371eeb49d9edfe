package eval

// StartWalled is for tests.
var StartWalled = startWalled
