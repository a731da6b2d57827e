/** `strongroom readers`: prints who has read a secret, and when they last did. */
import { UsageError } from '../../service/settings/report.ts';
import { inVault } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { note, printJson, table } from '../terminal/terminal.ts';

export const command = commandOf({
  usage: 'readers NAME [VERSION] [flags]',
  summary: 'print who has read a secret, and when',
  options: serviceOptions,
  completes: 'secrets',
  about:
    'Prints the members, API keys and access keys that have read the current version of a secret, or the given one, since it\nwas stored: name, kind, number of reads, last read and id.',
  more: 'Example:\n  strongroom readers DATABASE_URL --vault payments\n',
  missing: 'the name of a secret is required',
  upTo: 2,
  run: async (values, name, [version]) => {
    if (version !== undefined && !/^[1-9]\d{0,8}$/.test(version))
      throw new UsageError('the version must be a number: see strongroom history');
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const query = version === undefined ? {} : { version: Number(version) };
    const found = await admin.listSecretReaders({ id, query });
    if (values.json) return printJson(found);
    const rows = found.data.map(({ name, kind, reads, last_at, id }) => [
      name,
      kind.replaceAll('-', ' '),
      `${reads} read${reads === 1 ? '' : 's'}`,
      `last ${last_at}`,
      id,
    ]);
    process.stdout.write(table(rows));
    if (rows.length === 0) note(`nobody has read version ${found.version}, stored ${found.since}`);
    if (!found.complete)
      note('there are more entries in the request log than were searched: see strongroom log');
  },
});
