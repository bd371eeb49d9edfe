package config

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/shlex"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
	"github.com/chant-acp/chant-acp/internal/origin"
)

// Expects says what the key's values are, as in "daemon.port must be ...".
func (k *Key) Expects() string {
	switch k.Type {
	case TypeChoice:
		return "one of " + k.choices()
	case TypePath:
		return "an absolute path, or one that begins with ~/"
	case TypeBool:
		return "true or false"
	case TypeInteger:
		if k.Min == k.Max {
			return strconv.FormatInt(k.Min, 10)
		}
		return fmt.Sprintf("a whole number from %d to %d", k.Min, k.Max)
	case TypeDuration:
		return "a duration such as 90s, 10m or 1h30m"
	case TypeSize:
		return "a number of bytes, or text such as 64 MiB (KiB, MiB, GiB, TiB)"
	case TypeList:
		return "a list of texts, such as " + k.Example
	case TypeMap:
		return "an object of texts, such as " + k.Example
	case TypeCommand:
		return "a list of texts, or one text that is split into words without a shell, such as " + k.Example
	}
	return "text"
}

// complain says that a value is not what is expected; is describes it.
func (k *Key) complain(is string) string {
	if k.Secret {
		is = "something else"
	}
	return fmt.Sprintf("must be %s, and is %s", k.Expects(), is)
}

// read makes a value of the file one of the key's type: string, bool, int64,
// time.Duration, []string or map[string]string; or it says what is wrong.
func (k *Key) read(n *jsondoc.Value) (value any, wrong string) {
	switch {
	case k.Type == TypeBool && (n.Kind == 't' || n.Kind == 'f'):
		return n.Kind == 't', ""
	case (k.Type == TypeInteger || k.Type == TypeSize) && n.Kind == '0':
		raw := string(n.Text)
		if v, ok := wholeNumber(raw); ok && v >= k.Min && v <= k.Max {
			return v, ""
		}
		return nil, k.complain(raw)
	case (k.Type == TypeList || k.Type == TypeCommand) && n.Kind == '[':
		return k.readList(n)
	case k.Type == TypeMap && n.Kind == '{':
		return k.readMap(n)
	case n.Kind == '"' && k.Type != TypeBool && k.Type != TypeInteger && k.Type != TypeList && k.Type != TypeMap:
		return k.parse(n.String())
	}
	return nil, k.complain(describe(n))
}

func (k *Key) readList(n *jsondoc.Value) (any, string) {
	list := make([]string, 0, len(n.Items))
	for i := range n.Items {
		if n.Items[i].Kind != '"' {
			return nil, k.complain("one with " + describe(&n.Items[i]) + " in it")
		}
		list = append(list, n.Items[i].String())
	}
	return k.checkList(list)
}

func (k *Key) checkList(list []string) (any, string) {
	if k.Type == TypeCommand && (len(list) == 0 || list[0] == "") {
		return nil, "must begin with the program to run, and is empty"
	}
	return list, ""
}

func (k *Key) readMap(n *jsondoc.Value) (any, string) {
	m := make(map[string]string, len(n.Members))
	for i := range n.Members {
		name, v := n.Members[i].Name, &n.Members[i].Value
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Sprintf("has the name %q, which no variable can have", name)
		}
		if why := origin.Reserved(name); why != "" {
			return nil, fmt.Sprintf("sets %s, and %s", name, why)
		}
		if v.Kind != '"' {
			return nil, k.complain("one with " + describe(v) + " for " + name)
		}
		m[name] = v.String()
	}
	return m, ""
}

// describe is a value in a sentence.
func describe(n *jsondoc.Value) string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	const most = 60
	if len(n.Text) > most {
		return "a long text"
	}
	return string(n.Text)
}

// wholeNumber reads a JSON number that is one; 1.0 and 1e3 are, too.
func wholeNumber(raw string) (int64, bool) {
	if v, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return v, true
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return 0, false
	}
	return int64(f), true
}

// parse makes a value of words: a string of the file, a variable of the
// environment, or a default.
func (k *Key) parse(s string) (value any, wrong string) {
	ok := true
	switch k.Type {
	case TypeText:
		value = s
	case TypeChoice:
		value, ok = s, k.takes(s)
	case TypePath:
		value, ok = s, filepath.IsAbs(s) || strings.HasPrefix(s, "~/")
	case TypeBool:
		value, ok = s == "true" || s == "1", s == "true" || s == "false" || s == "1" || s == "0"
	case TypeInteger:
		v, err := strconv.ParseInt(s, 10, 64)
		value, ok = v, err == nil && v >= k.Min && v <= k.Max
	case TypeDuration:
		v, err := time.ParseDuration(s)
		value, ok = v, err == nil && v >= 0 && !strings.ContainsAny(s, "+-")
	case TypeSize:
		v, valid := parseSize(s)
		value, ok = v, valid && v >= k.Min && v <= k.Max
	case TypeList:
		return k.parseList(s)
	case TypeCommand:
		words, err := shlex.Split(s)
		if err != nil {
			return nil, fmt.Sprintf("can't be split into a program and its arguments: %v", err)
		}
		return k.checkList(words)
	case TypeMap:
		ok = false
	}
	if !ok {
		return nil, k.complain(strconv.Quote(s))
	}
	return value, ""
}

// parseList reads a JSON list, or texts with commas between them.
func (k *Key) parseList(s string) (any, string) {
	var list []string
	if !strings.HasPrefix(s, "[") {
		list = strings.Split(s, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
	} else if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil, k.complain(strconv.Quote(s))
	}
	return k.checkList(list)
}

// parseSize reads 64 MiB, 64MiB or 67108864.
func parseSize(s string) (int64, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, false
	}
	shift := 0
	switch strings.TrimPrefix(s[end:], " ") {
	case "":
	case "KiB":
		shift = 10
	case "MiB":
		shift = 20
	case "GiB":
		shift = 30
	case "TiB":
		shift = 40
	default:
		return 0, false
	}
	if n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, s[end:] != " "
}

// assign puts a value where field, a pointer, leads.
func assign(field, value any) {
	switch to := field.(type) {
	case *string:
		*to = value.(string)
	case *bool:
		*to = value.(bool)
	case *int:
		*to = int(value.(int64))
	case *int64:
		*to = value.(int64)
	case *time.Duration:
		*to = value.(time.Duration)
	case *[]string:
		*to = value.([]string)
	case *map[string]string:
		*to = value.(map[string]string)
	}
}
