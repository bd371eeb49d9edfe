// Package house holds, in its tests, the rules of the house that no compiler knows:
// who may import whom, what is linked, and that the documents say what is so.
package house
