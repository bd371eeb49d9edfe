// Package trust says whether another user could have put something into the file
// system that decides what runs here.
package trust
