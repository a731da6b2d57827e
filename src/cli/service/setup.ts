/**
 * `strongroom setup`: creates an organization without a browser, with an owner's API key for programs and, with an
 * email address, an invitation for the first person. Both are printed once.
 */
import { memberCreate } from '../../contract/members.ts';
import { name as nameSchema } from '../../contract/text.ts';
import { type Strongroom, withNewStrongroom } from '../../service/opening/open.ts';
import { setupOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import type { Command } from '../terminal/command.ts';
import { operatorOf } from './operator.ts';

const defaultName = 'Default';
/** If there are more, only their number is shown. */
const mostNamed = 5;
const defaultUrl = 'http://localhost:8420';

type Config = ReturnType<typeof readConfig<typeof setupOptions>>;
type Organization = Made['organization'];

export const command: Command = {
  usage: 'setup [flags]',
  summary: 'create an organization, an owner’s API key and the first invitation',
  options: setupOptions,
  about:
    'Creates an organization and prints an owner’s API key, once. With --email, it also prints the link with which the first person joins; for an existing organization, it prints only the link. Can run before serve or while it runs.',
  run: async args => {
    const config = readConfig(setupOptions, args, process.env);
    const checked = nameSchema.safeParse(config.organization ?? defaultName);
    if (!checked.success) throw new UsageError(`--organization ${checked.error.issues[0]!.message}`);
    const email = emailOf(config);
    await withNewStrongroom(config, async strongroom => {
      const { domain } = strongroom;
      const existing = await domain.organizations.byName(checked.data);
      if (existing !== null && !config['new-key'] && email === null) {
        throw new UsageError(
          '--organization names an existing organization: use --new-key to add an owner’s API key, or --email to invite a person',
        );
      }
      if (existing === null && config.organization === null) await refuseSecond(strongroom);
      if (existing === null && config['new-key'])
        throw new UsageError('--new-key requires an existing organization');
      const organization = existing ?? (await create(strongroom, config, checked.data));
      const isKeyWanted = existing === null || config['new-key'];
      const api_key = isKeyWanted ? await ownerKey(strongroom, organization) : undefined;
      const invitation = email === null ? undefined : await invite(strongroom, config, organization, email);
      const { id, name, plan } = organization;
      print(config.json, { organization: { id, name, plan }, api_key, invitation });
    });
  },
};

/** A second organization requires a name, because one created by mistake would split what belongs together. */
async function refuseSecond({ domain }: Strongroom): Promise<void> {
  const names = (await domain.organizations.all()).map(({ name }) => `“${name}”`);
  if (names.length === 0) return;
  const named = names.length > mostNamed ? `${names.length} organizations` : names.join(', ');
  throw new UsageError(
    `${named} already ${names.length === 1 ? 'exists' : 'exist'}: use --organization with its name to add to it, or with a new name to create another`,
  );
}

function emailOf({ email }: Config): string | null {
  if (email === null) return null;
  const checked = memberCreate.safeParse({ email, role: 'owner' });
  if (!checked.success) throw new UsageError(`--email ${checked.error.issues[0]!.message}`);
  return checked.data.email;
}

function create({ domain, newId }: Strongroom, config: Config, name: string): Promise<Organization> {
  const choice = { plan: config.plan ?? 'pro', enterpriseLimit: config['enterprise-limit'] } as const;
  return domain.organizations.create(id => operatorOf(id, newId), name, choice);
}

async function ownerKey({ domain, newId }: Strongroom, { id }: Organization): Promise<string> {
  const permit = await domain.guard.admit(operatorOf(id, newId), 'api-keys:write');
  const { token } = await domain.apiKeys.create(permit, { name: 'Owner', role: 'owner' });
  return token!;
}

/** A person who lost their link gets a new one; a person who has already joined is refused. */
async function invite(
  { domain: { members, guard }, newId }: Strongroom,
  config: Config,
  { id }: Organization,
  email: string,
): Promise<Made['invitation']> {
  const operator = operatorOf(id, newId);
  const { data } = await members.list(await guard.admit(operator, 'members:read'), {
    page: 1,
    limit: 100,
    q: email,
  });
  const known = data.find(member => member.email.toLowerCase() === email.toLowerCase());
  if (known !== undefined && known.state !== 'invited')
    throw new UsageError('--email names a member who has already joined');
  const permit = await guard.admit(operator, 'members:write');
  const { token } = await (known === undefined
    ? members.create(permit, { email, role: 'owner' })
    : members.invite(permit, known.id));
  const [named = defaultUrl] = config['public-url'];
  return { email, url: `${new URL(named).origin}/invite#${token}` };
}

interface Made {
  readonly organization: { readonly id: string; readonly name: string; readonly plan: string };
  readonly api_key: string | undefined;
  readonly invitation: { readonly email: string; readonly url: string } | undefined;
}

function print(json: boolean, made: Made): void {
  const { organization, api_key, invitation } = made;
  const lines = [
    `Organization ${organization.name} (${organization.plan}): ${organization.id}`,
    ...(api_key === undefined ? [] : [`Owner's API key, shown only once: ${api_key}`]),
    invitation === undefined
      ? `To let the first person sign in to the dashboard: strongroom setup --organization '${organization.name}' --email ADDRESS`
      : `Invitation for ${invitation.email}, to open in a browser within 7 days: ${invitation.url}`,
  ];
  process.stdout.write(json ? `${JSON.stringify(made)}\n` : `${lines.join('\n')}\n`);
}
