/** `strongroom issuers …`: what creates short-lived credentials, and whether its connection works. */
import type { IssuerCheck } from '../../client/api.ts';
import { flag } from '../../service/settings/options.ts';
import { type Admin, adminIn, foundIn, listed, vaultNames } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable, printJson, printList } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

const found = (admin: Admin, named: string) => foundIn(admin.listIssuers, 'issuer', named);

export const listCommand = commandOf({
  usage: 'issuers list [flags]',
  summary: 'print what creates short-lived credentials',
  options,
  about:
    'Prints each issuer: name, vault, provider, server, the usual and the longest life in seconds, and since when it fails.',
  run: async values => {
    const admin = adminIn(values);
    const all = await listed(admin.listIssuers);
    const vaults = values.json || all.length === 0 ? new Map<string, string>() : await vaultNames(admin);
    printList(values.json, all, one => [
      one.name,
      vaults.get(one.vault_id) ?? one.vault_id,
      one.provider,
      `${one.server.host}:${one.server.port}`,
      `${one.default_ttl} ${one.max_ttl}`,
      one.failing_since === null ? one.state : `failing since ${one.failing_since}`,
    ]);
  },
});

export const checkCommand = commandOf({
  usage: 'issuers check NAME [flags]',
  summary: 'try an issuer, and print what its connection lacks',
  options,
  about:
    'Tries the connection of an issuer. Prints what is missing and the statements that fix it; the exit code is then 1.',
  missing: 'the name of an issuer is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id } = await found(admin, named);
    const checked = await admin.checkIssuer({ id });
    if (values.json) printJson(checked);
    else process.stdout.write(`${linesOf(checked).join('\n')}\n`);
    if (!checked.ok) process.exitCode = 1;
  },
});

export function linesOf({ ok, problems }: IssuerCheck): string[] {
  if (ok) return ['the issuer works'];
  const lines = problems.flatMap(({ problem, statement }) => [
    problem,
    ...(statement === null ? [] : [`  ${statement}`]),
  ]);
  return lines.map(printable);
}

const deleteOptions = {
  ...options,
  revoke: flag('revoke its leases first; it is deleted once the last of them is gone'),
};

export const deleteCommand = commandOf({
  usage: 'issuers delete NAME [flags]',
  summary: 'delete an issuer',
  options: deleteOptions,
  about:
    'Deletes an issuer. One with leases is deleted with --revoke only, because its connection is what ends them.',
  missing: 'the name of an issuer is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await found(admin, named);
    const query = values.revoke ? { revoke: 'true' as const } : {};
    done(values.json, await admin.deleteIssuer({ id, query }), `deleted ${printable(name)}`);
  },
});
