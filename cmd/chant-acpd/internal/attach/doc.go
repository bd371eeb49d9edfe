// Package attach puts this process's terminal in the place of one at a gateway:
// what is typed goes there, what is printed comes here, and whatever happens the
// terminal is left as it was found.
//
// Begin at [Run], which takes a [Place]: a terminal somewhere else.
package attach
