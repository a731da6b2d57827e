/** `strongroom log`: prints the newest requests to vaults, with the names of vaults and access keys. */
import type { RequestLog } from '../../client/api.ts';
import { flag, text, whole } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { type Admin, adminFor, inTurn, listed } from '../connection/admin.ts';
import { RefusedRequest } from '../connection/remote.ts';
import { isId } from '../connection/secret.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { sinceOption } from '../terminal/dates.ts';
import { printable, printList } from '../terminal/terminal.ts';

const { vault, ...others } = serviceOptions;
const options = {
  ...others,
  vault: { ...vault, help: 'only requests to this vault, by name or id (default: all that you may see)' },
  by: text('NAME', 'only requests with this access key, by name or id'),
  status: whole('STATUS', 'only requests with this status, such as 401', 0, 100, 599),
  address: text('IP', 'only requests from this address'),
  since: sinceOption('only requests at or after this time, such as 12h or 2027-01-31'),
  until: sinceOption('only requests before this time'),
  'all-vaults': flag('all vaults that you may see, also if the project file or a profile names one'),
  limit: whole('N', 'how many requests to print (default: 20)', 20, 1, 100),
};

export const command = commandOf({
  usage: 'log [flags]',
  summary: 'print the newest requests to vaults',
  options,
  about:
    'Prints the newest entries of the request log, newest first: time, status, vault, access key, what was requested, address,\nand the reason of a refusal. Requires an API key that may read the logs.',
  more: 'Example:\n  strongroom log --vault payments --status 401 --since 12h\n',
  run: async values => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const named = values['all-vaults'] ? null : settings.vault;
    const vaultId = named === null ? null : (await admin.vault(named)).id;
    const { by, status, address, since, until, limit } = values;
    const keyId = by === null ? null : await keyNamed(admin, by, vaultId);
    const { data } = await admin.listRequestLogs({
      query: {
        limit,
        ...(vaultId === null ? {} : { vault_id: vaultId }),
        ...(keyId === null ? {} : { access_key_id: keyId }),
        ...(status === 0 ? {} : { status }),
        ...(address === null ? {} : { ip_address: address }),
        ...(since === null ? {} : { from: since }),
        ...(until === null ? {} : { to: until }),
      },
    });
    if (values.json) return printList(true, data, () => []);
    const vaults = await namesFor(data, 'vault_id', id => admin.getVault({ id }));
    const keys = await namesFor(data, 'access_key_id', id => admin.getAccessKey({ id }));
    printList(false, data, entry => rowOf(entry, vaults, keys));
  },
});

async function keyNamed(admin: Admin, named: string, vaultId: string | null): Promise<string> {
  if (isId(named)) return named;
  const query = { q: named.slice(0, 255), ...(vaultId === null ? {} : { vault_id: vaultId }) };
  const all = await listed(admin.listAccessKeys, query);
  const found = all.filter(({ name }) => name === named.normalize('NFC'));
  const shown = printable(JSON.stringify(named));
  if (found.length > 1) throw new Refusal(`${found.length} access keys are called ${shown}: give the id`);
  if (found[0] === undefined) throw new Refusal(`there is no access key ${shown}`);
  return found[0].id;
}

type Names = ReadonlyMap<string, string>;

/** The names of those that still exist and that the caller may see. */
async function namesFor(
  entries: readonly RequestLog[],
  field: 'vault_id' | 'access_key_id',
  get: (id: string) => Promise<{ readonly name: string }>,
): Promise<Names> {
  const ids = [...new Set(entries.flatMap(entry => entry[field] ?? []))];
  const found = await inTurn(ids, async id => {
    const one = await get(id).catch(error => {
      if (error instanceof RefusedRequest && [403, 404].includes(error.status)) return null;
      throw error;
    });
    return one === null ? [] : [[id, one.name] as const];
  });
  return new Map(found.flat());
}

function rowOf(entry: RequestLog, vaults: Names, keys: Names): string[] {
  const { created_at, status, vault_id, access_key_id, requested, ip_address, reason, count } = entry;
  return [
    created_at,
    String(status),
    vault_id === null ? '-' : (vaults.get(vault_id) ?? vault_id),
    access_key_id === null ? '-' : (keys.get(access_key_id) ?? access_key_id),
    requested === '' ? '-' : requested,
    ip_address,
    [reason?.replaceAll('_', ' ') ?? '', count > 1 ? `(${count} times)` : ''].filter(Boolean).join(' '),
  ];
}
