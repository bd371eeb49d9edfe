// acpx, the headless client: policy instead of a person, and exit codes.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { Acpx, command } from './lib/acpx.mjs';
import { Place } from './lib/place.mjs';
import { code, flood, floodBytes, mixedLines, unfenced } from './lib/said.mjs';

const run = (t, place, args, options) => new Acpx(t, place, args, options);

// session opens the session s1, kept by a process that stays behind, and returns
// how to use it: prompt for turns, manage for all else.
async function session(t, place) {
  const keep = ['--approve-all', '--ttl', '30'];
  const manage = (...args) => run(t, place, [...keep, ...args], { json: false });
  place.before(() => manage('sessions', 'close', 's1').exited);
  await manage('sessions', 'new', '--name', 's1').done(0);
  return { manage, prompt: (line) => run(t, place, [...keep, 'prompt', '-s', 's1', line]) };
}

test('a prompt', async (t) => {
  const place = new Place(t);
  const acpx = await run(t, place, ['exec', 'hello']).done(0);
  assert.equal(acpx.stopReason, 'end_turn');
  assert.match(acpx.wire.text(), /hello from the project/);
  assert.deepEqual(acpx.wire.tools().map((c) => c.status), ['completed']);
});

test('as a person reads it', async (t) => {
  const acpx = await run(t, new Place(t), ['exec', 'hello'], { json: false }).done(0);
  assert.match(acpx.stdout, /\[tool\] hello/);
  assert.match(acpx.stdout, /hello from the project/);
  assert.match(acpx.stdout, /\[done\] end_turn/);
});

test('a refusal', async (t) => {
  const acpx = await run(t, new Place(t), ['exec', 'helo']).done(0);
  assert.equal(acpx.stopReason, 'refusal');
  assert.match(acpx.wire.text(), /\bhello\b/);
});

test('a command that fails', async (t) => {
  const acpx = await run(t, new Place(t), ['exec', 'fail']).done(0);
  assert.equal(acpx.stopReason, 'end_turn');
  const [call] = acpx.wire.tools();
  assert.equal(call.status, 'failed');
  assert.equal(call.rawOutput.exitCode, 7);
  assert.match(acpx.wire.text(), /it went wrong/);
});

test('lines come complete and in order', async (t) => {
  const acpx = await run(t, new Place(t), ['exec', 'mixed']).done(0);
  assert.deepEqual(unfenced(acpx.wire.text()).split('\n').filter((l) => /^(out|err) \d+$/.test(l)), mixedLines);
});

test('20 MB', async (t) => {
  const acpx = await run(t, new Place(t), ['exec', 'flood']).done(0);
  const [call] = acpx.wire.tools();
  assert.equal(call.status, 'completed');
  assert.equal(call.rawOutput.bytes, floodBytes);
  assert.ok(acpx.wire.text().split('\n').includes(String(flood)), 'the end is shown');
});

describe('confirm', () => {
  const ask = { serve: 'serve --confirm ask' };

  test('allowed', async (t) => {
    const place = new Place(t);
    const acpx = await run(t, place, ['--approve-all', 'exec', 'deploy'], ask).done(0);
    assert.equal(acpx.stopReason, 'end_turn');
    assert.deepEqual(place.ran(), ['deploy']);
  });

  const noes = {
    'rejected by policy': ['--deny-all'],
    'rejected where nobody is there to ask': ['--approve-reads'],
    'dismissed where nobody is there to ask': ['--approve-reads', '--non-interactive-permissions', 'fail'],
  };
  for (const [name, args] of Object.entries(noes)) {
    test(name, async (t) => {
      const place = new Place(t);
      const acpx = await run(t, place, [...args, 'exec', 'deploy'], ask).done(5);
      assert.deepEqual(place.ran(), []);
      assert.deepEqual(acpx.wire.tools().map((c) => c.status), ['failed']);
    });
  }

  test('a policy that names the command', async (t) => {
    const place = new Place(t);
    const policy = JSON.stringify({ autoApprove: ['deploy'], defaultAction: 'deny' });
    await run(t, place, ['--permission-policy', policy, 'exec', 'deploy'], ask).done(0);
    assert.deepEqual(place.ran(), ['deploy']);
  });

  test('a policy is nobody, so by default a code is to be typed', async (t) => {
    const place = new Place(t);
    const { prompt } = await session(t, place);
    const waits = await prompt('deploy').done(0);
    assert.equal(waits.stopReason, 'end_turn');
    assert.deepEqual(place.ran(), []);
    const ran = await prompt(`confirm ${code(waits.wire.text())}`).done(0);
    assert.deepEqual(ran.wire.tools().map((c) => c.status), ['completed']);
    assert.deepEqual(place.ran(), ['deploy']);
  });

  // script gives acpx the terminal without which it asks nobody.
  const script = spawnSync('script', ['--version'], { encoding: 'utf8' });
  const skip = /util-linux/.test(script.stdout ?? '') ? false : 'util-linux script is not installed';
  for (const [key, ran] of [['y', ['deploy']], ['n', []]]) {
    test(`asked on a terminal: ${key}`, { skip }, async (t) => {
      const place = new Place(t);
      const line = command(place, ['exec', 'deploy'], { ...ask, json: false });
      const quoted = line.map((w) => `'${w.replaceAll("'", `'\\''`)}'`).join(' ');
      const child = spawn('script', ['-qec', quoted, '/dev/null'], { cwd: place.home, env: place.env({ TERM: 'dumb' }), stdio: 'pipe' });
      t.after(() => child.kill('SIGKILL'));
      let screen = '';
      let answered = false;
      child.stdout.on('data', (chunk) => {
        screen += chunk;
        if (answered || !/\(y\/N\)/.test(screen)) return;
        answered = true;
        child.stdin.write(`${key}\r`);
      });
      await new Promise((resolve) => child.on('close', resolve));
      assert.ok(answered, screen);
      assert.deepEqual(place.ran(), ran, screen);
      assert.doesNotMatch(screen, /Error handling notification|Failed to parse JSON message/);
    });
  }
});

test('cancel', async (t) => {
  const { manage, prompt } = await session(t, new Place(t));
  const turn = prompt('tree');
  for (const member of ['child', 'stubborn', 'stray', 'leader']) await turn.wire.shows(new RegExp(`up: ${member}`));
  await manage('cancel', '-s', 's1').done(0);
  await turn.done(0);
  assert.equal(turn.stopReason, 'cancelled');
  assert.deepEqual(turn.wire.tools().map((c) => c.status), ['failed']);
  assert.equal((await prompt('hello').done(0)).stopReason, 'end_turn');
});

test('an interrupt cancels the turn', async (t) => {
  const place = new Place(t);
  const turn = run(t, place, ['exec', 'wait']);
  await turn.wire.shows(/waiting/);
  turn.child.kill('SIGINT');
  await turn.done(0);
  assert.equal(turn.stopReason, 'cancelled');
  assert.deepEqual(await place.left(), []);
});

test('its timeout: the input ends in the middle of a turn', async (t) => {
  const place = new Place(t);
  const turn = await run(t, place, ['--timeout', '3', 'exec', 'tree']).done(3);
  assert.match(turn.wire.text(), /up: leader/);
  assert.deepEqual(await place.left(), []);
});

test('a timeout of the command', async (t) => {
  const place = new Place(t);
  const acpx = await run(t, place, ['exec', 'limited']).done(0);
  assert.equal(acpx.stopReason, 'end_turn');
  assert.deepEqual(acpx.wire.tools().map((c) => c.status), ['failed']);
  assert.deepEqual(await place.left(), []);
});

test('session options', async (t) => {
  const { manage } = await session(t, new Place(t));
  await manage('set', '-s', 's1', 'output', 'quiet').done(0);
  await manage('set', '-s', 's1', 'output', 'loud').done(1);
});

test('a session goes on in the process of another owner', async (t) => {
  const place = new Place(t);
  const keep = ['--approve-all', '--ttl', '1'];
  const manage = (...args) => run(t, place, [...keep, ...args], { json: false });
  await manage('sessions', 'new', '--name', 's1').done(0);
  const first = await run(t, place, [...keep, 'prompt', '-s', 's1', 'hello']).done(0);
  assert.equal(first.stopReason, 'end_turn');
  // Its owner leaves when nothing has come for a second, and the agent with it.
  assert.deepEqual(await place.left(20_000), []);

  const second = await run(t, place, [...keep, 'prompt', '-s', 's1', 'history']).done(0);
  const methods = second.stdout.split('\n').filter(Boolean).map((l) => JSON.parse(l).method);
  assert.ok(methods.includes('session/resume') || methods.includes('session/load'), `it was not opened again: ${methods}`);
  assert.ok(!methods.includes('session/new'), `it was begun anew: ${methods}`);
  assert.match(second.wire.text(), /hello/, 'the thread knows what the first process ran');
  assert.deepEqual(await place.left(20_000), []);

  const history = await manage('sessions', 'history', 's1').done(0);
  assert.match(history.stdout, /hello/);
  assert.match(history.stdout, /history/);
});
