package configcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/config"
	"github.com/chant-acp/chant-acp/runtime/person"
)

// NewConfig is the command config, with those below it.
func NewConfig(std console.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show and change the configuration",
		Long: `The configuration is one JSON file: $CHANT_ACP_CONFIG, else
$XDG_CONFIG_HOME/chant-acp/config.json, else ~/.config/chant-acp/config.json.
None is needed. Keys are written with dots: daemon.port. For each, what counts is
the flag, else the environment, the active profile, the file, the default.`,
	}
	c.AddCommand(newConfigPath(std), newConfigList(std), newConfigGet(std), newConfigSet(std), newConfigUnset(), newConfigEdit(std))
	return c
}

// configPath is where the configuration is.
func configPath() (string, error) {
	path, err := config.Path(os.Getenv)
	switch {
	case errors.Is(err, config.ErrNoHome):
		return "", console.Exit(console.Failed, err)
	case err != nil:
		return "", console.Exit(console.Usage, err)
	}
	return path, nil
}

// writablePath is configPath for who changes it: a person, because the configuration
// says what runs unasked.
func writablePath() (string, error) {
	if person.Decides() != nil {
		return "", console.Exit(console.Refused, errors.New("nothing was changed: a person changes the configuration, and a program that chant-acp runs started this; type it in a terminal of your own"))
	}
	return configPath()
}

// loadConfig reads the configuration.
func loadConfig() (string, *config.Document, error) {
	path, err := configPath()
	if err != nil {
		return "", nil, err
	}
	d, err := config.Load(path)
	if err != nil {
		return "", nil, notDone(err)
	}
	return path, d, nil
}

// notDone is the error of a command that could not do what it was to. A broken
// file can be mended.
func notDone(err error) error {
	var broken *config.SyntaxError
	if errors.As(err, &broken) {
		err = fmt.Errorf("%w\nTo mend it: chant-acp config edit", err)
	}
	return console.Exit(console.Failed, err)
}

// completeKeys completes the first argument to a key.
func completeKeys(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, k := range config.Keys() {
			if !strings.Contains(k.Name, "<") {
				names = append(names, k.Name+"\t"+k.Summary)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func profileFlag(c *cobra.Command, to *string, usage string) {
	c.Flags().StringVar(to, "profile", "", usage)
}

func newConfigPath(std console.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the configuration is, or would be",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path, err := configPath()
			if err != nil {
				return err
			}
			fmt.Fprintln(std.Out, path)
			return nil
		},
	}
}

func newConfigList(std console.Streams) *cobra.Command {
	var profile string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "List what counts for each key, and where it comes from",
		Long: `List prints each key with the value that counts and where that comes from:
environment, profile, file or default. Secrets are not shown. What is wrong in the
file, and keys that mean nothing, are said on standard error. It exits with 1
where something can't be used.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return listConfig(std, profile, asJSON) },
	}
	profileFlag(c, &profile, "what counts with this profile")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	return c
}

func listConfig(std console.Streams, profile string, asJSON bool) error {
	_, d, err := loadConfig()
	if err != nil {
		return err
	}
	values, problems, err := d.Values(profile, os.Getenv)
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	for _, v := range values {
		printValue(std.Out, v, asJSON)
	}
	wrong := 0
	for _, p := range problems {
		if !p.Advice {
			wrong++
		}
		fmt.Fprintln(std.Err, console.Printable(p.String()))
	}
	if wrong > 0 {
		return console.Exit(console.Failed, fmt.Errorf("%s can't be used; what counts instead is in the list", brief.Plural(wrong, "value")))
	}
	return nil
}

func printValue(out io.Writer, v config.Value, asJSON bool) {
	value := v.JSON
	if v.Key.Secret && value != nil {
		value = []byte(`"(not shown)"`)
	}
	if asJSON {
		console.PrintJSON(out, struct {
			Key   string          `json:"key"`
			Value json.RawMessage `json:"value,omitempty"`
			From  string          `json:"from,omitempty"`
		}{v.Name, value, v.From})
		return
	}
	text := "-"
	if value != nil {
		text = valueLine(value)
	}
	fmt.Fprintf(out, "%-24s %-24s %s\n", v.Name, text, v.From)
}

// valueLine is a value as it may stand in a line on a terminal.
func valueLine(value []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return console.Printable(string(value))
	}
	return console.Printable(bare(b.Bytes()))
}

// bare is a text without its quotation marks, and any other value as it is.
func bare(value []byte) string {
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return text
	}
	return string(value)
}

func newConfigGet(std console.Streams) *cobra.Command {
	var profile string
	c := &cobra.Command{
		Use:   "get [flags] KEY",
		Short: "Print what the file says for a key",
		Long: `Get prints a text, a number, true or false as it is, and anything else as JSON.
Where the file does not say it, it exits with 1. What counts, with defaults and
the environment, is in "chant-acp config list".`,
		Example:           "  chant-acp config get daemon.port\n  chant-acp config get adapters",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			path, d, err := loadConfig()
			if err != nil {
				return err
			}
			value, ok, err := d.Get(profile, args[0])
			if err == nil && !ok {
				err = notSet(path, d, args[0])
			}
			if err != nil {
				return console.Exit(console.Failed, err)
			}
			if value[0] == '{' || value[0] == '[' {
				var b bytes.Buffer
				_ = json.Indent(&b, value, "", "  ") // parsed before, so it is valid
				value = b.Bytes()
			}
			fmt.Fprintln(std.Out, bare(value))
			return nil
		},
	}
	profileFlag(c, &profile, "look in this profile first")
	return c
}

// notSet says that the file does not say something, and what counts or was meant.
func notSet(path string, d *config.Document, key string) error {
	k, section := config.Known(key)
	switch near := d.Nearest(key); {
	case section:
		return fmt.Errorf("nothing of %s is set in %s", key, path)
	case k == nil && len(near) > 0:
		return fmt.Errorf("there is no key %s in %s; did you mean %s?", key, path, strings.Join(near, " or "))
	case k == nil:
		return fmt.Errorf(`there is no key %s in %s; "chant-acp config list" shows those there are`, key, path)
	case k.Default != "":
		return fmt.Errorf("%s is not set in %s; its default is %s", key, path, k.Default)
	}
	return fmt.Errorf("%s is not set in %s", key, path)
}

func newConfigSet(std console.Streams) *cobra.Command {
	var profile string
	c := &cobra.Command{
		Use:   "set [flags] KEY VALUE",
		Short: "Set a key in the file",
		Long: `Set takes JSON; what is no JSON, or of the wrong type as JSON, is taken as a text.
A value that the key does not take changes nothing. A key that chant-acp does not
know is set with a warning. Everything else in the file stays as it is.`,
		Example:           "  chant-acp config set agent.output full\n  chant-acp config set --profile work daemon.port 18791\n" + `  chant-acp config set adapters.gemini.command '["gemini", "--acp"]'`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeKeys,
		RunE:              func(_ *cobra.Command, args []string) error { return setConfig(std, profile, args[0], args[1]) },
	}
	profileFlag(c, &profile, "set it in this profile; it is made if need be")
	return c
}

func setConfig(std console.Streams, profile, key, value string) error {
	path, err := writablePath()
	if err != nil {
		return err
	}
	var after *config.Document
	err = config.Update(path, func(d *config.Document) error {
		after = d
		err := d.Set(profile, key, json.RawMessage(value))
		if err != nil {
			text, _ := json.Marshal(value) // a text always encodes
			if d.Set(profile, key, text) == nil {
				return nil
			}
			if !json.Valid([]byte(value)) { // what is wrong with it as a text is what counts
				err = d.Set(profile, key, text)
			}
		}
		return err
	})
	if err != nil {
		return notDone(err)
	}
	warnOfSet(std, after, profile, key)
	return nil
}

// warnOfSet says where a key that was set does not count.
func warnOfSet(std console.Streams, d *config.Document, profile, key string) {
	if k, section := config.Known(key); k == nil && !section {
		meant := ""
		if near := (&config.Document{}).Nearest(key); len(near) > 0 {
			meant = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		fmt.Fprintf(std.Err, "chant-acp: warning: it was set, but %s means nothing to chant-acp%s\n", console.Printable(key), meant)
		return
	}
	if k, _ := config.Known(key); k != nil && k.Readers == "" {
		fmt.Fprintf(std.Err, "chant-acp: it was set, and does nothing: nothing reads %s yet\n", k.Name)
	}
	values, _, err := d.Values(profile, os.Getenv)
	if err != nil {
		return
	}
	for _, v := range values {
		switch {
		case v.Name != key:
		case v.From == config.FromEnvironment:
			fmt.Fprintf(std.Err, "chant-acp: it was set, but the environment variable %s counts here\n", v.Key.Variable())
		case v.From == config.FromProfile && profile == "":
			fmt.Fprintf(std.Err, "chant-acp: it was set, but the active profile says otherwise, and counts\n")
		}
	}
}

func newConfigUnset() *cobra.Command {
	var profile string
	c := &cobra.Command{
		Use:               "unset [flags] KEY",
		Short:             "Take a key out of the file",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeKeys,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := writablePath()
			if err != nil {
				return err
			}
			err = config.Update(path, func(d *config.Document) error {
				was, err := d.Unset(profile, args[0])
				if err == nil && !was {
					err = notSet(path, d, args[0])
				}
				return err
			})
			if err != nil {
				return notDone(err)
			}
			return nil
		},
	}
	profileFlag(c, &profile, "take it out of this profile")
	return c
}
