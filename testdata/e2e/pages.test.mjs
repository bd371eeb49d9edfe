// What a user sees of the clients that can be run here, against the pages of docs/clients.
// UPDATE_PAGES=1 writes them anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Acpx } from './lib/acpx.mjs';
import { binary, Place } from './lib/place.mjs';
import { code } from './lib/said.mjs';
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
