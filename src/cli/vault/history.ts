/** `strongroom history`: prints the versions of a secret, without their values. */
import type { Version } from '../../client/api.ts';
import { inVault, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { printList } from '../terminal/terminal.ts';

export const command = commandOf({
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
