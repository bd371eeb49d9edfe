// A program in a terminal of its own, as a person sees it: keys go in, and the screen
// comes out as text. Needs tmux.
import { execFileSync } from 'node:child_process';

let count = 0;

export class Screen {
  constructor(command, { env = {}, cwd, width = 100, height = 56 } = {}) {
    this.name = `chant-e2e-${process.pid}-${++count}`;
    const vars = Object.entries(env).flatMap(([k, v]) => ['-e', `${k}=${v}`]);
    this.#tmux('new-session', '-d', '-s', this.name, '-x', width, '-y', height, '-c', cwd, ...vars, command);
  }

  #tmux(...args) {
    return execFileSync('tmux', ['-L', `chant-e2e-${process.pid}`, ...args.map(String)], { encoding: 'utf8' });
  }

  text() {
    return this.#tmux('capture-pane', '-p', '-t', this.name).replace(/[ \t]+$/gm, '').trimEnd();
  }

  // type types a text as it is.
  type(text) {
    this.#tmux('send-keys', '-t', this.name, '-l', text);
  }

  // press presses keys by their names in tmux: Enter, Escape, C-c, M-x.
  press(...keys) {
    this.#tmux('send-keys', '-t', this.name, ...keys);
  }

  // shows resolves with the screen once it matches and stands still.
  async shows(pattern, deadline = 30_000) {
    const end = performance.now() + deadline;
    for (let before = ''; ; ) {
      const now = this.text();
      if (pattern.test(now) && now === before) return now;
      if (performance.now() > end) throw new Error(`never saw ${pattern}, but:\n${now}`);
      before = now;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  end() {
    try {
      this.#tmux('kill-session', '-t', this.name);
    } catch {
      // it has ended by itself
    }
  }
}
