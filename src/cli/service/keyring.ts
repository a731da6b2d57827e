/** `strongroom keyring`: rotates the keyring while the service runs, and shows the progress of a rotation. */
import type { Counts, RotationReport, RotationState } from '../../domain/operations/rotation.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { flag, readConfig } from '../../service/settings/config.ts';
import { counted } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';
import { operatorOf } from './operator.ts';

const statusOptions = { ...placeOptions, json: flag('print one JSON object') };
const rotateOptions = {
  ...statusOptions,
  'new-term': flag('start another version even if an earlier rotation is unfinished'),
};

export const rotateCommand: Command = {
  usage: 'keyring rotate [flags]',
  summary: 're-encrypt every vault’s key under a new keyring version, and retire the old one',
  options: rotateOptions,
  about:
    'Starts a new keyring version and moves everything to it while the service runs. If interrupted, run it again to finish.',
  run: async args => {
    const config = readConfig(rotateOptions, args, process.env);
    const say = (line: string) => {
      if (!config.json) process.stdout.write(`${line}\n`);
    };
    await withStrongroom(config, async ({ domain, newId }) => {
      const report = await domain.rotation.run(id => operatorOf(id, newId), {
        newTerm: config['new-term'],
        onStart: (term, resumed) =>
          say(resumed ? `Resuming with keyring version ${term}` : `Started keyring version ${term}`),
        onMoved: (holder, moved) => say(`  ${counted(moved, nouns[holder])} moved`),
      });
      process.stdout.write(config.json ? `${JSON.stringify(report)}\n` : describeReport(report));
      if (report.needed.length > 0) process.exitCode = 1;
    });
  },
};

export const statusCommand: Command = {
  usage: 'keyring status [flags]',
  summary: 'show the current keyring version, and what older ones still encrypt',
  options: statusOptions,
  about: 'Shows the state of the keyring’s versions.',
  run: async args => {
    const config = readConfig(statusOptions, args, process.env);
    await withStrongroom(config, async ({ domain }) => {
      const state = await domain.rotation.state();
      process.stdout.write(config.json ? `${JSON.stringify(state)}\n` : describeState(state));
    });
  },
};

const holders = ['vault', 'webhook', 'account'] as const;
const nouns = { vault: 'vault key', webhook: 'webhook', account: 'account' } as const;
const mostNamed = 10;

function countsOf(counts: Counts): string {
  return holders.map(holder => counted(counts[holder], nouns[holder])).join(', ');
}

function describeReport({ term, moved, damaged, retired, needed }: RotationReport): string {
  const lines = [
    `Moved to keyring version ${term}: ${countsOf(moved)}`,
    ...(retired.length === 0 ? [] : [`Retired: keyring version ${retired.join(', ')}`]),
    ...damaged.slice(0, mostNamed).map(what => `Damaged, and left unchanged: ${what}`),
    ...(damaged.length > mostNamed ? [`  and ${damaged.length - mostNamed} more`] : []),
    ...(needed.length === 0 ? [] : [`Still in use, not retired: keyring version ${needed.join(', ')}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function describeState({ terms, behind, rootKeyProvider }: RotationState): string {
  const { id, started } = terms.at(-1)!;
  const older = terms.slice(0, -1).map(term => term.id);
  const since = started === null ? 'the first' : `since ${new Date(started).toISOString()}`;
  const lines = [
    `Root key: ${rootKeyProvider}`,
    `Keyring version: ${id}, ${since}`,
    older.length === 0 ? 'Older versions: none' : `Older versions: ${older.join(', ')}`,
    `Still under older versions: ${countsOf(behind)}`,
  ];
  return `${lines.join('\n')}\n`;
}
