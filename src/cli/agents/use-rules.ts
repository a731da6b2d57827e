/** `strongroom use-rules …`: lists, deletes and checks the rules by which access keys may use secrets and keys. */
import type { UseRule } from '../../client/api.ts';
import { usePresets } from '../../contract/use-presets.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminFor, inVault, listed } from '../connection/admin.ts';
import { callIn, callOptions, printVerdict } from '../connection/call-options.ts';
import { isId } from '../connection/secret.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable, printJson, printList } from '../terminal/terminal.ts';

/** Finds a rule by its name, or by its id if several have the same name. */
export async function foundRule(admin: Admin, vault: string | null, named: string): Promise<UseRule> {
  if (isId(named)) return admin.getUseRule({ id: named });
  const { id: vault_id } = await admin.vault(vault);
  const rules = await listed(admin.listUseRules, { vault_id, q: named.slice(0, 255) });
  const [one, ...others] = rules.filter(({ name }) => name === named.normalize('NFC'));
  if (one === undefined) throw new Refusal(`there is no use rule ${printable(JSON.stringify(named))}`);
  if (others.length > 0) throw new UsageError('several use rules have this name: give the id');
  return one;
}

function inWords({ hosts, methods, paths, operations, algorithms }: UseRule): string {
  const parts = hosts === null ? [operations, algorithms] : [methods, hosts, paths];
  return parts.map(part => part!.join(',')).join(' ');
}

export const listCommand = commandOf({
  usage: 'use-rules list [flags]',
  summary: 'print the use rules of a vault',
  options: serviceOptions,
  about: 'Prints the use rules of the vault in --vault: name, id, approval and what each allows.',
  run: async values => {
    const { admin, vault } = await inVault(values);
    const all = await listed(admin.listUseRules, { vault_id: vault.id });
    printList(values.json, all, rule => [rule.name, rule.id, rule.approval, inWords(rule)]);
  },
});

export const deleteCommand = commandOf({
  usage: 'use-rules delete RULE [flags]',
  summary: 'delete a use rule',
  options: serviceOptions,
  about: 'Deletes a use rule, by its name or id. Calls under it are refused immediately.',
  missing: 'the name or id of a use rule is required',
  run: async (values, named) => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const { id, name } = await foundRule(admin, settings.vault, named);
    done(values.json, await admin.deleteUseRule({ id }), `deleted ${printable(name)}`);
  },
});

export const presetsCommand = commandOf({
  usage: 'use-rules presets [flags]',
  summary: 'print the presets for use-rules add --preset',
  options: { json: serviceOptions.json },
  about: 'Prints the presets for well-known services. Replace the parts in capitals.',
  run: async ({ json }) =>
    printList(json, usePresets, ({ id, hosts, paths }) => [id, hosts.join(','), paths.join(',')]),
});

export const checkCommand = commandOf({
  usage: 'use-rules check SECRET URL [flags]',
  summary: 'check whether a call with a secret would be allowed',
  options: { ...serviceOptions, ...callOptions },
  completes: 'secrets',
  about:
    'Checks whether the use rules of a secret allow a call, and prints why not. Nothing is sent. The exit code is 1 if the call is not allowed.',
  upTo: 2,
  run: async (values, name, [url]) => {
    const call = await callIn(url, values);
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const verdict = await admin.checkUse({ body: { secret_id: id, ...call } });
    if (values.json) printJson(verdict);
    else printVerdict(verdict);
  },
});
