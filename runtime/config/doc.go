// Package config reads and edits the configuration: one JSON file that a person
// may edit by hand, with profiles.
//
// A knob's value is, in this order, what a flag says (the commands lay flags on
// top), the environment, the active profile, the file, and its default. All
// knobs stand in one table, [Keys], which types, checks, the JSON Schema and
// the documentation are made of.
//
// A [Document] is a file's text. An edit changes the bytes that it is about and
// leaves all others, so that unknown keys, their order, numbers of any precision
// and the file's layout survive. [Update] excludes other writers from reading
// to replacing.
package config
