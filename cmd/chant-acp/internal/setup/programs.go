package setup

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// emacsSnippet registers the agent with agent-shell as a configuration alist,
// the form that its older releases take as well as the newer ones.
func emacsSnippet(o Options) string {
	params := "nil"
	if len(o.Args) > 0 {
		params = "'(" + strings.Join(quoteAll(o.Args, elispString), " ") + ")"
	}
	return fmt.Sprintf(`;; agent-shell adds what is around point to the first prompt; of a command line it
;; is left out. For all agents: (setq agent-shell-context-sources nil)
(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'chant
                :mode-line-name "Chant"
                :buffer-name "Chant"
                :shell-prompt "Chant> "
                :shell-prompt-regexp "Chant> "
                :welcome-function (lambda (_config) "")
                :client-maker (lambda (buffer)
                                (agent-shell--make-acp-client
                                 :command %s
                                 :command-params %s
                                 :context-buffer buffer)))))
`, elispString(o.Binary), params)
}

func emacsWhere(o Options) string {
	files := "~/.emacs.d/init.el, ~/.config/emacs/init.el or ~/.emacs, whichever you have"
	return files + "\nIt is for the package agent-shell; then M-x agent-shell and choose Chant.\n"
}

// codecompanionSnippet extends a preset that brings an ACP adapter's fields,
// and gives the handlers itself, so that it depends on no other part of it:
// without setup and form_messages no prompt is sent, and auth says that there
// is nothing to log in to.
func codecompanionSnippet(o Options) string {
	argv := append([]string{o.Binary}, o.Args...)
	return fmt.Sprintf(`require("codecompanion").setup({
  adapters = {
    acp = {
      chant = function()
        local helpers = require("codecompanion.adapters.acp.helpers")
        return require("codecompanion.adapters").extend("kiro", {
          name = "chant",
          formatted_name = "Chant",
          opts = { vision = false },
          commands = { default = { %s } },
          handlers = {
            setup = function(self)
              return true
            end,
            auth = function(self)
              return true
            end,
            form_messages = function(self, messages, capabilities)
              -- the last one only: a message that was stopped counts as unsent
              return helpers.form_messages(self, { messages[#messages] }, capabilities)
            end,
          },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "chant" } },
})
`, strings.Join(quoteAll(argv, luaString), ", "))
}

// avanteSnippet passes HOME on: avante gives an agent PATH and what is named
// here, and nothing else.
func avanteSnippet(o Options) string {
	args := "{}"
	if len(o.Args) > 0 {
		args = "{ " + strings.Join(quoteAll(o.Args, luaString), ", ") + " }"
	}
	return fmt.Sprintf(`require("avante").setup({
  provider = "chant",
  acp_providers = {
    ["chant"] = {
      command = %s,
      args = %s,
      env = { HOME = os.getenv("HOME") },
    },
  },
})
`, luaString(o.Binary), args)
}

func neovimWhere(o Options) string {
	file, err := inConfig(o, "nvim")
	if o.GOOS == "windows" {
		if local := o.getenv("LOCALAPPDATA"); local != "" {
			file, err = filepath.Join(local, "nvim"), nil
		}
	}
	if err != nil {
		file = "~/.config/nvim"
	}
	return filepath.Join(file, "init.lua") + ", or the file in which you configure the plug-in\n" +
		"Where the plug-in's setup is called already, move the keys into that call: a second call replaces the first.\n" +
		"avante gives an agent only PATH and the variables named in env: add there what your commands need.\n"
}

func quoteAll(words []string, quote func(string) string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return quoted
}

// luaString is a Lua string literal. Bytes that are not UTF-8 text and control
// characters become three-digit decimal escapes, which every Lua reads alike.
func luaString(s string) string { return escaped(s, `\%03d`) }

// elispString is an Emacs Lisp string literal; its numeric escapes are octal.
func elispString(s string) string { return escaped(s, `\%03o`) }

func escaped(s, numeric string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f || r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, numeric, s[i])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// commandLine joins words so that a reader with the shell's quoting rules
// splits them into the same words again.
func commandLine(words []string) string { return strings.Join(quoteAll(words, shellWord), " ") }

func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 0x80 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
