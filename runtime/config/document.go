package config

// Document is a configuration file's text.
type Document struct {
	path string
	text []byte
}
