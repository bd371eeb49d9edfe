// The checker itself: what it must let pass, and what it must find.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_LINE, Wire } from './lib/wire.mjs';

const prompt = { jsonrpc: '2.0', id: 2, method: 'session/prompt', params: { sessionId: 's', prompt: [] } };
const done = { jsonrpc: '2.0', id: 2, result: { stopReason: 'end_turn' } };
const update = (u) => ({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update: u } });
const chunk = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const call = (status) => update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'x', status });
const callUpdate = (status) => update({ sessionUpdate: 'tool_call_update', toolCallId: 't', status });

function turn(...lines) {
  const wire = new Wire();
  wire.clientLine(JSON.stringify(prompt));
  for (const line of lines) wire.bytes('agent', Buffer.from((typeof line === 'string' ? line : JSON.stringify(line)) + '\n'));
  wire.end();
  return wire;
}

test('a turn as it should be', () => {
  const wire = turn(call('in_progress'), chunk('a'), callUpdate('in_progress'), chunk('b'), callUpdate('completed'), done);
  assert.deepEqual(wire.problems, []);
  assert.equal(wire.text(), 'ab');
  assert.deepEqual(wire.tools().map((t) => t.status), ['completed']);
});

const wrong = {
  'an unknown update': [update({ sessionUpdate: 'chant_output', text: 'x' }), done],
  'a chunk without content': [update({ sessionUpdate: 'agent_message_chunk' }), done],
  'an unknown stop reason': [{ ...done, result: { stopReason: 'waiting' } }],
  'a result of the wrong type': [{ ...done, result: 5 }],
  'a result beside an error': [{ ...done, error: { code: -32603, message: 'x' } }],
  'an error without message': [{ jsonrpc: '2.0', id: 2, error: { code: -32603 } }],
  'a second answer': [done, done],
  'no jsonrpc': [{ ...done, jsonrpc: undefined }],
  'text between the messages': ['starting', done],
  'an array': [[chunk('a')], done],
  'a line that is too long': [chunk('x'.repeat(MAX_LINE)), done],
  'an update after the turn': [done, chunk('late')],
  'a tool call that never ends': [call('in_progress'), done],
  'a tool call that ends twice': [call('in_progress'), callUpdate('completed'), callUpdate('failed'), done],
  'a tool call update without status': [call('completed'), callUpdate(undefined), done],
  'an update of no tool call': [callUpdate('completed'), done],
  'a tool call id used twice': [call('completed'), call('completed'), done],
  'a method nobody offered': [{ jsonrpc: '2.0', id: 0, method: 'terminal/create', params: {} }, done],
  'a permission request without options': [
    { jsonrpc: '2.0', id: 0, method: 'session/request_permission', params: { sessionId: 's', toolCall: { toolCallId: 't' } } },
    done,
  ],
};
for (const [name, lines] of Object.entries(wrong)) {
  test(`finds ${name}`, () => assert.notDeepEqual(turn(...lines).problems, []));
}

test('finds an unfinished last line', () => {
  const wire = new Wire();
  wire.bytes('agent', Buffer.from('{"jsonrpc"'));
  wire.end();
  assert.equal(wire.problems.length, 1);
});

test('a log of both directions with overlapping ids', () => {
  const wire = new Wire();
  const ask = {
    jsonrpc: '2.0',
    id: 2,
    method: 'session/request_permission',
    params: { sessionId: 's', toolCall: { toolCallId: 't' }, options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }] },
  };
  const answer = { jsonrpc: '2.0', id: 2, result: { outcome: { outcome: 'selected', optionId: 'yes' } } };
  for (const message of [prompt, call('pending'), ask, answer, callUpdate('completed'), done]) wire.log(JSON.stringify(message));
  assert.deepEqual(wire.problems, []);
  assert.equal(wire.tools()[0].status, 'completed');
});
