package envfile

import (
	"maps"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want map[string]int
		err  string
	}{
		"services":       {"# service instances\nweb 2\n\nworker\t1\n", map[string]int{"web": 2, "worker": 1}, ""},
		"nothing":        {"", map[string]int{}, ""},
		"no number":      {"web\n", nil, `line 1: want a service and a number, got "web"`},
		"not a number":   {"web many\n", nil, `line 1: "many" is no number of instances`},
		"none":           {"web 0\n", nil, `line 1: "0" is no number of instances`},
		"the same twice": {"web 1\nweb 2\n", nil, "line 2: web stands here twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(strings.NewReader(test.text))
			if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
