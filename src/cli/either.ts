/**
 * Commands whose name serves two kinds of people: `restore` for a deleted resource and for a backup, `doctor` for this
 * command line and for an installation. What was there first is unchanged.
 */
import { type Environment, environmentTwin, readOptions } from '../service/settings/options.ts';
import { serviceOptions } from './connection/settings.ts';
import type { Command } from './terminal/command.ts';

interface Loaded {
  readonly command: Command;
}

export async function restore(): Promise<Loaded> {
  const { command, isBackup } = await import('./vault/restore.ts');
  const run = async (args: readonly string[]) => {
    const chosen = isBackup(args) ? (await import('./service/restore.ts')).command : command;
    await chosen.run(args);
  };
  return { command: { ...command, run } };
}

export async function doctor(): Promise<Loaded> {
  const { client, command, report } = await import('./service/doctor.ts');
  /** Its flags are others, so this is known before they are read. */
  const isForClient = (args: readonly string[], environment: Environment) => {
    const set = environment[environmentTwin('client')];
    return args.includes('--client') || (set !== undefined && client.parse(set));
  };
  const run = async (args: readonly string[]) => {
    if (!isForClient(args, process.env)) return command.run(args);
    const values = readOptions({ ...serviceOptions, client }, args, process.env);
    const { examineClient } = await import('./vault/client-doctor.ts');
    await report(examineClient(values, process.env), values.json);
  };
  return { command: { ...command, run } };
}
