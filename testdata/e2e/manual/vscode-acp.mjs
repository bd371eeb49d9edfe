// VS Code's extension "ACP Client": its own client and its own page, without VS Code around
// them. What it asks of VS Code is answered here; its page runs in jsdom. Needs Node 22, a
// checkout of vscode-acp, and a folder in which
//   npm i esbuild@0.25.0 jsdom@26.0.0 marked@15 @agentclientprotocol/sdk@0.21.1
// was run:
//   VSCODE_ACP=/path/vscode-acp MODULES=/path/node_modules node vscode-acp.mjs /path/chant-acp
// It writes docs/clients/vscode-acp.md anew below its heading.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Page, Project } from './page.mjs';

const [binary] = process.argv.slice(2);
const modules = process.env.MODULES;
const source = process.env.VSCODE_ACP;
const need = createRequire(path.join(modules, 'x.js'));
const project = new Project(binary);
const page = new Page('vscode-acp', project);

// What the extension asks of VS Code.
const vscode = `
  export class EventEmitter { event = () => ({ dispose() {} }); fire() {} dispose() {} }
  export const Uri = { file: (p) => ({ fsPath: p }) };
  export const env = {};
  export const window = {
    createOutputChannel: () => ({ append() {}, appendLine() {}, show() {}, dispose() {} }),
    showQuickPick: (items, options) => globalThis.quickPick(items, options),
    showInformationMessage: async () => undefined,
    showErrorMessage: async () => undefined,
  };
  export const workspace = {
    getConfiguration: () => ({ get: (key, otherwise) => globalThis.settings[key] ?? otherwise }),
    workspaceFolders: [{ uri: { fsPath: ${JSON.stringify(project.dir)} } }],
    textDocuments: [],
  };
  export const commands = { executeCommand: async () => undefined };
`;
const built = path.join(project.root, 'extension.mjs');
await need('esbuild').build({
  stdin: {
    contents: ['core/AgentManager', 'core/ConnectionManager', 'core/SessionManager', 'handlers/SessionUpdateHandler', 'ui/ChatWebviewProvider'].map((f) => `export * from './src/${f}';`).join('\n'),
    resolveDir: source,
    loader: 'ts',
  },
  bundle: true, platform: 'node', format: 'esm', outfile: built, nodePaths: [modules], logLevel: 'error',
  plugins: [{
    name: 'stand-ins',
    setup(build) {
      build.onResolve({ filter: /^(vscode|@vscode\/extension-telemetry)$/ }, ({ path }) => ({ path, namespace: 'stand-in' }));
      build.onLoad({ filter: /.*/, namespace: 'stand-in' }, ({ path }) => ({
        contents: path === 'vscode' ? vscode : 'export class TelemetryReporter {}', loader: 'js',
      }));
    },
  }],
});
const extension = await import(built);
const { JSDOM } = need('jsdom');

process.chdir('/');
process.env.SHELL = '/bin/sh';
for (const [key, value] of Object.entries(project.env())) process.env[key] = value;
globalThis.settings = { agents: { Chant: { command: binary, args: [], env: {} } }, autoApprovePermissions: 'ask' };

const style = (element) => element.ownerDocument.defaultView.getComputedStyle(element);

function keepsSpace(element) {
  for (let e = element; e; e = e.parentElement) {
    const { whiteSpace } = style(e);
    if (whiteSpace) return whiteSpace.startsWith('pre') || e.nodeName === 'PRE';
  }
  return false;
}

// blocks is the text of an element, a line for each block.
function blocks(element) {
  let text = '';
  for (const node of element.childNodes) {
    if (node.nodeType === 3) text += keepsSpace(node.parentElement) ? node.data : node.data.replace(/\s+/g, ' ');
    else if (node.nodeName === 'BR') text += '\n';
    else if (node.nodeType === 1 && style(node).display !== 'none') {
      const block = /^(DIV|P|PRE|UL|OL|LI|H\d|DETAILS|SUMMARY|BLOCKQUOTE|TABLE|TR)$/.test(node.nodeName);
      const indent = node.nodeName === 'PRE' ? '    ' : '';
      const inner = blocks(node);
      text += block ? `\n${inner.trimEnd().replace(/^(?=.)/gm, indent)}\n` : inner;
    }
  }
  return text.replace(/\n{3,}/g, '\n\n');
}

// Client is the extension, with its page.
class Client {
  constructor() {
    const updates = new extension.SessionUpdateHandler();
    this.agents = new extension.AgentManager();
    this.sessions = new extension.SessionManager(this.agents, new extension.ConnectionManager(updates), updates);
    this.provider = new extension.ChatWebviewProvider({ fsPath: source }, this.sessions, updates);
    this.sessions.on('active-session-changed', () => this.provider.notifyActiveSessionChanged());
    this.sessions.on('session-load-start', () => this.provider.notifyLoadSessionStart());
    this.sessions.on('session-load-end', (_session, _agent, ok) => this.provider.notifyLoadSessionEnd(ok));
    let receive;
    const webview = {
      cspSource: '', options: {}, html: '',
      asWebviewUri: (uri) => uri,
      onDidReceiveMessage: (f) => (receive = f),
      postMessage: (data) => this.dom.window.dispatchEvent(new this.dom.window.MessageEvent('message', { data })),
    };
    this.provider.resolveWebviewView({ webview, onDidDispose() {}, onDidChangeVisibility() {}, show() {} });
    this.dom = new JSDOM(webview.html, {
      runScripts: 'dangerously',
      beforeParse: (window) => {
        window.acquireVsCodeApi = () => ({ postMessage: (m) => setTimeout(() => receive(m)), getState() {}, setState() {} });
        window.Element.prototype.scrollTo = window.Element.prototype.scrollIntoView = () => {};
      },
    });
    this.document = this.dom.window.document;
  }

  type(line) {
    const input = this.document.getElementById('promptInput');
    input.value = line;
    input.dispatchEvent(new this.dom.window.Event('input'));
    this.press();
  }

  // press presses the button that sends, or stops.
  press() {
    this.document.getElementById('sendStopBtn').click();
  }

  text() {
    return blocks(this.document.getElementById('messages')).trim();
  }

  // seen is the text, without the middle of a long one.
  seen() {
    const lines = this.text().split('\n');
    if (lines.length > 60) lines.splice(20, lines.length - 40, `… ${lines.length - 40} lines more …`);
    return lines.join('\n');
  }

  async shows(pattern) {
    const end = performance.now() + 30_000;
    while (!pattern.test(this.text())) {
      if (performance.now() > end) throw new Error(`never saw ${pattern}, but:\n${this.text()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await new Promise((resolve) => setTimeout(resolve, 300)); // its page renders at the end of a turn
  }

  end() {
    this.sessions.dispose?.();
    this.dom.window.close();
  }
}

let last;
async function session(scene, line, until, more = async () => {}) {
  globalThis.quickPick = async (items, options) => {
    page.add(scene, client.seen());
    page.add(scene, `${options.title}\n${options.placeHolder}\n${items.map((i) => `  ${i.label}  ${i.description}`).join('\n')}`);
    return items[0];
  };
  const client = new Client();
  last = (await client.sessions.connectToAgent('Chant')).sessionId;
  client.type(line);
  await client.shows(until);
  await more(client);
  page.add(scene, client.seen());
  await client.sessions.disconnectAgent('Chant');
  client.end();
}

await session('colour', 'colors', /completed in/);
const first = last;
await session('lines', 'lines', /completed in/);
await session('location', 'vet', /failed with exit/);
await session('refusal', 'colour', /lists everything/);
await session('confirmation', 'deploy', /completed in/);
await session('gate', 'run release', /run release completed|`run release` completed/);
await session('stop', 'slow', /begun/, async (client) => {
  client.press();
  await client.shows(/cancelled/);
  client.type('colors');
  await client.shows(/completed in/);
});
const again = new Client();
await again.sessions.loadSession('Chant', first);
await again.shows(/completed in/);
page.add('reopened', again.seen());
await again.sessions.disconnectAgent('Chant');
again.end();
const { version } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'));
page.write(`vscode-acp ${version}`);
project.end();
process.exit(0);
