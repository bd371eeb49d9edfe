// Wire reads both directions of a connection beside the client and notes what
// the agent does wrong, whether the client minds or not.
import { readFileSync } from 'node:fs';
import Ajv from 'ajv/dist/2020.js';

// The largest line that every known client takes without freezing.
export const MAX_LINE = 32 << 10;

const schema = JSON.parse(readFileSync(new URL('../node_modules/acp-sdk-newest/schema/v1/schema.json', import.meta.url)));

// The formats are Rust's integer types, and uri; the types say enough.
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(schema, 'acp');

const results = {
  initialize: 'InitializeResponse',
  authenticate: 'AuthenticateResponse',
  logout: 'LogoutResponse',
  'session/new': 'NewSessionResponse',
  'session/load': 'LoadSessionResponse',
  'session/resume': 'ResumeSessionResponse',
  'session/list': 'ListSessionsResponse',
  'session/close': 'CloseSessionResponse',
  'session/delete': 'DeleteSessionResponse',
  'session/set_mode': 'SetSessionModeResponse',
  'session/set_config_option': 'SetSessionConfigOptionResponse',
  'session/prompt': 'PromptResponse',
};

// What the agent may send of its own accord to a client that offers no files, no
// terminals and no forms. (acpx offers files and terminals; a command runner has
// no use for them.)
const sends = {
  'session/update': 'SessionNotification',
  'session/request_permission': 'RequestPermissionRequest',
  '$/cancel_request': 'CancelRequestNotification',
};

function mismatch(type, value) {
  const validate = ajv.getSchema(`acp#/$defs/${type}`);
  if (validate(value)) return '';
  return `is no ${type}: ${ajv.errorsText(validate.errors)}`;
}

const ended = new Set(['completed', 'failed']);

export class Wire {
  problems = [];
  nullErrors = []; // errors with id null: answers to what cannot be answered
  updates = []; // {sessionId, update} in order
  longest = 0; // bytes of the longest line of the agent

  #partial = { agent: [], client: [] };
  #requests = new Map(); // open requests of the client: JSON of the id -> {method, sessionId}
  #asked = new Map(); // open requests of the agent
  #tools = new Map(); // toolCallId -> {sessionId, status}
  #waiters = new Set();
  #over = false;

  // bytes takes what one side wrote. Lines of the client that are not JSON are
  // the test's own junk.
  bytes(side, chunk) {
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      this.#partial[side].push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#partial[side]);
      this.#partial[side] = [];
      if (side === 'agent') this.agentLine(line);
      else this.clientLine(line);
    }
    if (start < chunk.length) this.#partial[side].push(chunk.subarray(start));
  }

  // end says that the agent's output is over.
  end() {
    if (this.#partial.agent.length > 0) this.problem('the output ends inside a line', Buffer.concat(this.#partial.agent));
    this.#over = true;
    this.#wake();
  }

  clientLine(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (message === null || typeof message !== 'object' || message.jsonrpc !== '2.0') return;
    const id = JSON.stringify(message.id);
    if (typeof message.method === 'string' && id !== undefined) {
      this.#requests.set(id, { method: message.method, sessionId: message.params?.sessionId });
    } else if (message.method === undefined) {
      this.#asked.delete(id);
    }
  }

  agentLine(line) {
    this.longest = Math.max(this.longest, line.length);
    if (line.length > MAX_LINE) this.problem(`a line of ${line.length} bytes`, line);
    let message;
    try {
      message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
    } catch (error) {
      this.problem(`no JSON: ${error.message}`, line);
      return;
    }
    if (message === null || typeof message !== 'object' || Array.isArray(message)) this.problem('no object', line);
    else if (message.jsonrpc !== '2.0') this.problem('no jsonrpc "2.0"', line);
    else if (message.method !== undefined) this.#fromAgent(message, line);
    else this.#answer(message, line);
    this.#wake();
  }

  // log takes one line of a log of both directions that does not say which it is.
  log(line) {
    const message = JSON.parse(line);
    if (message.method?.startsWith('$/')) return; // may be of either side
    const id = JSON.stringify(message.id);
    const ofClient =
      message.method === undefined
        ? this.#asked.has(id) && (!this.#requests.has(id) || message.result?.outcome !== undefined)
        : !(message.method in sends) && !/^(fs|terminal|elicitation)\//.test(message.method);
    if (ofClient) this.clientLine(line);
    else this.agentLine(Buffer.from(line));
  }

  problem(what, line) {
    this.problems.push(`${what}: ${line.subarray(0, 400).toString()}`);
  }

  #fromAgent(message, line) {
    const type = Object.hasOwn(sends, message.method) && sends[message.method];
    if (!type) {
      this.problem('a method that the client did not offer', line);
      return;
    }
    const wrong = mismatch(type, message.params);
    if (wrong) this.problem(`${message.method} ${wrong}`, line);
    const isRequest = message.id !== undefined;
    if (isRequest !== (type === 'RequestPermissionRequest')) this.problem('a request without id, or a notification with one', line);
    if (isRequest) this.#asked.set(JSON.stringify(message.id), message.method);
    else if (type === 'SessionNotification') this.#update(message.params, line);
    else if (!this.#asked.has(JSON.stringify(message.params?.requestId))) this.problem('the end of a request that is not open', line);
  }

  #update(params, line) {
    if (typeof params?.update !== 'object' || params.update === null) return;
    const { sessionId, update } = params;
    this.updates.push({ sessionId, update });
    // The list of commands and the session's title and options may come at any
    // time; whatever else comes belongs to a turn, or to the replay of some.
    const always = ['available_commands_update', 'session_info_update', 'config_option_update'];
    if (!always.includes(update.sessionUpdate) && !this.#inTurn(sessionId)) this.problem('an update outside of a turn', line);
    switch (update.sessionUpdate) {
      case 'tool_call':
        if (this.#tools.has(update.toolCallId)) this.problem('a tool call id is used twice', line);
        this.#tools.set(update.toolCallId, { sessionId, status: update.status });
        break;
      case 'tool_call_update': {
        const tool = this.#tools.get(update.toolCallId);
        if (!tool) this.problem('an update of no tool call', line);
        else if (ended.has(tool.status) && update.status !== tool.status) this.problem('a tool call ends twice', line);
        if (update.status === undefined) this.problem('a tool call update without status', line);
        if (tool) tool.status = update.status;
      }
    }
  }

  #inTurn(sessionId) {
    return [...this.#requests.values()].some((r) => (r.method === 'session/prompt' || r.method === 'session/load') && r.sessionId === sessionId);
  }

  #answer(message, line) {
    if (('result' in message) === ('error' in message)) this.problem('neither or both of result and error', line);
    if ('error' in message) {
      const wrong = mismatch('Error', message.error);
      if (wrong) this.problem(wrong, line);
    }
    if (message.id === null && 'error' in message) {
      this.nullErrors.push(message.error);
      return;
    }
    const id = JSON.stringify(message.id);
    const request = this.#requests.get(id);
    if (!request) {
      this.problem('an answer to nothing asked', line);
      return;
    }
    this.#requests.delete(id);
    if ('result' in message && Object.hasOwn(results, request.method)) {
      const wrong = mismatch(results[request.method], message.result);
      if (wrong) this.problem(`the answer to ${request.method} ${wrong}`, line);
    }
    if (request.method !== 'session/prompt' || 'error' in message) return;
    for (const [toolCallId, tool] of this.#tools) {
      if (tool.sessionId === request.sessionId && !ended.has(tool.status)) this.problem(`the turn ends and tool call ${toolCallId} has not`, line);
    }
  }

  // text is what a client that shows messages shows of the updates from the
  // given one on.
  text(from = 0) {
    return this.updates
      .slice(from)
      .filter(({ update }) => update.sessionUpdate === 'agent_message_chunk')
      .map(({ update }) => update.content.text ?? '')
      .join('');
  }

  // tools are the tool calls from the given update on, each with all of its
  // updates laid over one another.
  tools(from = 0) {
    const calls = new Map();
    for (const { update } of this.updates.slice(from)) {
      if (!update.sessionUpdate.startsWith('tool_call')) continue;
      calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
    }
    return [...calls.values()];
  }

  // shows resolves once the text from the given update on matches.
  async shows(pattern, from = 0) {
    while (!pattern.test(this.text(from))) {
      if (this.#over) throw new Error(`the agent ended and never showed ${pattern}, only: ${this.text(from)}`);
      await new Promise((resolve) => this.#waiters.add(resolve));
    }
  }

  #wake() {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const resolve of waiters) resolve();
  }
}
