package op

// FindAtMost is FindFiles with a bound that a test can reach.
var FindAtMost = findFiles
