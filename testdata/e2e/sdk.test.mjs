// The official SDK's clients, the strict one and the newest, over stdio.
import assert from 'node:assert/strict';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, test } from 'node:test';
import { Place } from './lib/place.mjs';
import { Client, complaints, versions } from './lib/sdk.mjs';
import { code, flood, floodBytes, mixedLines, unfenced } from './lib/said.mjs';

const zed = { name: 'zed', version: '1.0.0' };
const once = (kind) => ({ options }) => ({ outcome: { outcome: 'selected', optionId: options.find((o) => o.kind === kind).optionId } });

for (const version of versions) {
  describe(`SDK ${version}`, () => {
    const open = (t, place, options) => Client.start(t, version, place, options);

    test('initialize promises only what is there', async (t) => {
      const client = await open(t, new Place(t));
      assert.equal(client.initialized.protocolVersion, 1);
      assert.equal(client.initialized.agentInfo.name, 'chant-acp');
      assert.deepEqual(client.initialized.authMethods, []);
      await client.finish();
    });

    test('a prompt runs its command in the directory of the session', async (t) => {
      const place = new Place(t);
      const client = await open(t, place);
      const hello = await client.prompt('hello');
      assert.equal(hello.stopReason, 'end_turn');
      assert.equal(hello.outcome, 'completed');
      assert.equal(hello.tools.length, 1);
      assert.equal(hello.tool.kind, 'execute');
      assert.equal(hello.tool.status, 'completed');
      assert.equal(hello.tool.rawOutput.exitCode, 0);
      assert.match(hello.text, /hello from the project/);
      const where = await client.prompt('/where');
      assert.ok(unfenced(where.text).includes(place.project), where.text);
      const commands = client.wire.updates.filter((u) => u.update.sessionUpdate === 'available_commands_update');
      assert.ok(commands[0].update.availableCommands.some((c) => c.name === 'hello'));
      await client.finish();
    });

    test('no part of a prompt is read as shell', async (t) => {
      const place = new Place(t);
      const client = await open(t, place);
      const said = await client.prompt(`say '$HOME' "a  b" '$(id)' ';' touch x`);
      assert.equal(said.stopReason, 'end_turn');
      for (const word of ['<$HOME>', '<a  b>', '<$(id)>', '<;>', '<touch>']) assert.ok(said.text.includes(word), said.text);
      assert.ok(!existsSync(path.join(place.project, 'x')));
      await client.finish();
    });

    test('a link is the file it points at', async (t) => {
      const place = new Place(t);
      const file = path.join(place.project, 'a b.txt');
      writeFileSync(file, '');
      const client = await open(t, place);
      const said = await client.prompt('say', { type: 'resource_link', name: 'a b.txt', uri: pathToFileURL(file).href });
      assert.match(said.text, /<a b\.txt>/);
      await client.finish();
    });

    test('what is no command is refused, and says what would work', async (t) => {
      const client = await open(t, new Place(t));
      const refused = await client.prompt('helo');
      assert.equal(refused.stopReason, 'refusal');
      assert.equal(refused.outcome, 'refused');
      assert.deepEqual(refused.tools, []);
      assert.match(refused.text, /\bhello\b/);
      assert.match(refused.text, /\bhelp\b/);
      for (const line of ['hello there', 'say "open', 'rm -rf /']) assert.equal((await client.prompt(line)).stopReason, 'refusal', line);
      assert.equal((await client.prompt('hello')).stopReason, 'end_turn');
      await client.finish();
    });

    test('zed takes refused prompts out of the thread, so there the turn ends well', async (t) => {
      const client = await open(t, new Place(t), { clientInfo: zed });
      const refused = await client.prompt('helo');
      assert.equal(refused.stopReason, 'end_turn');
      assert.equal(refused.outcome, 'refused');
      await client.finish();
    });

    test('a command that fails', async (t) => {
      const client = await open(t, new Place(t));
      const failed = await client.prompt('fail');
      assert.equal(failed.stopReason, 'end_turn');
      assert.equal(failed.outcome, 'failed');
      assert.equal(failed.tool.status, 'failed');
      assert.equal(failed.tool.rawOutput.exitCode, 7);
      assert.match(failed.text, /about to fail\n[^]*it went wrong\n[^]*\b7\b/);
      await client.finish();
    });

    test('a program that is not there is named', async (t) => {
      const client = await open(t, new Place(t));
      const failed = await client.prompt('missing');
      assert.equal(failed.stopReason, 'end_turn');
      assert.equal(failed.tool.status, 'failed');
      assert.match(failed.text, /no-such-program-e2e/);
      await client.finish();
    });

    test('a terminal of its own', async (t) => {
      const client = await open(t, new Place(t));
      const screen = await client.prompt('screen');
      assert.equal(screen.tool.status, 'completed', screen.text);
      assert.match(unfenced(screen.text), /^\d+ \d+$/m);
      await client.finish();
    });

    describe('confirm', () => {
      const asking = (t, place, permission, more) => open(t, place, { clientInfo: zed, permission, ...more });

      test('allowed', async (t) => {
        const place = new Place(t);
        const client = await asking(t, place, once('allow_once'));
        const ran = await client.prompt('deploy');
        assert.equal(ran.stopReason, 'end_turn');
        assert.equal(ran.tool.status, 'completed');
        assert.equal(client.asked.length, 1);
        assert.equal(client.asked[0].toolCall.toolCallId, ran.tool.toolCallId);
        assert.equal(new Set(client.asked[0].options.map((o) => o.kind)).size, client.asked[0].options.length, 'one option a kind');
        assert.deepEqual(place.ran(), ['deploy']);
        await client.finish();
      });

      const noes = {
        rejected: once('reject_once'),
        dismissed: () => ({ outcome: { outcome: 'cancelled' } }),
        'answered with an option that was not offered': () => ({ outcome: { outcome: 'selected', optionId: 'yes please' } }),
        'answered with an error': () => Promise.reject(new Error('the dialog is broken')),
      };
      for (const [name, answer] of Object.entries(noes)) {
        test(name, async (t) => {
          const place = new Place(t);
          const client = await asking(t, place, answer);
          const no = await client.prompt('deploy');
          assert.equal(no.stopReason, 'end_turn');
          assert.equal(no.tool.status, 'failed');
          assert.equal(client.asked.length, 1);
          assert.deepEqual(place.ran(), []);
          assert.equal((await client.prompt('hello')).outcome, 'completed');
          await client.finish({ allow: /dialog is broken|Error handling request/ });
        });
      }

      test('cancelled while it asks, then allowed too late', async (t) => {
        const place = new Place(t);
        let late;
        const client = await asking(t, place, async (params, client) => {
          await client.cancel();
          await new Promise((resolve) => (late = resolve));
          return once('allow_once')(params);
        });
        const cancelled = await client.prompt('deploy');
        assert.equal(cancelled.stopReason, 'cancelled');
        assert.equal(cancelled.tool.status, 'failed');
        late();
        assert.equal((await client.prompt('hello')).outcome, 'completed');
        assert.deepEqual(place.ran(), []);
        await client.finish();
      });

      test('a client not known to ask a person gets a code to type', async (t) => {
        const place = new Place(t);
        const client = await open(t, place, { permission: once('allow_once') });
        const waits = await client.prompt('deploy');
        assert.equal(waits.stopReason, 'end_turn');
        assert.equal(waits.outcome, 'waiting');
        assert.deepEqual(place.ran(), []);
        const ran = await client.prompt(`confirm ${code(waits.text)}`);
        assert.equal(ran.outcome, 'completed');
        assert.equal(ran.tool.status, 'completed');
        assert.deepEqual(place.ran(), ['deploy']);
        assert.deepEqual(client.asked, []);
        await client.finish();
      });

      test('destroying is confirmed by a code everywhere, once', async (t) => {
        const place = new Place(t);
        const client = await asking(t, place, once('allow_once'));
        const waits = await client.prompt('wipe');
        assert.equal(waits.outcome, 'waiting');
        assert.deepEqual(client.asked, []);
        assert.equal((await client.prompt('confirm nonsense')).outcome, 'refused');
        assert.deepEqual(place.ran(), []);
        const line = `confirm ${code(waits.text)}`;
        assert.equal((await client.prompt(line)).outcome, 'completed');
        assert.equal((await client.prompt(line)).outcome, 'refused');
        assert.deepEqual(place.ran(), ['wipe']);
        await client.finish();
      });

      test('--confirm ask and --confirm retype go before what is known of the client', async (t) => {
        const place = new Place(t);
        const asked = await open(t, place, { args: ['serve', '--confirm', 'ask'], permission: once('allow_once') });
        assert.equal((await asked.prompt('deploy')).outcome, 'completed');
        await asked.finish();
        const typed = await asking(t, place, once('allow_once'), { args: ['serve', '--confirm', 'retype'] });
        assert.equal((await typed.prompt('deploy')).outcome, 'waiting');
        assert.deepEqual(typed.asked, []);
        await typed.finish();
        assert.deepEqual(place.ran(), ['deploy']);
      });
    });

    test('cancel ends the command and its whole tree', async (t) => {
      const place = new Place(t);
      const client = await open(t, place);
      const turn = client.prompt('tree');
      for (const member of ['child', 'stubborn', 'stray', 'leader']) await client.wire.shows(new RegExp(`up: ${member}`));
      await client.cancel();
      await client.cancel(); // the second one does not wait for the stubborn
      const { stopReason, outcome, tool } = await turn;
      assert.equal(stopReason, 'cancelled');
      assert.equal(outcome, 'cancelled');
      assert.equal(tool.status, 'failed');
      assert.deepEqual(await place.left(), []);
      await client.cancel(); // of nothing: says nothing
      assert.equal((await client.prompt('hello')).stopReason, 'end_turn');
      await client.finish();
    });

    test('a second prompt while the turn is open is an error, and the turn goes on', async (t) => {
      const client = await open(t, new Place(t));
      const turn = client.prompt('wait');
      await client.wire.shows(/waiting/);
      await assert.rejects(client.call('session/prompt', { sessionId: client.sessionId, prompt: [{ type: 'text', text: 'hello' }] }), { code: -32600 });
      await client.cancel();
      assert.equal((await turn).stopReason, 'cancelled');
      await client.finish();
    });

    test('a command that takes too long', async (t) => {
      const place = new Place(t);
      const client = await open(t, place);
      const late = await client.prompt('limited');
      assert.equal(late.stopReason, 'end_turn');
      assert.equal(late.outcome, 'failed');
      assert.equal(late.tool.status, 'failed');
      assert.match(late.text, /waiting/);
      assert.deepEqual(await place.left(), []);
      await client.finish();
    });

    test('junk on the input is answered line by line and harms nothing', async (t) => {
      const client = await open(t, new Place(t));
      const junk = [
        ['{bad', -32700],
        ['hello there', -32700],
        [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), -32700],
        ['42', -32600],
        ['"text"', -32600],
        ['null', -32600],
        ['[]', -32600],
        ['[{"jsonrpc":"2.0","id":900,"method":"session/list"}]', -32600],
        ['{}', -32600],
        ['{"jsonrpc":"1.0","id":901,"method":"initialize"}', 0], // answered with its id
        ['{"jsonrpc":"2.0","id":902,"method":5}', 0],
        ['', 0],
        ['   ', 0],
        ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}', 0],
        ['{"jsonrpc":"2.0","id":903,"result":{}}', 0],
        ['{"jsonrpc":"2.0","method":"no/such/notification"}', 0],
        ['x'.repeat(33 << 20), -32600], // over the limit of a line
      ];
      const running = client.prompt('wait');
      await client.wire.shows(/waiting/);
      for (const [line] of junk) await client.agent.write(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));
      await client.cancel();
      assert.equal((await running).stopReason, 'cancelled');
      for (const [line] of junk.slice(0, -1)) await client.agent.write(Buffer.concat([Buffer.from(line), Buffer.from('\r\n')]));
      assert.equal((await client.prompt('hello')).outcome, 'completed');
      const want = [...junk, ...junk.slice(0, -1)].map(([, c]) => c).filter((c) => c !== 0);
      assert.deepEqual(client.wire.nullErrors.map((e) => e.code), want);
      // What is no request, and has an id, is answered with it; no client has asked.
      const own = client.wire.problems.splice(0);
      assert.deepEqual(own.map((p) => p.match(/^an answer to nothing asked: .*"id":(90[12]),"error":\{"code":-32600,/)?.[1]), ['901', '902', '901', '902']);
      await client.finish({ nullErrors: want.length, allow: /^Got response to unknown request (null|901|902)/ });
    });

    test('20 MB are shown in part, counted in full and kept to the byte', async (t) => {
      const client = await open(t, new Place(t));
      const big = await client.prompt('flood');
      assert.equal(big.stopReason, 'end_turn');
      assert.equal(big.tool.status, 'completed');
      assert.equal(big.tool.rawOutput.bytes, floodBytes);
      assert.equal(big.tool.rawOutput.truncated, true);
      assert.equal(statSync(big.tool.rawOutput.log).size, floodBytes);
      const shown = unfenced(big.text).split('\n');
      assert.ok(big.text.length < 512 << 10, `${big.text.length} characters are shown`);
      assert.ok(shown.includes('1') && shown.includes('1000'), 'the beginning is shown');
      assert.ok(shown.includes(String(flood)) && shown.includes(String(flood - 1000)), 'the end is shown');
      await client.finish();
    });

    test('lines come complete and in order, of both streams', async (t) => {
      const client = await open(t, new Place(t));
      const { text, tool } = await client.prompt('mixed');
      assert.equal(tool.status, 'completed');
      assert.deepEqual(unfenced(text).split('\n').filter((l) => /^(out|err) \d+$/.test(l)), mixedLines);
      await client.finish();
    });

    test('zed gets the output as a terminal', async (t) => {
      const client = await open(t, new Place(t), { clientInfo: zed, capabilities: { _meta: { terminal_output: true } } });
      const from = client.wire.updates.length;
      await client.prompt('mixed');
      const metas = client.wire.updates.slice(from).map((u) => u.update._meta ?? {});
      assert.equal(metas.filter((m) => m.terminal_info).length, 1);
      const data = metas.map((m) => m.terminal_output?.data ?? '').join('');
      assert.deepEqual(data.replaceAll('\r', '').split('\n').filter(Boolean), mixedLines);
      const exits = metas.flatMap((m) => (m.terminal_exit ? [m.terminal_exit] : []));
      assert.deepEqual(exits.map((e) => e.exit_code), [0]);
      await client.finish();
    });

    describe('a session of an earlier process', () => {
      const before = async (t, place, options) => {
        const first = await open(t, place, options);
        const hello = await first.prompt('hello');
        const refused = await first.prompt('helo');
        await first.finish();
        return { id: first.sessionId, hello, refused };
      };
      const said = (client) => client.wire.updates.filter((u) => u.update.sessionUpdate === 'user_message_chunk').map((u) => u.update.content.text);

      test('session/load shows it again', async (t) => {
        const place = new Place(t);
        const { id, hello, refused } = await before(t, place);
        const client = await open(t, place, { session: { method: 'session/load', id } });
        assert.equal(client.initialized.agentCapabilities.loadSession, true);
        assert.deepEqual(said(client), ['hello', 'helo']);
        assert.equal(client.wire.text(), hello.text + refused.text);
        assert.deepEqual(client.wire.tools().map((c) => [c.toolCallId, c.status, c.rawOutput]), [[hello.tool.toolCallId, 'completed', hello.tool.rawOutput]]);
        assert.equal((await client.prompt('hello')).outcome, 'completed');
        await client.finish();
      });

      test('session/resume goes on with it and shows nothing', async (t) => {
        const place = new Place(t);
        const { id } = await before(t, place);
        const client = await open(t, place, { session: { method: 'session/resume', id } });
        assert.equal(client.wire.text(), '');
        assert.deepEqual(said(client), []);
        const history = await client.prompt('history');
        assert.match(history.text, /hello/);
        await client.finish();
      });

      test('output of a terminal is text where none is shown', async (t) => {
        const place = new Place(t);
        const capabilities = { _meta: { terminal_output: true } };
        const { id } = await before(t, place, { clientInfo: zed, capabilities });
        const shows = await open(t, place, { clientInfo: zed, capabilities, session: { method: 'session/load', id } });
        assert.match(shows.wire.updates.map((u) => u.update._meta?.terminal_output?.data ?? '').join(''), /hello from the project/);
        await shows.finish();
        const text = await open(t, place, { session: { method: 'session/load', id } });
        assert.match(unfenced(text.wire.text()), /hello from the project/);
        await text.finish();
      });

      test('one that is not there is an error', async (t) => {
        const client = await open(t, new Place(t));
        const params = { cwd: '/', mcpServers: [], sessionId: 'sess_none' };
        for (const method of ['session/load', 'session/resume']) await assert.rejects(client.call(method, params), { code: -32002 });
        await client.finish();
      });
    });

    test('an environment without PATH and HOME', async (t) => {
      const client = await open(t, new Place(t), { env: { CHANT_ACP_AGENT_ALLOW: 'always' } });
      assert.equal((await client.prompt('help')).outcome, 'completed');
      const failed = await client.prompt('hello');
      assert.equal(failed.stopReason, 'end_turn');
      assert.equal(failed.tool.status, 'failed');
      assert.match(failed.text, /PATH/);
      await client.finish();
    });

    test('a broken manifest leaves help, and allows nothing', async (t) => {
      const place = new Place(t);
      writeFileSync(path.join(place.project, 'chant-acp.yaml'), 'version: 1\ncommands:\n  hello:\n    sumary: typo\n    exec: [echo, hi]\n');
      const client = await open(t, place);
      const refused = await client.prompt('hello');
      assert.equal(refused.outcome, 'refused');
      assert.match(refused.text, /chant-acp\.yaml:4:5/);
      assert.equal((await client.prompt('help')).outcome, 'completed');
      await client.finish();
    });

    test('what the SDK complains about is counted', async (t) => {
      const client = await open(t, new Place(t));
      console.error('Error handling notification');
      await assert.rejects(client.finish(), /Error handling notification/);
      complaints.length = 0;
    });
  });
}
