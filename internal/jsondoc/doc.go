// Package jsondoc reads JSON documents with the place of every value, and edits them
// by place: what an edit is not about stays as it was, byte for byte.
//
// [Parse] takes a file's text and gives a [Document], a tree of [Value]s, or an
// [Error] that says where and why it is none. [Document.Insert], [Document.Replace] and
// [Document.Remove] give the text with one change, written as the text around it is.
//
// The grammar is github.com/tailscale/hujson's: JSON (RFC 8259), with comments and
// trailing commas where the [Rules] let them be. What that package leaves to others is
// here: a bound on nesting, keys that stand twice, and sentences for people.
package jsondoc
