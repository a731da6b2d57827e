/**
 * `strongroom restore`: restores a deleted resource from the trash. The operator's command, which restores a backup, had
 * this name first and keeps it: a flag of either command decides, and without one, an argument that names a file.
 */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { choice } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminFor, listed } from '../connection/admin.ts';
import { type ResourceType, resourcesOf, resourceTypes } from '../connection/resources.ts';
import { isId } from '../connection/secret.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  type: choice('the type of the resource, if several have the name', [...resourceTypes, 'vault'] as const),
};

export const command = commandOf({
  usage: 'restore NAME [flags]',
  summary: 'restore a deleted secret, key, certificate or vault',
  options,
  about:
    'Restores a deleted resource from the trash, by its name in the vault or by its id, with all of its versions.',
  more: `Example:
  strongroom restore DATABASE_URL --vault payments

To restore a backup, see strongroom backup restore --help. With a flag of that command, or the name of a backup,
strongroom restore does the same.
`,
  missing: 'the name of a deleted resource is required',
  run: async (values, named) => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const { id } = await foundInTrash(admin, { vault: settings.vault, type: values.type, named });
    const restored = await admin.restoreResource({ id });
    done(values.json, restored, `the ${restored.type} ${printable(restored.name)} is restored`);
  },
});

interface Deleted {
  readonly id: string;
  readonly name: string;
}

async function foundInTrash(
  admin: Admin,
  { vault, type, named }: { vault: string | null; type: ResourceType | 'vault' | null; named: string },
): Promise<Deleted> {
  if (isId(named)) return { id: named, name: named };
  const query = { state: 'deleted', q: named.slice(0, 255) } as const;
  if (type === 'vault') return one(await listed(admin.listVaults, query), named);
  const { id: vault_id } = await admin.vault(vault);
  return one(await resourcesOf(admin, type === null ? resourceTypes : [type], { ...query, vault_id }), named);
}

function one(all: readonly Deleted[], named: string): Deleted {
  const matching = all.filter(({ name }) => name === named.normalize('NFC'));
  const shown = printable(JSON.stringify(named));
  if (matching.length > 1)
    throw new Refusal(
      `${matching.length} deleted resources are called ${shown}: give the id, one of ${matching.map(({ id }) => id).join(', ')}`,
    );
  if (matching[0] === undefined)
    throw new Refusal(`there is no deleted resource ${shown}, and no backup of this name`);
  return matching[0];
}

/** Both commands have --json, which decides nothing. */
const ofTrash = /^--(?:url|vault|profile|type)(?:=|$)/;
const ofBoth = /^--json(?:=|$)/;

/** Whether the operator's command is meant. */
export function isBackup(args: readonly string[]): boolean {
  const flags = args.filter(arg => arg.startsWith('--'));
  const [trash, backup] = [
    flags.some(arg => ofTrash.test(arg)),
    flags.some(arg => !ofTrash.test(arg) && !ofBoth.test(arg)),
  ];
  if (trash && backup)
    throw new UsageError('flags for a deleted resource and for a backup can’t be combined');
  return !trash && (backup || args.some(arg => arg === '-' || /^\.{0,2}\//.test(arg) || isBackupFile(arg)));
}

/** The first line of every backup, which is an age file. */
const beginning = 'age-encryption.org/v1\n';

function isBackupFile(path: string): boolean {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const read = Buffer.alloc(beginning.length);
      return readSync(file, read) === read.length && read.toString('latin1') === beginning;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}
