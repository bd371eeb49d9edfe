// A place to work in: a project of its own and an empty home, gone after the
// test, and the processes that run in it.
import { cpSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const binary = process.env.CHANT_ACP_BINARY;
if (!binary || !path.isAbsolute(binary)) throw new Error('CHANT_ACP_BINARY must be the absolute path of the binary to test; run.sh sets it');

const fixture = new URL('./../fixture', import.meta.url).pathname;

export class Place {
  #endings = [];

  constructor(t, source = fixture) {
    this.root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chant-e2e-')));
    this.project = path.join(this.root, 'project');
    this.home = path.join(this.root, 'home');
    mkdirSync(this.home);
    cpSync(source, this.project, { recursive: true });
    t.after(async () => {
      for (const end of this.#endings) await end();
      for (const pid of this.processes()) process.kill(pid, 'SIGKILL');
      rmSync(this.root, { recursive: true, force: true });
    });
  }

  // before does something before the place is removed.
  before(end) {
    this.#endings.push(end);
  }

  // env is what an editor started from a desktop hands down, and no more.
  env(more = {}) {
    // The projects are the tests' own: they stand for a person who allowed them.
    return { PATH: process.env.PATH, HOME: this.home, CHANT_ACP_AGENT_ALLOW: 'always', ...more };
  }

  // ran lists what the recording commands of the fixture recorded.
  ran() {
    try {
      return readFileSync(path.join(this.project, 'ran.txt'), 'utf8').split('\n').filter(Boolean);
    } catch (error) {
      if (error.code === 'ENOENT') return [];
      throw error;
    }
  }

  // processes lists the living processes that were started in the project,
  // wherever they went since and whoever their parent is now.
  processes() {
    return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && this.#holds(pid)).map(Number);
  }

  #holds(pid) {
    try {
      if (/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return false;
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(this.root)) return true;
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(this.project);
    } catch {
      return false; // gone, or another user's
    }
  }

  // left lists the processes that are still there when the deadline has passed,
  // each with its command line; [] as soon as none is.
  async left(deadline = 2000) {
    const end = performance.now() + deadline;
    for (;;) {
      const pids = this.processes();
      if (pids.length === 0) return [];
      if (performance.now() > end) return pids.map(describe);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

function describe(pid) {
  try {
    return `${pid}: ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()}`;
  } catch {
    return `${pid}: just gone`;
  }
}
