// acpx and an agent that the gateway spawned.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Acpx } from './lib/acpx.mjs';
import { binary, Place } from './lib/place.mjs';

// gateway starts one, and returns how to ask it.
async function gateway(t, place) {
  const child = spawn(binary, ['gateway', '--port', '0', '--workspace', place.project], { cwd: place.home, env: place.env(), stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = line.split(' ')[0];
  const { token } = JSON.parse(readFileSync(path.join(place.project, '.chant-acp', 'runtime.json'), 'utf8'));
  const ask = async (method, route, body) => {
    const answer = await fetch(url + route, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${route}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  const stop = async () => {
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  };
  return { ask, stop };
}

test('acpx goes on with the session of an agent that the gateway spawned', async (t) => {
  const place = new Place(t);
  const { ask, stop } = await gateway(t, place);
  const session = await ask('POST', '/sessions/agent', { adapter: 'chant-acp', cwd: place.project, name: 'shared' });
  assert.ok(session.agentSession, JSON.stringify(session));
  const turn = await ask('POST', '/sessions/shared/prompt', { prompt: 'hello' });
  assert.equal(turn.stopReason, 'end_turn');
  assert.match(turn.text, /hello/);

  // While the gateway's agent is there, idle, acpx opens the same thread.
  const keep = ['--approve-all', '--ttl', '1'];
  const manage = (...args) => new Acpx(t, place, [...keep, ...args], { json: false });
  await manage('sessions', 'new', '--name', 's1', '--resume-session', session.agentSession).done(0);
  const history = await new Acpx(t, place, [...keep, 'prompt', '-s', 's1', 'history']).done(0);
  assert.equal(history.stopReason, 'end_turn');
  assert.match(history.wire.text(), /hello/, 'the thread knows what the gateway ran');

  await new Acpx(t, place, [...keep, 'prompt', '-s', 's1', 'fail']).done(0);

  // And the gateway's agent knows what acpx ran.
  const after = await ask('POST', '/sessions/shared/prompt', { prompt: 'history' });
  assert.match(after.text, /failed.*acpx.*fail/);
  await manage('sessions', 'close', 's1').done(0);
  await stop();
  assert.deepEqual(await place.left(20_000), []);
});
