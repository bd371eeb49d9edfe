// agent-shell in Emacs, in a terminal. Needs tmux, Emacs 29.1 or newer, and a checkout of
// each of agent-shell, acp.el and shell-maker:
//   EMACS=emacs LOAD=/path/agent-shell:/path/acp.el:/path/shell-maker node agent-shell.mjs /path/chant-acp
// It writes docs/clients/agent-shell.md anew below its heading.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Page, Project } from './page.mjs';
import { Screen } from './screen.mjs';

const [binary] = process.argv.slice(2);
const emacs = process.env.EMACS ?? 'emacs';
const load = process.env.LOAD.split(':');
const project = new Project(binary);
const page = new Page('agent-shell', project);

const init = path.join(project.home, 'init.el');
writeFileSync(init, `${load.map((d) => `(add-to-list 'load-path "${d}")`).join('\n')}
(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil ring-bell-function 'ignore)
(menu-bar-mode -1)
(require 'agent-shell)
${execFileSync(binary, ['setup', 'emacs'], { encoding: 'utf8', env: project.env(), stdio: ['ignore', 'pipe', 'ignore'] })}
(setq agent-shell-show-busy-indicator nil agent-shell-show-welcome-message nil)
(defvar chant (seq-find (lambda (c) (eq (map-elt c :identifier) 'chant)) agent-shell-agent-configs))
(defun chant-start () (delete-other-windows) (find-file "main.c") (setq agent-shell-session-strategy 'new) (agent-shell-start :config chant) (delete-other-windows))
(defun chant-reopen () (setq agent-shell-session-strategy 'latest) (agent-shell-start :config chant) (delete-other-windows))
`);

async function open(start = 'chant-start') {
  const screen = new Screen(`${emacs} -nw -Q -l ${init} --eval '(${start})'`, { env: project.env({ TERM: 'screen' }), cwd: project.dir });
  await screen.shows(/commands[^]*❯/).catch((error) => {
    screen.end();
    throw error;
  });
  return screen;
}

async function session(name, steps) {
  const screen = await open();
  try {
    await steps(screen, (line) => {
      screen.type(line);
      screen.press('Enter');
    });
    page.add(name, screen.text());
  } finally {
    screen.end();
  }
}

// opened opens what is folded of the last command.
async function opened(screen) {
  for (const command of ['agent-shell-previous-item', 'agent-shell-ui-toggle-fragment']) {
    screen.press('M-x');
    screen.type(command);
    screen.press('Enter');
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  await screen.shows(/Me/);
}

await session('colour', async (s, line) => {
  line('colors');
  await s.shows(/completed in/);
  page.add('colour', s.text());
  await opened(s);
});
await session('lines', async (s, line) => {
  line('lines');
  await s.shows(/completed in/);
});
await session('location', async (s, line) => {
  line('vet');
  await s.shows(/failed with exit/);
});
await session('refusal', async (s, line) => {
  line('colour');
  await s.shows(/lists everything/);
});
await session('confirmation', async (s, line) => {
  line('deploy');
  await s.shows(/\(y\)/);
  page.add('confirmation', s.text());
  s.press('y');
  await s.shows(/completed in/);
});
await session('gate', async (s, line) => {
  line('run release');
  await s.shows(/\(y\)/);
  page.add('gate', s.text());
  s.press('y');
  await s.shows(/run release.? completed/);
});
await session('stop', async (s, line) => {
  line('slow');
  await s.shows(/Command slow/);
  s.press('C-c', 'C-c');
  await s.shows(/y or n|cancelled/i);
  if (/y or n/i.test(s.text())) s.press('y');
  await s.shows(/was cancelled/);
  line('colors');
  await s.shows(/completed in/);
});
const again = await open('chant-reopen');

page.add('reopened', again.text());
again.end();
page.write(execFileSync('sh', ['-c', `${emacs} --version`], { encoding: 'utf8' }).split('\n')[0]);
project.end();
