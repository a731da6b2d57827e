/** `strongroom history` and `strongroom rollback`: the versions of a secret, and a return to an earlier one. */
import type { Version } from '../../client/api.ts';
import { UsageError } from '../../service/settings/report.ts';
import { inVault, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable, printList } from '../terminal/terminal.ts';

export const historyCommand = commandOf({
  usage: 'history NAME [flags]',
  summary: 'print the versions of a secret',
  options: serviceOptions,
  completes: 'secrets',
  about: 'Prints the versions of a secret, newest first, without their values.',
  missing: 'the name of a secret is required',
  run: async (values, name) => {
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const versions = await listed(asked => admin.listSecretVersions({ id, ...asked }));
    printList(values.json, versions, rowOf);
  },
});

function rowOf({ version, created_at, created_by, current }: Version): string[] {
  return [String(version), created_at, created_by, current ? 'current' : ''];
}

export const rollbackCommand = commandOf({
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
