/** The entry point of the command line: runs a command of cli/, and turns a failure into one line and an exit code. */
import packageJson from '../package.json' with { type: 'json' };
import { commands, groups } from './cli/commands.ts';
import type { Command } from './cli/terminal/command.ts';
import { note } from './cli/terminal/terminal.ts';
import { messageOf, Refusal, UsageError } from './service/settings/report.ts';

/** The exit code that a shell reports for a program ended by SIGPIPE. */
const endedByPipe = 141;

async function main(args: readonly string[]): Promise<void> {
  const [first] = args;
  if (first === '--version' || first === 'version') {
    process.stdout.write(`${packageJson.version}\n`);
    return;
  }
  if (first === undefined || isHelp(first) || first === 'help') {
    process.stdout.write(await helpOn(args.slice(1)));
    return;
  }
  if (first === 'complete') {
    await (await import('./cli/vault/complete.ts')).complete(commands, args.slice(1));
    return;
  }
  const name = nameIn(args);
  const within = beginningWith(first);
  if (name === undefined && within.length > 0 && args.some(isHelp)) {
    process.stdout.write(await section('Commands', within));
    return;
  }
  if (name === undefined) throw await unknown(first);
  await runCommand(await load(name), args.slice(name.split(' ').length));
}

const isHelp = (arg: string) => arg === '--help' || arg === '-h';

async function runCommand(command: Command, args: readonly string[]): Promise<void> {
  // Everything after `--` belongs to the program that is run.
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  if (own.some(isHelp)) {
    process.stdout.write(await helpOf(command));
    return;
  }
  if (own.some(arg => arg.startsWith('--database-'))) {
    const { warningsOf } = await import('./cli/terminal/warnings.ts');
    for (const line of warningsOf(own)) note(line);
  }
  await command.run(args);
}

/** The longest that matches: `log stream` is not `log` with an argument. */
function nameIn(args: readonly string[]): string | undefined {
  const matching = Object.keys(commands).filter(known => `${args.join(' ')} `.startsWith(`${known} `));
  return matching.sort((a, b) => b.length - a.length)[0];
}

/** The commands that begin with a word that is not a command by itself, such as `keyring`. */
function beginningWith(word: string): string[] {
  return Object.keys(commands).filter(known => known.startsWith(`${word} `));
}

async function load(name: string): Promise<Command> {
  return (await commands[name]!()).command;
}

async function unknown(given: string): Promise<UsageError> {
  const within = beginningWith(given).map(known => known.slice(given.length + 1));
  if (within.length > 0) return new UsageError(`${given} takes one of these: ${within.join(', ')}`);
  const { closest } = await import('./cli/terminal/suggestion.ts');
  const near = closest(given, Object.keys(commands));
  const advice = near === null ? 'see strongroom --help' : `did you mean strongroom ${near}?`;
  return new UsageError(`unknown command ${JSON.stringify(given)}: ${advice}`);
}

async function helpOn(args: readonly string[]): Promise<string> {
  const name = nameIn(args);
  if (name !== undefined) return helpOf(await load(name));
  const within = beginningWith(args[0] ?? '');
  if (within.length > 0) return section('Commands', within);
  const sections = await Promise.all(
    Object.entries(groups).map(([title, group]) => section(title, Object.keys(group))),
  );
  return `Strongroom is a self-hosted vault for secrets, keys and certificates.\n\n${sections.join('\n')}\nRun strongroom COMMAND --help for the flags of a command.\n`;
}

async function helpOf(command: Command): Promise<string> {
  return (await import('./service/settings/options.ts')).helpFor(command);
}

/** A command without a line in the table is loaded, which takes longer. */
async function section(title: string, names: readonly string[]): Promise<string> {
  const { helpLines } = await import('./cli/help-lines.ts');
  const lines = await Promise.all(names.map(async name => helpLines[name] ?? load(name)));
  return `${title}:\n${lines.map(({ usage, summary }) => `  ${usage.padEnd(38)} ${summary}\n`).join('')}`;
}

let isUnread = false;

/** The reader of our output may close it early, as `head` does. The command still runs to its end. */
function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    isUnread = true;
    process.exitCode ??= endedByPipe;
  });
}

// A program started by `run` or `ssh` keeps its umask and handles its own output.
if (!['run', 'ssh'].includes(process.argv[2] ?? '')) {
  process.umask(0o077);
  watchOutput();
}
main(process.argv.slice(2)).catch(async error => {
  if (isUnread) process.exit(endedByPipe);
  note(await messageOf(error));
  process.exit(error instanceof Refusal ? error.exitCode : error instanceof UsageError ? 2 : 1);
});
