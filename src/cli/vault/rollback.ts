/** `strongroom rollback`: gives a secret the value of an earlier version, as a new version. */
import { UsageError } from '../../service/settings/report.ts';
import { inVault } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable } from '../terminal/terminal.ts';

export const command = commandOf({
  usage: 'rollback NAME VERSION [flags]',
  summary: 'give a secret the value of an earlier version',
  options: serviceOptions,
  completes: 'secrets',
  about: 'Stores the value of an earlier version as a new version. Nothing is lost.',
  missing: 'the name of a secret is required',
  upTo: 2,
  run: async (values, name, [version = '']) => {
    if (!/^[1-9]\d{0,8}$/.test(version))
      throw new UsageError('a version is required: see strongroom history');
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const stored = await admin.rollbackSecret({ id, body: { version: Number(version) } });
    done(
      values.json,
      stored,
      `${printable(name)} is now version ${stored.version}, with the value of version ${version}`,
    );
  },
});
