// codecompanion.nvim in Neovim, in a terminal. Needs tmux, Neovim 0.12 or newer with its
// parsers of tree-sitter, and a checkout of each of codecompanion.nvim and plenary.nvim:
//   NVIM=nvim LOAD=/path/codecompanion:/path/plenary node codecompanion.mjs /path/chant-acp
// It writes docs/clients/codecompanion.md anew below its heading.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Page, Project } from './page.mjs';
import { Screen } from './screen.mjs';

const [binary] = process.argv.slice(2);
const nvim = process.env.NVIM ?? 'nvim';
const project = new Project(binary);
const page = new Page('codecompanion', project);

const printed = execFileSync(binary, ['setup', 'neovim'], { encoding: 'utf8', env: project.env(), stdio: ['ignore', 'pipe', 'ignore'] });
const [mine] = printed.split('-- avante.nvim:');
const init = path.join(project.home, 'init.lua');
writeFileSync(init, `
for _, dir in ipairs({ ${process.env.LOAD.split(':').map((d) => `"${d}"`).join(', ')} }) do vim.opt.rtp:append(dir) end
vim.opt.swapfile = false
vim.cmd("runtime plugin/codecompanion.lua plugin/plenary.vim")
${mine}
require("codecompanion.config").display.chat.window.layout = "buffer"
vim.cmd("CodeCompanionChat")
-- what the slash command /resume does, without a completion to pick it from
vim.api.nvim_create_user_command("Resume", function()
  local resume = require("codecompanion.interactions.chat.slash_commands.builtin.resume")
  require("codecompanion.utils.async").sync(function()
    resume.new({ Chat = require("codecompanion").last_chat(), config = {}, context = {} }):execute()
  end)()
end, {})
`);

async function session(name, steps) {
  const screen = new Screen(`${nvim} --clean -u ${init}`, { env: project.env({ TERM: 'screen' }), cwd: project.dir });
  try {
    await screen.shows(/Me/);
    await steps(screen, (line) => {
      screen.press('Escape', 'G', 'A');
      screen.type(line);
      screen.press('Escape', 'C-s');
    });
    page.add(name, screen.text());
  } finally {
    screen.end();
  }
}

await session('colour', async (s, line) => {
  line('colors');
  await s.shows(/completed in/);
});
await session('lines', async (s, line) => {
  line('lines');
  await s.shows(/completed in/);
});
await session('location', async (s, line) => {
  line('vet');
  await s.shows(/failed with exit/);
});
await session('refusal', async (s, line) => {
  line('colour');
  await s.shows(/lists everything/);
});
await session('confirmation', async (s, line) => {
  line('deploy');
  await s.shows(/g2/);
  page.add('confirmation', s.text());
  s.press('g', '2');
  await s.shows(/completed in/);
});
await session('gate', async (s, line) => {
  line('run release');
  await s.shows(/g2/);
  page.add('gate', s.text());
  s.press('g', '2');
  await s.shows(/run release.? completed/);
});
await session('stop', async (s, line) => {
  line('slow');
  await s.shows(/begun/);
  s.press('Escape', 'q');
  await s.shows(/Me[^]*begun[^]*Me/);
  line('colors');
  await s.shows(/completed in/);
});
await session('reopened', async (s) => {
  await new Promise((resolve) => setTimeout(resolve, 2000)); // until it has connected
  s.press('Escape');
  s.type(':Resume');
  s.press('Enter');
  await s.shows(/Resume Session/);
  s.type('1');
  s.press('Enter');
  await s.shows(/colors[^]*completed in/);
});
page.write(execFileSync('sh', ['-c', `${nvim} --version`], { encoding: 'utf8' }).split('\n')[0]);
project.end();
