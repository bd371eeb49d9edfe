// acpx, the headless client, as a process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { binary } from './place.mjs';
import { Wire } from './wire.mjs';

const cli = realpathSync(new URL('../node_modules/acpx/dist/cli.js', import.meta.url));

// What acpx prints when a line or an update of the agent is not what it must be.
const complaint = /Error handling notification|Error handling request|Failed to parse JSON message|Invalid message|unknown request/;

// command is the command line of one run. Without `json` it prints what a person
// reads; `serve` are the agent's arguments.
export function command(place, args, { serve = '', json = true } = {}) {
  const format = json ? ['--format', 'json', '--json-strict'] : [];
  return [process.execPath, cli, '--agent', `"${binary}" ${serve}`.trim(), '--cwd', place.project, ...format, ...args];
}

// An Acpx is one run of it.
export class Acpx {
  stdout = '';
  stderr = '';
  wire = new Wire();
  #rest = '';

  constructor(t, place, args, options = {}) {
    this.json = options.json ?? true;
    const [program, ...rest] = command(place, args, options);
    // acpx works in its own directory, so that it does not count as the
    // project's process.
    this.child = spawn(program, rest, { cwd: place.home, env: place.env(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout.setEncoding('utf8').on('data', (text) => this.#read(text));
    this.child.stderr.on('data', (text) => (this.stderr += text));
    this.exited = once(this.child, 'close').then(([code]) => {
      this.wire.end();
      return code;
    });
    t.after(() => this.child.kill('SIGKILL'));
  }

  #read(text) {
    this.stdout += text;
    if (!this.json) return;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) if (line) this.wire.log(line);
  }

  // done waits for the end and holds the agent to its protocol.
  async done(code) {
    const got = await this.exited;
    assert.equal(got, code, `exit code ${got}, want ${code}; stderr: ${this.stderr}; stdout: ${this.stdout.slice(-2000)}`);
    assert.doesNotMatch(this.stderr, complaint);
    assert.deepEqual(this.wire.problems, []);
    return this;
  }

  // stopReason is that of the last turn.
  get stopReason() {
    const answers = this.stdout.split('\n').filter((l) => l.includes('"stopReason"'));
    return answers.length > 0 ? JSON.parse(answers.at(-1)).result.stopReason : undefined;
  }
}
