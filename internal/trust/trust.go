// Package trust says whether another user could have put something into the file
// system that decides what runs here.
//
// [Reason] takes what is known of a file and says in words why it is not used, "" where it is.
package trust
