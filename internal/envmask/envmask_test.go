package envmask_test

import (
	"testing"

	"github.com/chant-acp/chant-acp/internal/envmask"
)

func TestMask(t *testing.T) {
	env := []string{"SHORT=1234567", "TOKEN=12345678", "LONGER=0123456789", "B=same-value", "A=same-value", "EMPTY=", "nonsense", "QUOTED=a\"b\\c\nd-e"}
	m := envmask.New(env)
	for _, c := range []struct{ text, want string }{
		{"nothing", "nothing"},
		{"1234567", "1234567"},
		{"x12345678y12345678", "x${TOKEN}y${TOKEN}"},
		{"0123456789", "${LONGER}"},
		{"same-value", "${A}"},
		{"a\"b\\c\nd-e", "${QUOTED}"},
	} {
		if got := m.Text(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"b":"12345678","a":["a\"b\\c\nd-e",1.50,12345678,null]}`, `{"a":["${QUOTED}",1.50,"${TOKEN}",null],"b":"${TOKEN}"}`},
		{`{"12345678":true}`, `{"${TOKEN}":true}`},
		{`"\u0031234567\u0038"`, `"${TOKEN}"`},
		{`not 12345678`, `not ${TOKEN}`},
		{``, ``},
	} {
		if got := string(m.JSON([]byte(c.text))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
	never := envmask.New([]string{"PWD=/a/longer/path", "OLDPWD=/a/longer/path2", "_=/usr/bin/something", "HOME=/home/somebody", "SHELL=/usr/bin/bash"})
	for _, text := range []string{"/a/longer/path2", "/usr/bin/something", "/home/somebody", "/usr/bin/bash"} {
		if got := never.Text(text); got != text {
			t.Errorf("%s: got %s", text, got)
		}
	}
	two := []string{"READ=read-value", "OTHER=other-value", "HOME=/home/somebody"}
	for what, c := range map[string]struct {
		mask *envmask.Mask
		want string
	}{
		"all":    {envmask.New(two), "${READ} ${OTHER} /home/somebody"},
		"one":    {envmask.Only(two, []string{"READ", "HOME"}), "${READ} other-value /home/somebody"},
		"none":   {envmask.Only(two, nil), "read-value other-value /home/somebody"},
		"beside": {envmask.Beside(two, "a read-value", nil), "read-value ${OTHER} /home/somebody"},
		"made":   {envmask.Beside(two, "a read-value, an other-value", []string{"READ"}), "${READ} other-value /home/somebody"},
	} {
		if got := c.mask.Text("read-value other-value /home/somebody"); got != c.want {
			t.Errorf("%s: got %s, want %s", what, got, c.want)
		}
	}
	for _, none := range []*envmask.Mask{nil, envmask.New(nil), new(envmask.Mask)} {
		if got := none.Text("12345678"); got != "12345678" {
			t.Errorf("got %q", got)
		}
		if got := string(none.JSON([]byte(`{"b":1,"a":2}`))); got != `{"b":1,"a":2}` && got != `{"a":2,"b":1}` {
			t.Errorf("got %s", got)
		}
	}
}
