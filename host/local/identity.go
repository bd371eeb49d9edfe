package local

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host/pause"
)

const (
	idLen    = 6 // of a run's id; ids are unique within a project
	shortLen = 8 // of a digest, as a person sees it
	keyLen   = 16
)

// idAlphabet lacks what is easily taken for something else, and every vowel but
// a and e.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// newID is a run's id: short, because it is typed.
func newID() string {
	var random [idLen]byte
	_, _ = rand.Read(random[:]) // never fails; crypto/rand ends the process instead
	for i, b := range random {
		random[i] = idAlphabet[int(b)%len(idAlphabet)]
	}
	return string(random[:])
}

// validID keeps what a person types from being a path.
func validID(id string) bool {
	if id == "" || len(id) > 32 {
		return false
	}
	for i := range len(id) {
		if !strings.Contains(idAlphabet, id[i:i+1]) {
			return false
		}
	}
	return true
}

// digest is the SHA-256 of the parts, in hexadecimal. No two lists of parts are
// one text.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func short(digest string) string { return digest[:min(shortLen, len(digest))] }

// identity tells runs apart of which one may be open at a time.
func identity(root, opName, env string, params map[string]string) string {
	parts := []string{root, opName, env}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, name, params[name])
	}
	return digest(parts...)
}

const maxParam = 64 << 10

// checkParams refuses parameters that can't be variables of a step. No message
// holds a value.
func checkParams(params map[string]string) error {
	seen := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if strings.HasPrefix(name, pause.ReservedPrefix) {
			return &pause.ReservedKeyError{Key: name}
		}
		if !validParam(name) {
			return fmt.Errorf("a parameter's name is made of letters, digits, _ and - and begins with a letter; %q does not", name)
		}
		variable := paramVar(name)
		if other, twice := seen[variable]; twice {
			return fmt.Errorf("the parameters %s and %s would be one variable, %s; give one of them", other, name, variable)
		}
		seen[variable] = name
		if v := params[name]; len(v) > maxParam || strings.IndexByte(v, 0) >= 0 {
			return fmt.Errorf("the value of the parameter %s can't be a variable: it holds a NUL, or has more than %d bytes", name, maxParam)
		}
	}
	return nil
}

func validParam(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 100
}

func paramVar(name string) string { return "CHANT_PARAM_" + pause.VariableName(name) }

// variables are what the words of a line become for a step and for the Op's
// file.
func variables(env string, params map[string]string) []string {
	var vars []string
	if env != "" {
		vars = append(vars, "CHANT_ENV="+env)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		vars = append(vars, paramVar(name)+"="+params[name])
	}
	return vars
}

// quote writes a word so that the grammar of prompts reads it as it is.
func quote(word string) string {
	plain := word != ""
	for i := range len(word) {
		switch c := word[i]; c {
		case ' ', '\t', '\n', '\'', '"', '\\':
			plain = false
		}
	}
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
