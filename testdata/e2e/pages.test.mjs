// What a user sees of the clients that can be run here, against the pages of docs/clients.
// UPDATE_PAGES=1 writes them anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Acpx } from './lib/acpx.mjs';
import { binary, Place } from './lib/place.mjs';
import { code } from './lib/said.mjs';
import { Client } from './lib/sdk.mjs';
import { Page } from './manual/page.mjs';

const show = new URL('./show', import.meta.url).pathname;

// check holds the page to what was seen.
function check(page) {
  if (process.env.UPDATE_PAGES) page.write();
  assert.equal(page.kept(), page.text());
}

test('acpx', async (t) => {
  const place = new Place(t, show);
  const page = new Page('acpx', { binary, dir: place.project, home: place.home });
  const keep = ['--approve-all', '--ttl', '30'];
  const acpx = (...args) => new Acpx(t, place, [...keep, ...args], { json: false });
  place.before(() => acpx('sessions', 'close', 's1').exited);
  await acpx('sessions', 'new', '--name', 's1').done(0);

  // prompt adds a line, as it is typed and answered.
  async function prompt(scene, line) {
    const { stdout } = await acpx('prompt', '-s', 's1', line).done(0);
    const shown = stdout.split('\n').filter((l) => !/^\[(acpx|client)\]/.test(l));
    if (shown.length > 60) shown.splice(20, shown.length - 40, `… ${shown.length - 40} lines more …`);
    page.add(scene, `$ acpx chant prompt -s s1 '${line}'\n${shown.join('\n')}`);
    return stdout;
  }

  await prompt('colour', 'colors');
  await prompt('lines', 'lines');
  await prompt('location', 'vet');
  await prompt('refusal', 'colour');
  await prompt('confirmation', `confirm ${code(await prompt('confirmation', 'deploy'))}`);
  const gate = await prompt('gate', 'run release');
  await prompt('gate', gate.match(/approve release .*/)[0].trim());
  await prompt('gate', gate.match(/run release --run .*/)[0].trim());

  const slow = acpx('prompt', '-s', 's1', 'slow');
  await new Promise((resolve) => {
    let seen = '';
    slow.child.stdout.on('data', (text) => /begun/.test((seen += text)) && resolve());
  });
  await acpx('cancel', '-s', 's1').done(0);
  const { stdout } = await slow.done(0);
  page.add('stop', `$ acpx chant prompt -s s1 slow\n${stdout.split('\n').filter((l) => !/^\[(acpx|client)\]/.test(l)).join('\n')}`);
  await prompt('stop', 'colors');
  await prompt('reopened', 'history');
  check(page);
});

// Zed can't be built here. What stands for it does with updates what its source of November
// 2026 does (crates/acp_thread, crates/agent_ui): a terminal is a card with the title of its
// call, message text is put together, a plan is replaced, a prompt that is refused is taken
// out of the thread, and a question is a row of buttons below its card.
class Zed {
  items = new Map();
  #last;

  #add(key, item) {
    if (!this.items.has(key)) this.items.set(key, { text: '', ...item });
    this.#last = key;
    return this.items.get(key);
  }

  user(text) {
    this.#add(`user ${this.items.size}`, { role: 'user', text });
  }

  update({ update: u }) {
    const terminal = u._meta?.terminal_output;
    if (terminal) this.items.get(u.toolCallId).text += terminal.data;
    switch (u.sessionUpdate) {
      case 'user_message_chunk':
        return this.user(u.content.text);
      case 'agent_message_chunk': {
        const key = this.items.get(this.#last)?.role === 'agent' ? this.#last : `agent ${this.items.size}`;
        this.#add(key, { role: 'agent' }).text += u.content.text;
        return;
      }
      case 'plan':
        this.plan = u.entries;
        return;
      case 'tool_call':
        return void Object.assign(this.#add(u.toolCallId, { role: 'tool' }), u);
      case 'tool_call_update':
        return void Object.assign(this.items.get(u.toolCallId), u);
    }
  }

  #tool(item) {
    const lines = item.text.replace(/\x1b\[[\d;]*m/g, '').trimEnd().split('\n');
    if (lines.length > 60) lines.splice(20, lines.length - 40, `… ${lines.length - 40} lines more …`);
    const body = item.content?.map((c) => c.content?.text).filter(Boolean).join('\n') || lines.join('\n');
    const files = item.locations?.map((l) => `Go to ${l.path}:${l.line}`).join('\n');
    const exit = item._meta?.terminal_exit?.exit_code;
    const state = exit ? `${item.status}, exit code ${exit}` : item.status;
    return [`┌ ${item.title} (${state})`, ...[body, files].filter(Boolean).join('\n').split('\n').filter(Boolean).map((l) => `│ ${l}`), item.buttons && `│ ${item.buttons}`, '└'].filter(Boolean).join('\n');
  }

  text() {
    const parts = [...this.items.values()].map((i) => (i.role === 'tool' ? this.#tool(i) : i.role === 'user' ? `> ${i.text}` : i.text.trim()));
    if (this.plan) parts.push(['Plan', ...this.plan.map((e) => `  [${e.status}] ${e.content}`)].join('\n'));
    return parts.join('\n\n');
  }
}

test('what stands for Zed', async (t) => {
  const place = new Place(t, show);
  const page = new Page('zed', { binary, dir: place.project, home: place.home });
  const options = { clientInfo: { name: 'zed', version: '0.0.0' }, capabilities: { terminal: true, _meta: { terminal_output: true } } };

  async function open(scene, session) {
    const zed = new Zed();
    const client = await Client.start(t, 'newest', place, {
      ...options, session: session ?? {},
      permission: ({ toolCall, options }) => {
        drain();
        const card = zed.items.get(toolCall.toolCallId);
        card.buttons = options.map((o) => `[${o.name}]`).join(' ');
        page.add(scene, zed.text());
        delete card.buttons;
        return { outcome: { outcome: 'selected', optionId: options[0].optionId } };
      },
    });
    let shown = 0;
    const drain = () => {
      for (const params of client.received.slice(shown)) zed.update(params);
      shown = client.received.length;
    };
    const prompt = async (line) => {
      drain();
      zed.user(line);
      const { stopReason } = await client.prompt(line);
      if (stopReason === 'refusal') zed.items.clear();
      drain();
    };
    return { client, prompt, zed, drain };
  }

  let first;
  for (const [scene, line] of Object.entries({ colour: 'colors', lines: 'lines', location: 'vet', refusal: 'colour', confirmation: 'deploy', gate: 'run release' })) {
    const { client, prompt, zed } = await open(scene);
    first ??= client.sessionId;
    await prompt(line);
    page.add(scene, zed.text());
    await client.finish();
  }
  const { client, prompt, zed } = await open('stop');
  const slow = prompt('slow');
  while (!client.wire.updates.some(({ update }) => /begun/.test(update._meta?.terminal_output?.data ?? ''))) await new Promise((resolve) => setTimeout(resolve, 20));
  await client.cancel();
  await slow;
  await prompt('colors');
  page.add('stop', zed.text());
  await client.finish();
  const again = await open('reopened', { method: 'session/load', id: first });
  again.drain();
  page.add('reopened', again.zed.text());
  await again.client.finish();
  check(page);
});
