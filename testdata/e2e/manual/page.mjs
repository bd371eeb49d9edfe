// The page of a client in docs/clients: what its user sees, as text. What changes from
// run to run (times, codes, ids, folders) is made the same.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

// What each page shows, in this order.
export const scenes = {
  colour: 'A command with colour',
  lines: '3,000 lines',
  location: 'A failure with a location',
  refusal: 'A refusal',
  confirmation: 'A confirmation',
  gate: 'An Op with a gate, approved',
  stop: 'A stop, and another line after it',
  reopened: 'The thread opened again',
};

const mark = '<!-- What follows is written by the test. -->\n';

function fenced(text) {
  const fence = text.includes('```') ? '````' : '```';
  return `${fence}text\n${text}\n${fence}\n`;
}

// Project is a copy of show/, with a home of its own.
export class Project {
  constructor(binary) {
    this.binary = binary;
    this.root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chant-show-')));
    this.dir = path.join(this.root, 'show');
    this.home = path.join(this.root, 'home');
    mkdirSync(this.home);
    cpSync(new URL('../show', import.meta.url).pathname, this.dir, { recursive: true });
  }

  env(more = {}) {
    return { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8', CHANT_ACP_AGENT_ALLOW: 'always', ...more };
  }

  end() {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export class Page {
  #shown = new Map();

  constructor(client, project) {
    this.file = new URL(`../../../docs/clients/${client}.md`, import.meta.url).pathname;
    this.project = project;
  }

  // add adds what is on the screen to a scene.
  add(scene, text) {
    if (!(scene in scenes)) throw new Error(`there is no scene ${scene}`);
    this.#shown.set(scene, [...(this.#shown.get(scene) ?? []), this.#steady(text)]);
  }

  #steady(text) {
    return text
      .replaceAll(this.project.binary, '/usr/local/bin/chant-acp')
      .replaceAll(this.project.dir, '/home/you/show')
      .replaceAll(this.project.home, '/home/you')
      .replace(/\b(in|after) \d+(\.\d+)? (ms|s|min)\b/g, '$1 5 ms')
      .replace(/\bconfirm [a-z0-9]{6}\b/g, 'confirm abc234')
      .replace(/\brun [a-z0-9]{6}\b/g, 'run abc234')
      .replace(/@[0-9a-f]{8}\b/g, '@0123abcd')
      .replace(/\b(digest +)[0-9a-f]{8}\b/g, '$10123abcd')
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, '2026-12-03 12:00:00')
      .replace(/\d{4}(-\d\d){5}\.md/g, '2026-12-03-12-00-00.md')
      .replace(/ +[\d.]+ m?s  acpx/g, '       5 ms  acpx')
      .replace(/("durationMs": )\d+/g, '$15')
      .replace(/\b(call|step)_[0-9a-f]{8}(-[0-9a-f]+)+/g, '$1_0123abcd')
      .replace(/(digest,? )[0-9a-f]{8}\b/g, '$10123abcd')
      .replace(/(digest `)[0-9a-f]{8}`/g, '$10123abcd`')
      .replace(/(approved by )\w+/g, '$1you')
      .replace(/^~$\n?/gm, '')
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n')
      .trim();
  }

  // text is what was added, as sections.
  text() {
    return Object.entries(scenes)
      .filter(([scene]) => this.#shown.has(scene))
      .map(([scene, title]) => `\n## ${title}\n\n${this.#shown.get(scene).map((text) => fenced(text)).join('\n')}`)
      .join('');
  }

  // kept is what the page holds now.
  kept() {
    return readFileSync(this.file, 'utf8').split(mark)[1];
  }

  // write puts what was added into the page, below the mark.
  write(version) {
    const [head] = readFileSync(this.file, 'utf8').split(mark);
    const dated = version ? head.replace(/^Last run: .*$/m, `Last run: ${new Date().toISOString().slice(0, 10)}, with ${version}.`) : head;
    writeFileSync(this.file, dated + mark + this.text());
  }
}
