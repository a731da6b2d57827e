/** `strongroom keyring`: starts a new key-encryption term beside a running service, and tells how far that is. */
import { flag, helpFor, placeOptions, readConfig } from '../config.ts';
import { openStrongroom } from '../open.ts';
import type { Counts, RotationReport, RotationState } from '../vault/rotation.ts';
import type { Command } from './command.ts';
import { operatorOf } from './operator.ts';

const statusOptions = { ...placeOptions, json: flag('print one JSON object') };
const rotateOptions = {
  ...statusOptions,
  'new-term': flag('start another term although an earlier one is not finished'),
};

export const rotateCommand: Command = {
  usage: 'keyring rotate [flags]',
  summary: 'wrap every vault’s key under a new term, and retire the old one',
  help: () =>
    helpFor(
      'keyring rotate [flags]',
      'Starts a new term and moves everything to it, while the service runs. Cut off, it is finished by the next run.',
      rotateOptions,
    ),
  run: async args => {
    const config = readConfig(rotateOptions, args, process.env);
    const say = (line: string) => {
      if (!config.json) process.stdout.write(`${line}\n`);
    };
    const strongroom = await openStrongroom(config, false);
    try {
      const { domain, newId } = strongroom;
      const report = await domain.rotation.run(id => operatorOf(id, newId), {
        newTerm: config['new-term'],
        onStart: (term, resumed) => say(resumed ? `Going on with term ${term}` : `Term ${term} is in use`),
        onMoved: (holder, moved) => say(`  ${moved} ${nouns[holder]} moved`),
      });
      process.stdout.write(config.json ? `${JSON.stringify(report)}\n` : describeReport(report));
      if (report.needed.length > 0) process.exitCode = 1;
    } finally {
      await strongroom.close();
    }
  },
};

export const statusCommand: Command = {
  usage: 'keyring status [flags]',
  summary: 'tell which term is in use, and what older ones still wrap',
  help: () => helpFor('keyring status [flags]', 'Tells the state of the keyring’s terms.', statusOptions),
  run: async args => {
    const config = readConfig(statusOptions, args, process.env);
    const strongroom = await openStrongroom(config, false);
    try {
      const state = await strongroom.domain.rotation.state();
      process.stdout.write(config.json ? `${JSON.stringify(state)}\n` : describeState(state));
    } finally {
      await strongroom.close();
    }
  },
};

const nouns = { vault: 'vault keys', webhook: 'webhooks', account: 'accounts' } as const;
const mostNamed = 10;

function counted(counts: Counts): string {
  return `${counts.vault} ${nouns.vault}, ${counts.webhook} ${nouns.webhook}, ${counts.account} ${nouns.account}`;
}

function describeReport({ term, moved, damaged, retired, needed }: RotationReport): string {
  const lines = [
    `Moved to term ${term}: ${counted(moved)}`,
    ...(retired.length === 0 ? [] : [`Retired: term ${retired.join(', ')}`]),
    ...damaged.slice(0, mostNamed).map(what => `Not as it was written, and left alone: ${what}`),
    ...(damaged.length > mostNamed ? [`  and ${damaged.length - mostNamed} more`] : []),
    ...(needed.length === 0 ? [] : [`Still needed, and kept: term ${needed.join(', ')}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function describeState({ terms, behind, rootKeyProvider }: RotationState): string {
  const { id, started } = terms.at(-1)!;
  const older = terms.slice(0, -1).map(term => term.id);
  const since = started === null ? 'the first one' : `since ${new Date(started).toISOString()}`;
  const lines = [
    `Root key: ${rootKeyProvider}`,
    `Term in use: ${id}, ${since}`,
    older.length === 0 ? 'Older terms: none' : `Older terms: ${older.join(', ')}`,
    `Still under older terms: ${counted(behind)}`,
  ];
  return `${lines.join('\n')}\n`;
}
