// The official TypeScript SDK's clients behind one face. `strict` is the last
// line of versions that refuses a whole message for one wrong field.
import assert from 'node:assert/strict';
import * as newest from 'acp-sdk-newest';
import * as strict from 'acp-sdk-strict';
import { Agent } from './agent.mjs';

export const versions = ['strict', 'newest'];

// The SDK reports what it can't read through console.error only.
export const complaints = [];
console.error = (...args) => complaints.push(args.map((a) => (typeof a === 'string' ? a : JSON.stringify(a))).join(' '));

const strictMethods = {
  initialize: 'initialize',
  'session/new': 'newSession',
  'session/load': 'loadSession',
  'session/resume': 'resumeSession',
  'session/prompt': 'prompt',
  'session/cancel': 'cancel',
};

function connectStrict(agent, handlers) {
  const client = { requestPermission: handlers.permission, sessionUpdate: handlers.update };
  const connection = new strict.ClientSideConnection(() => client, strict.ndJsonStream(agent.writable, agent.readable));
  return (method, params) => connection[strictMethods[method]](params);
}

function connectNewest(agent, handlers) {
  const app = newest
    .client()
    .onRequest('session/request_permission', ({ params }) => handlers.permission(params))
    .onNotification('session/update', ({ params }) => handlers.update(params));
  const connection = app.connect(newest.ndJsonStream(agent.writable, agent.readable));
  return (method, params) => (method === 'session/cancel' ? connection.agent.notify(method, params) : connection.agent.request(method, params));
}

// A Client is a connection with one session. `permission` answers permission
// requests; without one a request fails the test. `session` is {method, id} of
// one that is there already.
export class Client {
  asked = []; // the permission requests
  received = []; // the updates as the SDK handed them on

  static async start(t, version, place, options = {}) {
    const client = new Client();
    client.agent = new Agent(t, { args: options.args, env: options.env ?? place.env() });
    client.wire = client.agent.wire;
    complaints.length = 0;
    const handlers = {
      update: (params) => void client.received.push(params),
      permission: (params) => {
        client.asked.push(params);
        if (!options.permission) throw new Error('nobody is here to be asked');
        return options.permission(params, client);
      },
    };
    client.call = (version === 'strict' ? connectStrict : connectNewest)(client.agent, handlers);
    client.initialized = await client.call('initialize', {
      protocolVersion: 1,
      // An editor that does not say who it is is shown what a command prints as
      // message text.
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, ...options.capabilities },
      ...(options.clientInfo && { clientInfo: options.clientInfo }),
    });
    const { method = 'session/new', id } = options.session ?? {};
    client.opened = await client.call(method, { cwd: place.project, mcpServers: [], ...(id && { sessionId: id }) });
    client.sessionId = id ?? client.opened.sessionId;
    return client;
  }

  // prompt runs one turn and returns what came of it.
  async prompt(...blocks) {
    const from = this.wire.updates.length;
    const prompt = blocks.map((b) => (typeof b === 'string' ? { type: 'text', text: b } : b));
    const response = await this.call('session/prompt', { sessionId: this.sessionId, prompt });
    const tools = this.wire.tools(from);
    return { ...response, outcome: response._meta?.chant?.outcome, text: this.wire.text(from), tools, tool: tools[0] };
  }

  cancel() {
    return this.call('session/cancel', { sessionId: this.sessionId });
  }

  // finish ends the connection as a client does, and holds the agent to it: a
  // silent stderr, exit 0, every line valid, nothing the SDK complained about.
  async finish({ nullErrors = 0, allow } = {}) {
    this.agent.child.stdin.end();
    assert.deepEqual(await this.agent.exited, { code: 0, signal: null });
    assert.equal(this.agent.stderr, '');
    assert.deepEqual(this.wire.problems, []);
    assert.equal(this.wire.nullErrors.length, nullErrors, JSON.stringify(this.wire.nullErrors));
    assert.deepEqual(complaints.filter((c) => !allow?.test(c)), []);
    assert.equal(this.received.length, this.wire.updates.length, 'the SDK dropped updates');
  }
}
