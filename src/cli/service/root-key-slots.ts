/** `strongroom root-key list`, `add`, `remove`, `test` and `drill`: the slots of the root key, while the service runs. */
import type { SlotFacts } from '../../keyring/root-key/root-key.ts';
import { shamirSettingsOf } from '../../keyring/root-key/shamir.ts';
import type { SlotTrial } from '../../keyring/stored-keyring.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { flag, readConfig, readConfigOf, text, UsageError } from '../../service/settings/config.ts';
import { counted } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';
import { printJson, table } from '../terminal/terminal.ts';
import { type Made, newSlotOptions, slotMakers } from './new-root-key.ts';
import { operatorOf } from './operator.ts';

const shownOptions = { ...placeOptions, json: flag('print one JSON object') };
const removeOptions = {
  ...shownOptions,
  confirm: text('ID', 'the same id again, to remove the last slot that needs no network'),
};
const providers = Object.keys(slotMakers);

export const listCommand: Command = {
  usage: 'root-key list [flags]',
  summary: 'list the slots of the root key',
  options: shownOptions,
  about: 'Lists the slots of the root key. Any one of them opens the data.',
  run: async args => {
    const config = readConfig(shownOptions, args, process.env);
    await withStrongroom(config, async ({ domain }) => {
      const { slots, opened } = await domain.rootKeySlots.list();
      if (config.json)
        printJson({ slots: slots.map(slot => ({ ...jsonOf(slot), opened: slot.id === opened })) });
      else
        process.stdout.write(
          table(slots.map(slot => [slot.id, slot.provider, said(slot), slot.id === opened ? 'opened' : ''])),
        );
    });
  },
};

export const addCommand: Command = {
  usage: 'root-key add PROVIDER [flags]',
  summary: 'add a slot: another way to open the data',
  options: newSlotOptions,
  completes: providers,
  about: `Adds a slot of the root key: another way to open the data, beside those that exist. PROVIDER is one of ${providers.join(', ')}. Upgrade all replicas first: releases without slots can't open the data afterwards.`,
  run: async args => {
    const { config, positionals } = readConfigOf(newSlotOptions, args, process.env, 1);
    const make = slotMakers[positionals[0] ?? '']?.(config);
    if (make === undefined) throw new UsageError(`the provider must be one of ${providers.join(', ')}`);
    await withStrongroom(config, async ({ domain, newId }) => {
      let made: Made | null = null;
      const slot = await domain.rootKeySlots.add(
        id => operatorOf(id, newId),
        async id => {
          made = await make(id);
          return made;
        },
      );
      const { shares } = made! as Made;
      if (config.json)
        printJson({ slot: slot.id, provider: slot.provider, ...(shares === undefined ? {} : { shares }) });
      else process.stdout.write(shares === undefined ? `${slot.id}\n` : printedShares(slot, shares));
    });
  },
};

function printedShares(slot: SlotFacts, shares: readonly string[]): string {
  const { threshold } = shamirSettingsOf(slot)!;
  return `The slot ${slot.id} opens with any ${threshold} of these ${shares.length} shares. They are shown only once: give each to another person.

${shares.join('\n')}

Check them with strongroom root-key test --share-file FILE before you rely on them.\n`;
}

export const removeCommand: Command = {
  usage: 'root-key remove ID [flags]',
  summary: 'remove a slot: it no longer opens the data',
  options: removeOptions,
  about:
    'Removes a slot of the root key. It no longer opens the data, but still opens earlier backups. The last slot can’t be removed.',
  run: async args => {
    const { config, positionals } = readConfigOf(removeOptions, args, process.env, 1);
    const [id] = positionals;
    if (id === undefined) throw new UsageError('the id of a slot is required: see strongroom root-key list');
    await withStrongroom(config, async ({ domain, newId }) => {
      await domain.rootKeySlots.remove(one => operatorOf(one, newId), id, config.confirm === id);
      if (config.json) printJson({ slot: id });
      else process.stdout.write(`Removed ${id}\n`);
    });
  },
};

export const testCommand: Command = {
  usage: 'root-key test [flags]',
  summary: 'try each slot, as the next start would',
  options: shownOptions,
  about:
    'Tries each slot of the root key by itself, with the flags given. Fails if a slot that is configured here does not open the data.',
  run: async args => {
    const config = readConfig(shownOptions, args, process.env);
    await withStrongroom(config, async ({ domain }) => {
      const trials = await domain.rootKeySlots.test();
      printTrials(config.json, trials, {});
    });
  },
};

export const drillCommand: Command = {
  usage: 'root-key drill [flags]',
  summary: 'prove that the slots recover the data, and record it',
  options: shownOptions,
  about:
    'Tries each slot of the root key by itself, opens the key of every vault with what it found, and records the outcome in the audit log.',
  run: async args => {
    const config = readConfig(shownOptions, args, process.env);
    await withStrongroom(config, async ({ domain, newId }) => {
      const { trials, vaults } = await domain.rootKeySlots.drill(id => operatorOf(id, newId));
      printTrials(config.json, trials, { vaults });
      if (!config.json) process.stdout.write(`${counted(vaults.opened, 'vault key')} opened\n`);
      if (vaults.damaged > 0) {
        process.exitCode = 1;
        if (!config.json) process.stdout.write(`${counted(vaults.damaged, 'vault key')} damaged\n`);
      }
    });
  },
};

function printTrials(json: boolean, trials: readonly SlotTrial[], more: object): void {
  const isSound = trials.every(({ result }) => result === 'opens' || result === 'not configured');
  if (!isSound) process.exitCode = 1;
  if (json) {
    const slots = trials.map(({ slot, result, reason }) => ({ ...jsonOf(slot), result, reason }));
    printJson({ slots, ...more });
    return;
  }
  process.stdout.write(
    table(
      trials.map(({ slot, result, reason }) => [
        slot.id,
        slot.provider,
        result === 'not configured' || reason === null ? result : `${result}: ${reason}`,
      ]),
    ),
  );
}

function jsonOf(slot: SlotFacts) {
  const { id, provider, created } = slot;
  const { digests: _, ...settings } = slot.settings;
  return { ...settings, id, provider, created_at: created === null ? null : new Date(created).toISOString() };
}

/** A slot’s settings, in words. */
function said(slot: SlotFacts): string {
  const shamir = shamirSettingsOf(slot);
  if (shamir !== null) return `${shamir.threshold} of ${shamir.shares} shares`;
  const { key } = slot.settings;
  return typeof key === 'string' ? key : '';
}
