// The sample project, as its README says to try it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Place } from './lib/place.mjs';
import { code } from './lib/said.mjs';
import { Client } from './lib/sdk.mjs';

const sample = new URL('../project', import.meta.url).pathname;

// What go needs to find its caches in an empty home.
const go = JSON.parse(execFileSync('go', ['env', '-json', 'GOCACHE', 'GOMODCACHE', 'GOTOOLCHAIN', 'GOFLAGS'], { encoding: 'utf8' }));

// open starts in a copy of the project, without what others applied to it.
async function open(t, options = {}) {
  const place = new Place(t, sample);
  rmSync(path.join(place.project, 'state'), { recursive: true, force: true });
  const client = await Client.start(t, 'newest', place, { env: place.env(go), ...options });
  const run = async (line, outcome = 'completed') => {
    const turn = await client.prompt(line);
    assert.equal(turn.outcome, outcome, `${line}: ${turn.text}`);
    return turn;
  };
  return { place, client, run, state: (env) => path.join(place.project, 'state', `${env}.txt`) };
}

test('from plan to destroy', async (t) => {
  const { place, client, run, state } = await open(t);
  assert.match((await run('status')).text, /dev: down/);
  assert.match((await run('plan dev')).text, /\+web +1/);
  assert.match((await run('apply dev')).text, /dev is up/);
  assert.equal(readFileSync(state('dev'), 'utf8'), readFileSync(path.join(place.project, 'envs/dev.txt'), 'utf8'));
  assert.match((await run('status')).text, /dev: up/);
  assert.doesNotMatch((await run('plan dev')).text, /\+web/);
  const waits = await run('destroy dev', 'waiting');
  assert.ok(existsSync(state('dev')));
  await run(`confirm ${code(waits.text)}`);
  assert.ok(!existsSync(state('dev')));
  await run('apply prod');
  await run('plan test', 'refused');
  await run('apply', 'refused');
  await client.finish();
});

test('restart is asked for where a person is asked', async (t) => {
  const permission = ({ options }) => ({ outcome: { outcome: 'selected', optionId: options.find((o) => o.kind === 'allow_once').optionId } });
  const { client, run } = await open(t, { clientInfo: { name: 'zed', version: '1' }, permission });
  assert.match(JSON.stringify((await run('restart dev web', 'failed')).tools), /dev is down; run: apply dev/);
  await run('apply dev');
  assert.match(JSON.stringify((await run('restart dev web')).tools), /web is healthy/);
  assert.equal(client.asked.length, 2);
  await client.finish();
});

test('logs, until it is cancelled', async (t) => {
  const { client, run } = await open(t);
  const { text } = await run('logs -n 1');
  assert.match(text, /healthy/);
  assert.doesNotMatch(text, /listening/);
  const from = client.wire.updates.length;
  const follow = client.prompt('logs --follow');
  await client.wire.shows(/healthy/, from);
  await client.cancel();
  assert.equal((await follow).stopReason, 'cancelled');
  await client.finish();
});

test('top has a terminal', async (t) => {
  const { client, run } = await open(t);
  const { text } = await run('top');
  assert.match(text, /on \/dev\//);
  assert.match(text, /web +11 %/);
  await client.finish();
});

test('go test and check', async (t) => {
  const { client, run } = await open(t);
  assert.match((await run('go test -v -run=TestParse ./envfile')).text, /--- PASS: TestParse\/services/);
  assert.match((await run('check')).text, /envs\/dev\.txt: ok/);
  await run('go test -exec=sh ./envfile', 'refused');
  await client.finish();
});
