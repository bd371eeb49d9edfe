// The agent as a process, its two pipes watched.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Transform } from 'node:stream';
import { binary } from './place.mjs';
import { Wire } from './wire.mjs';

export class Agent {
  wire = new Wire();
  stderr = '';

  constructor(t, { args = [], env, cwd = '/' }) {
    this.child = spawn(binary, args, { cwd, env, detached: true, stdio: 'pipe' });
    // Writing to an agent that was killed is part of the tests.
    this.child.stdin.on('error', () => {});
    this.child.stderr.on('data', (chunk) => (this.stderr += chunk));
    // exit is the end of the process, exited that of all it wrote, too.
    this.exit = once(this.child, 'exit').then(([code, signal]) => ({ code, signal }));
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      this.wire.end();
      return { code, signal };
    });
    const tap = new Transform({
      transform: (chunk, _encoding, next) => {
        this.wire.bytes('agent', chunk);
        next(null, chunk);
      },
    });
    this.readable = Readable.toWeb(this.child.stdout.pipe(tap));
    this.writable = new WritableStream({ write: (chunk) => this.write(chunk), close: () => void this.child.stdin.end() });
    t.after(() => this.kill('SIGKILL'));
  }

  // write writes bytes as they are, between the client's own messages.
  write(bytes) {
    this.wire.bytes('client', Buffer.from(bytes));
    return new Promise((resolve) => this.child.stdin.write(bytes, () => resolve()));
  }

  kill(signal, { group = false } = {}) {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    process.kill(group ? -this.child.pid : this.child.pid, signal);
  }
}
