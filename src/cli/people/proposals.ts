/** `strongroom proposals …`: lists, shows, confirms and rejects writes that wait for review. */
import type { Proposal } from '../../client/api.ts';
import { flag } from '../../service/settings/options.ts';
import { adminIn, listed, vaultNames } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { type Command, commandOf } from '../terminal/command.ts';
import { done, printable, printJson, printList, table } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

function titleOf({ changes: [first, ...others] }: Proposal): string {
  const { action, type, name } = first!;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${action.replace('_', ' ')} ${type} ${name}${more}`;
}

export const listCommand = commandOf({
  usage: 'proposals list [flags]',
  summary: 'print the writes that wait for review',
  options: { ...options, all: flag('also those that are decided or have expired') },
  about: 'Prints writes to vaults with review: id, state, author, vault and what they would do.',
  run: async values => {
    const query = values.all ? { state: 'all' as const } : {};
    const admin = adminIn(values);
    const all = await listed(admin.listProposals, { query });
    const vaults = values.json || all.length === 0 ? new Map<string, string>() : await vaultNames(admin);
    printList(values.json, all, one => {
      const vault = vaults.get(one.vault_id) ?? one.vault_id;
      return [one.id, one.state, authorOf(one), vault, titleOf(one)];
    });
  },
});

const showOptions = { ...options, values: flag('also the old and new values, which is recorded') };

export const showCommand = commandOf({
  usage: 'proposals show ID [flags]',
  summary: 'print everything that a write would change',
  options: showOptions,
  about: 'Prints what a proposed write would change, field by field. Values are printed with --values only.',
  missing: 'the id of a proposal is required',
  run: async (values, id) => {
    const admin = adminIn(values);
    const found = await admin.getProposal({ id });
    const revealed = values.values ? (await admin.revealProposal({ id })).data : [];
    if (values.json) return printJson(values.values ? { ...found, values: revealed } : found);
    const vault = (await vaultNames(admin)).get(found.vault_id) ?? found.vault_id;
    const heading = `${titleOf(found)} in ${vault}: ${found.state}, by ${authorOf(found)}, expires ${found.expires_at}`;
    const rows = found.changes.flatMap(({ name, new_value, difference }) => [
      ...difference.map(({ field, before, after }) => [name, field, before ?? '-', after ?? '-']),
      ...(new_value && !values.values ? [[name, 'value', '(hidden)', '(hidden)']] : []),
    ]);
    const shown = revealed.map(({ name, before, after }) => [name, 'value', before ?? '-', after ?? '-']);
    process.stdout.write(`${printable(heading)}\n${table([...rows, ...shown])}`);
  },
});

/** Names are shown to those who may see members; ids to others. */
function authorOf({ author: { kind, id, name } }: Proposal): string {
  return name ?? `${kind} ${id}`;
}

function deciding(verb: 'confirm' | 'reject', said: string, summary: string, about: string): Command {
  return commandOf({
    usage: `proposals ${verb} ID [flags]`,
    summary,
    options,
    about,
    missing: 'the id of a proposal is required',
    run: async (values, id) => {
      const admin = adminIn(values);
      const decide = verb === 'confirm' ? admin.confirmProposal : admin.rejectProposal;
      const decided = await decide({ id });
      done(values.json, decided, `${said}: ${printable(titleOf(decided))}`);
    },
  });
}

export const confirmCommand = deciding(
  'confirm',
  'confirmed and done',
  'confirm a write of someone else, which does it',
  'Confirms a proposed write, which is then done. You can’t confirm your own. Look at it first with proposals show.',
);

export const rejectCommand = deciding(
  'reject',
  'rejected',
  'reject a write, or withdraw your own',
  'Rejects a proposed write. It can’t be confirmed any more.',
);
