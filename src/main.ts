/** The command: picks one file of cli/, and turns every failure into one line and an exit code. */
import packageJson from '../package.json' with { type: 'json' };
import type { Command } from './cli/command.ts';
import { commands, groups } from './cli/commands.ts';
import { messageOf, Refusal, UsageError } from './report.ts';

async function main(args: readonly string[]): Promise<void> {
  const [first] = args;
  if (first === '--version' || first === 'version') {
    process.stdout.write(`${packageJson.version}\n`);
    return;
  }
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    process.stdout.write(await helpOn(args.slice(1)));
    return;
  }
  if (first === 'complete') {
    await (await import('./cli/complete.ts')).complete(commands, args.slice(1));
    return;
  }
  const name = nameIn(args);
  if (name === undefined) throw await unknown(first);
  await runCommand(await load(name), args.slice(name.split(' ').length));
}

async function runCommand(command: Command, args: readonly string[]): Promise<void> {
  // What follows belongs to the program that is run.
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  if (own.includes('--help') || own.includes('-h')) {
    process.stdout.write(await helpOf(command));
    return;
  }
  if (own.some(arg => arg.startsWith('--database-'))) {
    const { warningsOf } = await import('./cli/warnings.ts');
    for (const line of warningsOf(own)) process.stderr.write(`strongroom: ${line}\n`);
  }
  await command.run(args);
}

function nameIn(args: readonly string[]): string | undefined {
  return Object.keys(commands).find(known => `${args.join(' ')} `.startsWith(`${known} `));
}

async function load(name: string): Promise<Command> {
  return (await commands[name]!()).command;
}

async function unknown(given: string): Promise<UsageError> {
  const { closest } = await import('./cli/suggestion.ts');
  const near = closest(given, Object.keys(commands));
  const advice = near === null ? 'see strongroom --help' : `did you mean strongroom ${near}?`;
  return new UsageError(`unknown command ${JSON.stringify(given)}: ${advice}`);
}

async function helpOn(args: readonly string[]): Promise<string> {
  const name = nameIn(args);
  if (name !== undefined) return helpOf(await load(name));
  const sections = await Promise.all(
    Object.entries(groups).map(([title, group]) => section(title, Object.keys(group))),
  );
  return `Strongroom is a self-hosted vault for secrets, keys and certificates.\n\n${sections.join('\n')}\nRun strongroom COMMAND --help for the flags of a command.\n`;
}

async function helpOf(command: Command): Promise<string> {
  return (await import('./options.ts')).helpFor(command);
}

async function section(title: string, names: readonly string[]): Promise<string> {
  const loaded = await Promise.all(names.map(load));
  return `${title}:\n${loaded.map(({ usage, summary }) => `  ${usage.padEnd(38)} ${summary}\n`).join('')}`;
}

// A program that we run makes its files as it would without us.
if (process.argv[2] !== 'run') process.umask(0o077);
main(process.argv.slice(2)).catch(async error => {
  process.stderr.write(`strongroom: ${await messageOf(error)}\n`);
  process.exit(error instanceof Refusal ? error.exitCode : error instanceof UsageError ? 2 : 1);
});
