/** `strongroom access-keys …`: manages the credentials with which programs read a vault. A new one is printed once. */
import type { AccessKey } from '../../client/api.ts';
import { flag, names, whole } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { inVault, listed } from '../connection/admin.ts';
import { operationsOption } from '../connection/operations-option.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, outOption, printable, printCreated, printList } from '../terminal/terminal.ts';

const { vault, ...others } = serviceOptions;
const options = {
  ...others,
  vault: { ...vault, help: 'the vault, by name or id (default: the only vault of the API key)' },
};
const day = 86_400_000;

async function keysIn({ admin, vault: { id } }: Awaited<ReturnType<typeof inVault>>): Promise<AccessKey[]> {
  return listed(admin.listAccessKeys, { vault_id: id });
}

export const listCommand = commandOf({
  usage: 'access-keys list [flags]',
  summary: 'print the access keys of a vault',
  options,
  about: 'Prints the access keys of a vault: name, id, when each expires, and when it was last used.',
  run: async values => {
    const all = await keysIn(await inVault(values));
    printList(values.json, all, ({ name, id, expiration_date, last_used_at }) => [
      name,
      id,
      expiration_date === null ? 'does not expire' : `expires ${expiration_date}`,
      last_used_at === null ? 'never used' : `last used ${last_used_at}`,
    ]);
  },
});

/** Names restrict secrets; where operations with keys are allowed, also keys. */
function kindsFor(operations: readonly string[]): ('secret' | 'key')[] {
  return operations.length === 0 ? ['secret'] : ['secret', 'key'];
}

const createOptions = {
  ...options,
  only: names(
    'restrict it to secrets with these names (with --operations, also keys), in which * matches anything',
  ),
  'names-only': flag('let it read names, but no values'),
  'may-use': flag('let it use secrets and keys through use rules'),
  operations: operationsOption('the operations that it may do with keys, separated by commas'),
  ...outOption,
  days: whole('N', 'the number of days after which it expires (default: never)', 0, 1, 36_500),
};

export const createCommand = commandOf({
  usage: 'access-keys create NAME [flags]',
  summary: 'create an access key with which a program reads one vault',
  options: createOptions,
  about: 'Creates an access key for a vault, and prints it to standard output, once.',
  missing: 'a name for the access key is required',
  run: async (values, name) => {
    const { admin, vault } = await inVault(values);
    const created = await admin.createAccessKey({
      body: {
        vault_id: vault.id,
        name,
        names_only: values['names-only'],
        may_use: values['may-use'],
        ...(values.operations.length === 0 ? {} : { operations: [...values.operations] }),
        ...(values.only.length === 0 ? {} : { kinds: kindsFor(values.operations), names: values.only }),
        ...(values.days === 0
          ? {}
          : { expiration_date: new Date(Date.now() + values.days * day).toISOString() }),
      },
    });
    const said = `${printable(name)} may read the vault ${printable(vault.name)}; the access key is not shown again`;
    await printCreated(values, created, created.token, said);
  },
});

export const revokeCommand = commandOf({
  usage: 'access-keys revoke NAME [flags]',
  summary: 'revoke an access key',
  options,
  about: 'Revokes an access key, by its name or id. It stops working immediately.',
  missing: 'the name of an access key is required',
  run: async (values, named) => {
    const place = await inVault(values);
    const { id, name } = one(await keysIn(place), named);
    done(values.json, await place.admin.deleteAccessKey({ id }), `revoked ${printable(name)}`);
  },
});

/** Several access keys may have the same name; then the id is required. */
function one(keys: readonly AccessKey[], named: string): AccessKey {
  const found = keys.filter(({ id, name }) => id === named || name === named.normalize('NFC'));
  const shown = printable(JSON.stringify(named));
  if (found.length > 1) throw new Refusal(`${found.length} access keys are called ${shown}: give the id`);
  if (found[0] === undefined) throw new Refusal(`there is no access key ${shown} in this vault`);
  return found[0];
}
