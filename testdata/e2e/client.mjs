// A client as a process of its own, to be killed: starts the agent (argv: SDK
// version, agent, directory), prompts, and passes on what the agent shows.
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';

const [version, agent, cwd, line] = process.argv.slice(2);
const sdk = await import(`acp-sdk-${version}`);

const child = spawn(agent, [], { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
const stream = sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const update = ({ update }) => update.sessionUpdate === 'agent_message_chunk' && void process.stdout.write(update.content.text);

let call;
if (version === 'strict') {
  const connection = new sdk.ClientSideConnection(() => ({ sessionUpdate: update }), stream);
  call = (strict, _method, params) => connection[strict](params);
} else {
  const connection = sdk.client().onNotification('session/update', ({ params }) => update(params)).connect(stream);
  call = (_strict, method, params) => connection.agent.request(method, params);
}
process.stdout.write(`agent ${child.pid}\n`);
await call('initialize', 'initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } });
const { sessionId } = await call('newSession', 'session/new', { cwd, mcpServers: [] });
await call('prompt', 'session/prompt', { sessionId, prompt: [{ type: 'text', text: line }] });
