/** `strongroom stages …`: vaults in an order, and what is missing, expired or different from one to the next. */
import type { Stage } from '../../client/api.ts';
import { flag } from '../../service/settings/options.ts';
import { counted, UsageError } from '../../service/settings/report.ts';
import { adminIn, foundIn, listed, vaultNames } from '../connection/admin.ts';
import { comparedStage, printStage } from '../connection/compared-stage.ts';
import { RefusedRequest } from '../connection/remote.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable, printCreated, printJson, table } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

export const listCommand = commandOf({
  usage: 'stages list [flags]',
  summary: 'print the stages and their vaults',
  options,
  about: 'Prints each stage with its vaults in order, as far as the API key has access to them.',
  run: async values => {
    const admin = adminIn(values);
    const all = await listed(admin.listStages);
    if (values.json) return printJson(all);
    const vaults = await vaultNames(admin);
    const inOrder = ({ vault_ids }: Stage) => vault_ids.map(id => vaults.get(id) ?? id).join(', ');
    process.stdout.write(table(all.map(stage => [stage.name, inOrder(stage)])));
  },
});

const showOptions = { ...options, different: flag('leave out what is the same in all vaults') };

export const showCommand = commandOf({
  usage: 'stages show NAME [flags]',
  summary: 'compare the vaults of a stage',
  options: showOptions,
  about:
    'Prints a row for each name and a column for each vault: missing, expired, disabled, inactive, same, different, or present if\nthere is nothing to compare with. Each is followed by the time since the last change. Values are never printed.',
  missing: 'the name of a stage is required',
  run: async (values, named) => {
    const compared = await comparedStage(adminIn(values), named, values.different);
    if (values.json) printJson(compared);
    else printStage(compared);
  },
});

export const createCommand = commandOf({
  usage: 'stages create NAME VAULT VAULT... [flags]',
  summary: 'create a stage',
  options,
  about:
    'Creates a stage from vaults in order, by their names or ids, and prints its id. The last one is what the others lead to,\nsuch as production.',
  missing: 'a name for the stage is required',
  upTo: 9, // A stage has at most eight vaults.
  run: async (values, name, named) => {
    if (named.length < 2) throw new UsageError('two or more vaults are required');
    const admin = adminIn(values);
    const vault_ids: string[] = [];
    for (const one of named) vault_ids.push((await admin.vault(one)).id);
    const created = await admin.createStage({ body: { name, vault_ids } });
    await printCreated(values, created, created.id, `the stage ${printable(name)} is created`);
  },
});

export const deleteCommand = commandOf({
  usage: 'stages delete NAME [flags]',
  summary: 'delete a stage',
  options,
  about: 'Deletes a stage. Its vaults and their secrets stay as they are.',
  missing: 'the name of a stage is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await foundIn(admin.listStages, 'stage', named);
    done(values.json, await admin.deleteStage({ id }), `the stage ${printable(name)} is deleted`);
  },
});

export const renameCommand = commandOf({
  usage: 'stages rename NAME OLD NEW [flags]',
  summary: 'rename a secret in all vaults of a stage',
  options,
  about:
    'Renames a secret in all vaults of a stage that have it or, if one of them can’t be renamed, in none.\nIn vaults with review, someone else has to confirm it.',
  missing: 'the name of a stage is required',
  upTo: 3,
  run: async (values, named, [old, next]) => {
    if (old === undefined || next === undefined)
      throw new UsageError('the old and the new name of the secret are required');
    const admin = adminIn(values);
    const { id, vault_ids } = await foundIn(admin.listStages, 'stage', named);
    const found = await Promise.all(vault_ids.map(vaultId => admin.search(vaultId, old)));
    const secret = found.find(one => one !== null) ?? null;
    if (secret === null) throw new UsageError('no vault of the stage has a secret with this name');
    const renamed = await admin.renameInStage({ id, body: { secret_id: secret.id, name: next } });
    const waiting = renamed.data.filter(({ proposal }) => proposal !== undefined);
    const said = `renamed in ${counted(renamed.data.length - waiting.length, 'vault')}`;
    done(values.json, renamed, said);
    if (waiting.length > 0)
      throw new RefusedRequest(
        `sent for review in ${counted(waiting.length, 'vault')}: someone else has to confirm it`,
        202,
      );
  },
});
