package setup

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// The two Neovim plug-ins, each reachable by its own name.
const (
	codecompanion Client = "codecompanion"
	avante        Client = "avante"
)

// targets is built on demand: only the setup subcommand needs it.
func targets() []*Target {
	return []*Target{
		jsonTarget(Zed, "Zed", []string{"zed-editor"}, &settings{
			file: zedFile, keys: []string{"agent_servers", "chant"}, entry: zedEntry, fixed: field{"type", "custom"}, indent: "  ",
			note: "Zed reads it at once; open the agent panel and choose chant. A remote project needs the binary at this path on the remote host.",
		}),
		jsonTarget(JetBrains, "JetBrains IDEs", []string{"idea", "intellij", "goland", "pycharm", "webstorm", "clion", "rider", "rustrover", "phpstorm", "rubymine"}, &settings{
			file: jetbrainsFile, keys: []string{"agent_servers", "chant"}, entry: commandEntry, indent: "  ", strict: true,
			note: "The IDE reads it at once; choose chant in AI Chat. Agents do not run where the IDE works inside WSL.",
		}),
		{
			client: Emacs, title: "Emacs", aliases: []string{"agent-shell"}, snippet: emacsSnippet, where: emacsWhere,
			printed: "an Emacs init file is a program, which cannot be edited without understanding it",
		},
		{
			client: Neovim, title: "Neovim", aliases: []string{"nvim"}, printed: luaPrinted, where: neovimWhere,
			snippet: func(o Options) string {
				return "-- codecompanion.nvim:\n" + codecompanionSnippet(o) + "\n-- avante.nvim:\n" + avanteSnippet(o)
			},
		},
		{client: codecompanion, title: "codecompanion.nvim", aliases: []string{"codecompanion.nvim"}, printed: luaPrinted, where: neovimWhere, snippet: codecompanionSnippet},
		{client: avante, title: "avante.nvim", aliases: []string{"avante.nvim"}, printed: luaPrinted, where: neovimWhere, snippet: avanteSnippet},
		jsonTarget(VSCode, "VS Code", []string{"code", "vs-code", "vscode-acp", "visual-studio-code"}, &settings{
			file: vscodeFile, keys: []string{"acp.agents", "Chant"}, entry: commandEntry, indent: "    ",
			note: "It is for the extension formulahendry.acp-client (\"ACP Client\"); choose Chant in its view.",
		}),
		jsonTarget(ACPX, "acpx", nil, &settings{
			file: acpxFile, keys: []string{"agents", "chant"}, entry: acpxEntry, indent: "  ", strict: true, argv: true,
			note: "Then: acpx chant exec 'help'",
		}),
		{
			client: Fountain, title: "fountain", snippet: fountainSnippet, where: fountainWhere,
			printed: "fountain keeps its agents in its own database",
		},
	}
}

const luaPrinted = "a Neovim configuration is a program, which cannot be edited without understanding it"

// settings is a client's JSON settings file, and our entry in it.
type settings struct {
	file  func(Options) (string, error)
	keys  []string             // the path of our entry
	entry func(Options) object // a whole new entry
	// fixed is a key the entry must have with this very value; the zero
	// field for none.
	fixed  field
	indent string // of a new file
	strict bool   // the client reads plain JSON, without comments
	argv   bool   // the entry is acpx's: argv, or a legacy command line
	note   string // what to know, for a person
}

func jsonTarget(client Client, title string, aliases []string, s *settings) *Target {
	return &Target{
		client: client, title: title, aliases: aliases, settings: s,
		snippet: func(o Options) string {
			return jsondoc.Lines(asJSON(nest(s.keys, s.entry(o))), s.indent) + "\n"
		},
		where: func(o Options) string {
			file, err := s.file(o)
			if err != nil {
				return err.Error() + "\n" + s.note + "\n"
			}
			return file + "\n" + s.note + "\n"
		},
	}
}

// nest wraps a value into an object for each of the keys.
func nest(keys []string, v any) any {
	for i := len(keys) - 1; i >= 0; i-- {
		v = object{{keys[i], v}}
	}
	return v
}

func zedEntry(o Options) object {
	return append(object{{"type", "custom"}}, commandEntry(o)...)
}

func commandEntry(o Options) object {
	return object{{"command", o.Binary}, {"args", argList(o)}, {"env", object{}}}
}

// acpxEntry is an argument vector: next to args, acpx refuses a command that
// holds a space or a quote, and without args it splits the command itself.
func acpxEntry(o Options) object {
	return object{{"argv", append([]string{o.Binary}, o.Args...)}}
}

func argList(o Options) []string { return append([]string{}, o.Args...) }

func zedFile(o Options) (string, error) {
	if o.GOOS == "windows" {
		return appData(o, "Zed", "settings.json")
	}
	if o.GOOS == "darwin" {
		return inHome(o, ".config", "zed", "settings.json")
	}
	return inConfig(o, "zed", "settings.json")
}

func jetbrainsFile(o Options) (string, error) { return inHome(o, ".jetbrains", "acp.json") }

func vscodeFile(o Options) (string, error) {
	switch o.GOOS {
	case "windows":
		return appData(o, "Code", "User", "settings.json")
	case "darwin":
		return inHome(o, "Library", "Application Support", "Code", "User", "settings.json")
	}
	return inConfig(o, "Code", "User", "settings.json")
}

// acpxFile is the project's file where there is one, because it wins over the
// person's in acpx.
func acpxFile(o Options) (string, error) {
	if project := filepath.Join(o.Dir, acpxProjectFile); o.Dir != "" && exists(project) {
		return project, nil
	}
	return inHome(o, ".acpx", "config.json")
}

const acpxProjectFile = ".acpxrc.json"

// fountainArgs adds what ends a process that fountain no longer talks to, and that
// the projects of its sandbox need nobody's yes: each is made for the agent that
// works in it.
func fountainArgs(o Options) []string {
	args := argList(o)
	if len(args) == 0 {
		args = []string{"serve"}
	}
	for _, flag := range [][2]string{{"--allow", "always"}, {"--exit-idle", "30s"}} {
		if !slices.ContainsFunc(args, func(a string) bool { return a == flag[0] || strings.HasPrefix(a, flag[0]+"=") }) {
			args = append(args, flag[0], flag[1])
		}
	}
	return args
}

func fountainSnippet(o Options) string {
	agent := object{
		{"name", "chant"},
		{"runtime", "acp"},
		{"runtime_command", commandLine(append([]string{o.Binary}, fountainArgs(o)...))},
	}
	return jsondoc.Lines(asJSON(agent), "  ") + "\n"
}

func fountainWhere(Options) string {
	return `the agent's definition in fountain (its form, or what you apply). The instance must know the runtime "acp".
runtime_command is one command line, quoted as in a shell; the binary must exist at that path inside the sandbox, which is another machine.
--allow always: what lies in the sandbox was put there for this agent, and nobody has to allow it first.
fountain starts the agent once for each turn, and leaves its process alive after a cancel: --exit-idle 30s lets it end by itself then.
`
}
