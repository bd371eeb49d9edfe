// use-acp, the client of marimo, with the bridge that marimo tells people to start; without
// marimo's page. Needs Node 22 and a folder in which
//   npm i use-acp@0.2.6 react@19.2.0 react-dom@19.2.0 stdio-to-ws@0.2.0 jsdom@26.0.0
// was run:
//   MODULES=/path/node_modules node use-acp.mjs /path/chant-acp
// It writes docs/clients/use-acp.md anew below its heading.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Page, Project } from './page.mjs';

const [binary] = process.argv.slice(2);
const modules = process.env.MODULES;
const need = createRequire(path.join(modules, 'x.js'));
const project = new Project(binary);
const page = new Page('use-acp', project);

const { JSDOM } = need('jsdom');
const dom = new JSDOM('<div id="root"></div>');
globalThis.window = dom.window;
globalThis.document = dom.window.document;
console.log = () => {}; // it says what it does
const React = need('react');
const { createRoot } = need('react-dom/client');
const acp = await import(pathToFileURL(path.join(modules, 'use-acp/dist/index.js')));

const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const bridge = spawn(process.execPath, [path.join(modules, 'stdio-to-ws/dist/main.js'), binary, '--port', port], { cwd: '/', env: project.env(), stdio: 'ignore' });

async function until(what, test) {
  const end = performance.now() + 30_000;
  for (;;) {
    const found = test();
    if (found) return found;
    if (performance.now() > end) throw new Error(`${what}: ${text(0)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
await new Promise((resolve) => setTimeout(resolve, 2000)); // the bridge says nothing when it listens

// The hook, in a component that shows nothing.
let client;
function Component() {
  client = acp.useAcpClient({ wsUrl: `ws://127.0.0.1:${port}/message`, autoConnect: true, reconnectAttempts: 1 });
  return null;
}
createRoot(document.getElementById('root')).render(React.createElement(Component));
await until('it does not connect', () => client?.agent);
const { agent } = client;
await agent.initialize({ protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } });

// text is the text of the notifications from one on, and the title and state of each tool
// call, in the order in which they began.
function text(from) {
  const shown = new Map();
  for (const { type, data } of client.notifications.slice(from)) {
    if (type !== 'session_notification') continue;
    const u = data.update;
    if (u.sessionUpdate === 'user_message_chunk') shown.set(shown.size, `> ${u.content.text}\n\n`);
    if (u.sessionUpdate === 'agent_message_chunk') shown.set(shown.size, u.content.text);
    if (u.sessionUpdate?.startsWith('tool_call')) {
      const title = u.title ?? shown.get(u.toolCallId)?.match(/\] (.*)/)[1];
      shown.set(u.toolCallId, `[${u.status}] ${title}\n\n`);
    }
  }
  const lines = [...shown.values()].join('').split('\n');
  if (lines.length > 60) lines.splice(20, lines.length - 40, `… ${lines.length - 40} lines more …`);
  return lines.join('\n');
}

let sessionId;
async function begin() {
  ({ sessionId } = await agent.newSession({ cwd: project.dir, mcpServers: [] }));
  await until('no session', () => client.activeSessionId === sessionId);
}
const prompt = (line) => agent.prompt({ sessionId, prompt: [{ type: 'text', text: line }] });

async function scene(name, ...lines) {
  await begin();
  for (const line of lines) await prompt(typeof line === 'string' ? line : line());
  await new Promise((resolve) => setTimeout(resolve, 300));
  page.add(name, text(0));
}

await scene('colour', 'colors');
const first = sessionId;
await scene('lines', 'lines');
await scene('location', 'vet');
await scene('refusal', 'colour');
await scene('confirmation', 'deploy', () => text(0).match(/confirm [a-z0-9]{6}/)[0]);
await scene('gate', 'run release', () => text(0).match(/approve release publish --run \w+/)[0], () => text(0).match(/run release --run \w+/)[0]);
await begin();
const slow = prompt('slow');
await until('it does not begin', () => /begun/.test(text(0)));
await agent.cancel({ sessionId });
await slow;
await prompt('colors');
await new Promise((resolve) => setTimeout(resolve, 300));
page.add('stop', text(0));
client.clearNotifications(first);
await agent.loadSession({ sessionId: first, cwd: project.dir, mcpServers: [] });
await until('it is not opened again', () => client.activeSessionId === first && /completed in/.test(text(0)));
page.add('reopened', text(0));
page.write('use-acp 0.2.6');
bridge.kill();
project.end();
process.exit(0);
