/** The command: picks one file of cli/, and turns every failure into one line and an exit code. */
import packageJson from '../package.json' with { type: 'json' };
import type { Command } from './cli/command.ts';
import { UsageError } from './config.ts';
import { RootKeyError } from './keyring/root-key/root-key.ts';
import { describe } from './report.ts';

const commands: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  serve: () => import('./cli/serve.ts'),
  setup: () => import('./cli/setup.ts'),
  'organization set-plan': () => import('./cli/set-plan.ts'),
  'keyring rotate': async () => ({ command: (await import('./cli/keyring.ts')).rotateCommand }),
  'keyring status': async () => ({ command: (await import('./cli/keyring.ts')).statusCommand }),
  'root-key rotate': () => import('./cli/root-key.ts'),
  'audit verify': async () => ({ command: (await import('./cli/audit.ts')).verifyCommand }),
  'audit export': async () => ({ command: (await import('./cli/audit.ts')).exportCommand }),
  'audit public-key': async () => ({ command: (await import('./cli/audit.ts')).publicKeyCommand }),
  'mcp config': () => import('./cli/mcp-config.ts'),
  mcp: () => import('./cli/mcp.ts'),
};

async function main(args: readonly string[]): Promise<void> {
  const name = Object.keys(commands).find(known => `${args.join(' ')} `.startsWith(`${known} `));
  if (args[0] === '--version') {
    process.stdout.write(`${packageJson.version}\n`);
    return;
  }
  if (name === undefined) {
    const asked = args[0] === undefined || args[0] === '--help' || args[0] === 'help';
    if (!asked) throw new UsageError(`there is no command ${JSON.stringify(args[0])}: see strongroom --help`);
    process.stdout.write(await overview());
    return;
  }
  const { command } = await commands[name]!();
  const rest = args.slice(name.split(' ').length);
  if (rest.includes('--help')) process.stdout.write(command.help());
  else await command.run(rest);
}

async function overview(): Promise<string> {
  const loaded = await Promise.all(Object.values(commands).map(load => load()));
  const lines = loaded.map(({ command }) => `  ${command.usage.padEnd(32)} ${command.summary}`);
  return `Strongroom keeps a team's secrets, keys and certificates.\n\nCommands:\n${lines.join('\n')}\n\nstrongroom COMMAND --help says more.\n`;
}

process.umask(0o077);
main(process.argv.slice(2)).catch(error => {
  const expected = error instanceof UsageError || error instanceof RootKeyError;
  process.stderr.write(`strongroom: ${expected ? error.message : describe(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
});
