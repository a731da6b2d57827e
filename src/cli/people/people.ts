/** `strongroom members …` and `strongroom groups …`: manages members, groups and their roles in vaults. */
import type { Group, Member, VaultGrant } from '../../client/api.ts';
import { grantedRoleNames, roleNames } from '../../contract/names.ts';
import { choice, flag } from '../../service/settings/options.ts';
import { counted, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminFor, adminIn, foundIn, listed, vaultNames } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { type Command, commandOf } from '../terminal/command.ts';
import { endOption } from '../terminal/dates.ts';
import { done, outOption, printable, printCreated, printJson, table } from '../terminal/terminal.ts';

type Collection = 'members' | 'groups';

const { vault: _, ...options } = serviceOptions;
const kinds = { members: 'member', groups: 'group' } as const;

/** A member, whose name is their email address, or a group. */
function found(admin: Admin, of: Collection, named: string): Promise<Member | Group> {
  return of === 'members'
    ? foundIn(admin.listMembers, kinds.members, named)
    : foundIn(admin.listGroups, kinds.groups, named);
}

/** Grants in the form `production=editor`. */
function inWords(grants: readonly VaultGrant[], vaults: ReadonlyMap<string, string>): string {
  const words = grants.map(
    ({ vault_id, role, until }) =>
      `${vaults.get(vault_id) ?? vault_id}=${role}${until === undefined ? '' : ` until ${until}`}`,
  );
  return words.length === 0 ? '-' : words.join(' ');
}

export const membersCommand = commandOf({
  usage: 'members list [flags]',
  summary: 'print the members and their roles',
  options,
  about: 'Prints the members of the organization: role, state, and roles in individual vaults as VAULT=ROLE.',
  run: async values => {
    const admin = adminIn(values);
    const all = await listed(admin.listMembers);
    if (values.json) return printJson(all);
    const vaults = await vaultNames(admin);
    const lines = all.map(({ name, role, state, grants }) => [
      name,
      role === 'none' ? '-' : role,
      state,
      inWords(grants, vaults),
    ]);
    process.stdout.write(table(lines));
  },
});

const inviteOptions = {
  ...options,
  ...outOption,
  role: choice('their role in the organization (default: none)', roleNames),
};

export const inviteCommand = commandOf({
  usage: 'members invite EMAIL [flags]',
  summary: 'invite a member, and print the link for them',
  options: inviteOptions,
  about:
    'Invites a member. The link is printed once, to standard output: send it to them. Without a role, they see nothing until\nthey get one in a vault, through members grant or a group.',
  missing: 'an email address is required',
  run: async (values, email) => {
    const settings = settingsFor({ ...values, vault: null }, process.env);
    const invited = await adminFor(settings).createMember({ body: { email, role: values.role ?? 'none' } });
    const link = `${settings.url}/invite#${invited.token}`;
    await printCreated(values, invited, link, invited.mailed ? 'the link is also sent by mail' : null);
  },
});

function granted(vault_id: string, role: (typeof roleNames)[number], until: string | null) {
  return { vault_id, role, ...(until === null ? {} : { until }) };
}

/** A role without an end stays beside one that ends. */
function keptBeside(until: string | null, grants: readonly VaultGrant[], vaultId: string) {
  return until === null ? [] : grants.filter(one => one.vault_id === vaultId && one.until === undefined);
}

/** Members and groups get roles in the same way. */
function grantCommandOf(of: Collection, who: string): Command {
  return commandOf({
    usage: `${of} grant ${who} VAULT ROLE [flags]`,
    summary: `give a ${kinds[of]} a role in a vault, or remove it`,
    options: { ...options, until: endOption('when the role ends, such as 2027-01-31 or 8h') },
    completes: of,
    about: `Gives a ${kinds[of]} a role in one vault, in place of any earlier role there: ${grantedRoleNames.join(', ')}. The role none removes it.\nWith --until, the role ends at that time, and a role without an end stays beside it.`,
    upTo: 3,
    run: async (values, named, [vaultNamed, roleNamed]) => {
      if (vaultNamed === undefined || roleNamed === undefined)
        throw new UsageError(`a ${kinds[of]}, a vault and a role are required`);
      const role = roleNames.find(one => one === roleNamed);
      if (role === undefined) throw new UsageError(`the role must be one of: ${roleNames.join(', ')}`);
      const admin = adminIn(values);
      const holder = await found(admin, of, named);
      const vault = await admin.vault(vaultNamed);
      const update = of === 'members' ? admin.updateMember : admin.updateGroup;
      const until = values.until?.at ?? null;
      if (until !== null && role === 'none') throw new UsageError('the role none has no end');
      const change_grants = [...keptBeside(until, holder.grants, vault.id), granted(vault.id, role, until)];
      const answer = await update({ id: holder.id, body: { change_grants } });
      const ends = until === null ? '' : ` until ${until}`;
      const given = role === 'none' ? 'no role of their own' : `the role ${role}${ends}`;
      done(values.json, answer, `${printable(holder.name)} has ${given} in ${printable(vault.name)}`);
    },
  });
}

export const requestsCommand = commandOf({
  usage: 'requests list [flags]',
  summary: 'print who asks for a role in a vault',
  options,
  about:
    'Prints the requests for a role that wait for a decision: who asks, for which vault, role and end, and why. A signed-in\nperson approves or refuses them on the Approvals page of the dashboard.',
  run: async values => {
    const admin = adminIn(values);
    const all = await listed(admin.listRoleRequests);
    if (values.json) return printJson(all);
    const vaults = await vaultNames(admin);
    const lines = all.map(({ member, vault_id, role, until, reason }) => [
      member.email,
      vaults.get(vault_id) ?? vault_id,
      role,
      `until ${until}`,
      reason === '' ? '-' : reason,
    ]);
    process.stdout.write(table(lines));
  },
});

export const grantMemberCommand = grantCommandOf('members', 'EMAIL');
export const grantGroupCommand = grantCommandOf('groups', 'NAME');

export const groupsCommand = commandOf({
  usage: 'groups list [flags]',
  summary: 'print the groups, their members, and their roles in vaults',
  options,
  about:
    'Prints the groups of the organization: the number of members, and the roles in vaults as VAULT=ROLE.',
  run: async values => {
    const admin = adminIn(values);
    const all = await listed(admin.listGroups);
    if (values.json) return printJson(all);
    const vaults = await vaultNames(admin);
    const lines = all.map(({ name, member_ids, grants }) => [
      name,
      counted(member_ids.length, 'member'),
      inWords(grants, vaults),
    ]);
    process.stdout.write(table(lines));
  },
});

const createOptions = {
  ...options,
  'single-sign-on': flag('also include members for whom the single sign-on issuer lists the group’s name'),
};

export const createGroupCommand = commandOf({
  usage: 'groups create NAME [flags]',
  summary: 'create a group of members',
  options: createOptions,
  about: 'Creates a group. groups add adds members to it, and groups grant gives it roles in vaults.',
  missing: 'the name of a group is required',
  run: async (values, name) => {
    const body = { name, single_sign_on: values['single-sign-on'] };
    const answer = await adminIn(values).createGroup({ body });
    done(values.json, answer, `created ${printable(name)}`);
  },
});

export const deleteGroupCommand = commandOf({
  usage: 'groups delete NAME [flags]',
  summary: 'delete a group; its members lose the roles that it gave',
  options,
  completes: 'groups',
  about: 'Deletes a group. Its members stay, without the roles that the group gave them.',
  missing: 'the name of a group is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await found(admin, 'groups', named);
    done(values.json, await admin.deleteGroup({ id }), `deleted ${printable(name)}`);
  },
});

function membershipCommandOf(action: 'add' | 'remove', summary: string, about: string): Command {
  return commandOf({
    usage: `groups ${action} NAME EMAIL [flags]`,
    summary,
    options,
    completes: 'groups',
    about,
    missing: 'the name of a group is required',
    upTo: 2,
    run: async (values, named, [email]) => {
      if (email === undefined) throw new UsageError('the name of a member is required');
      const admin = adminIn(values);
      const { id, name } = await found(admin, 'groups', named);
      const member = await found(admin, 'members', email);
      const answer = await admin.updateGroup({ id, body: { [`${action}_member_ids`]: [member.id] } });
      const is = action === 'add' ? 'is in' : 'is not in';
      done(values.json, answer, `${printable(member.name)} ${is} ${printable(name)}`);
    },
  });
}

export const addToGroupCommand = membershipCommandOf(
  'add',
  'add a member to a group',
  'Adds a member to a group, effective with their next request.',
);
export const removeFromGroupCommand = membershipCommandOf(
  'remove',
  'remove a member from a group',
  'Removes a member from a group, effective with their next request.',
);
