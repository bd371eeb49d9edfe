// However the client or the agent goes, nothing of a command stays behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Acpx } from './lib/acpx.mjs';
import { binary, Place } from './lib/place.mjs';
import { Client } from './lib/sdk.mjs';

const members = ['child', 'stubborn', 'stray', 'leader'];
const deadline = 2000; // ms

// The ways in which an agent is left, with the exit that it then has; undefined
// where it has no say.
const ways = {
  'the input ends': { go: (agent) => agent.child.stdin.end(), exit: { code: 0, signal: null } },
  SIGTERM: { go: (agent) => agent.kill('SIGTERM'), exit: { code: 0, signal: null } },
  SIGHUP: { go: (agent) => agent.kill('SIGHUP'), exit: { code: 0, signal: null } },
  SIGINT: { go: (agent) => agent.kill('SIGINT'), exit: { code: 0, signal: null } },
  'SIGTERM, then SIGKILL at once': { go: (agent) => (agent.kill('SIGTERM'), agent.kill('SIGKILL')) },
  SIGKILL: { go: (agent) => agent.kill('SIGKILL') },
  'SIGKILL to its group': { go: (agent) => agent.kill('SIGKILL', { group: true }) },
  'SIGTERM to its group': { go: (agent) => agent.kill('SIGTERM', { group: true }), exit: { code: 0, signal: null } },
  'input and output are closed': { go: (agent) => (agent.child.stdout.destroy(), agent.child.stdin.destroy()), exit: { code: 0, signal: null } },
};

// leave goes that way and looks at what is left of the agent and its command.
async function leave(agent, place, way) {
  const exit = agent.exit;
  way.go(agent);
  assert.deepEqual(await place.left(deadline), []);
  assert.ok(await gone(agent.child.pid), 'the agent is still there');
  if (way.exit) assert.deepEqual(await exit, way.exit);
  assert.equal(agent.stderr, '');
}

// gone resolves once the process is no more, and says whether that was in time.
async function gone(pid) {
  const end = performance.now() + deadline;
  while (existsSync(`/proc/${pid}`)) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}

for (const [name, way] of Object.entries(ways)) {
  describe(name, () => {
    test('while nothing runs', async (t) => {
      const place = new Place(t);
      const client = await Client.start(t, 'newest', place);
      await client.prompt('hello'); // so that there is a guard
      await leave(client.agent, place, way);
    });

    test('while a command runs', async (t) => {
      const place = new Place(t);
      const client = await Client.start(t, 'newest', place);
      client.prompt('tree').catch(() => {}); // nobody is left to answer
      for (const member of members) await client.wire.shows(new RegExp(`up: ${member}`));
      assert.ok(place.processes().length >= members.length, 'the tree is there');
      await leave(client.agent, place, way);
    });

    test('while a question is open', async (t) => {
      const place = new Place(t);
      let asked;
      const open = new Promise((resolve) => (asked = resolve));
      const permission = () => (asked(), new Promise(() => {}));
      const client = await Client.start(t, 'newest', place, { clientInfo: { name: 'zed', version: '1' }, permission });
      client.prompt('deploy').catch(() => {});
      await open;
      await leave(client.agent, place, way);
      assert.deepEqual(place.ran(), []);
    });
  });
}

for (const version of ['strict', 'newest']) {
  test(`SIGKILL of a client on the ${version} SDK while a command runs`, async (t) => {
    const place = new Place(t);
    const client = new URL('client.mjs', import.meta.url).pathname;
    const child = spawn(process.execPath, [client, version, binary, place.project, 'tree'], { env: place.env(), stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    let shown = '';
    for await (const chunk of child.stdout) {
      shown += chunk;
      if (members.every((m) => shown.includes(`up: ${m}`))) break;
    }
    const pid = Number(shown.match(/^agent (\d+)$/m)[1]);
    // The client's own command line names the project, so it is no survivor
    // only once it is gone.
    child.kill('SIGKILL');
    assert.deepEqual(await place.left(deadline), []);
    assert.ok(await gone(pid), 'the agent is still there');
  });
}

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGHUP']) {
  test(`${signal} of acpx while a command runs`, async (t) => {
    const place = new Place(t);
    const acpx = new Acpx(t, place, ['exec', 'tree']);
    for (const member of members) await acpx.wire.shows(new RegExp(`up: ${member}`));
    acpx.child.kill(signal);
    await acpx.exited;
    assert.deepEqual(await place.left(deadline), []);
  });
}

test('no input at all', async (t) => {
  const place = new Place(t);
  const child = spawn(binary, [], { cwd: place.project, env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.deepEqual({ code, said }, { code: 0, said: '' });
});
