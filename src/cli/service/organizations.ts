/** The operator's commands for one organization. They require the root key, and are recorded in its audit log. */
import type { Caller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { type Strongroom, withStrongroom } from '../../service/opening/open.ts';
import { ownerResetOptions, setPlanOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import { Refusal } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';
import { operatorOf } from './operator.ts';

const defaultUrl = 'http://localhost:8420';

/** Without a name, the operator means the only organization. */
async function operatorIn({ domain, newId }: Strongroom, organization: string | null): Promise<Caller> {
  const all = await domain.organizations.all();
  const named = organization === null ? all : all.filter(({ name }) => name === organization);
  if (named.length !== 1) throw new UsageError('--organization must name an existing organization');
  return operatorOf(named[0]!.id, newId);
}

export const setPlanCommand: Command = {
  usage: 'organization set-plan [flags]',
  summary: 'change an organization’s plan',
  options: setPlanOptions,
  about: 'Changes an organization’s plan. A running service applies it within a second.',
  run: async args => {
    const config = readConfig(setPlanOptions, args, process.env);
    const { plan: chosen } = config;
    if (chosen === null) throw new UsageError('--plan is required');
    await withStrongroom(config, async strongroom => {
      const operator = await operatorIn(strongroom, config.organization);
      const choice = { plan: chosen, enterpriseLimit: config['enterprise-limit'] };
      const { name, plan } = await strongroom.domain.organizations.setPlan(operator, choice);
      process.stdout.write(`Organization ${name} is now on the ${plan} plan\n`);
    });
  },
};

export const ownerResetCommand: Command = {
  usage: 'owner reset [flags]',
  summary: 'restore access for an owner who can no longer sign in',
  options: ownerResetOptions,
  about:
    'Removes an owner’s password, passkeys and one-time codes, ends their sessions, and prints a link with which they set up\ntheir sign-in again. The link works once, for seven days. Can run while the service runs.',
  run: async args => {
    const config = readConfig(ownerResetOptions, args, process.env);
    const { email } = config;
    if (email === null) throw new UsageError('--email is required');
    await withStrongroom(config, async strongroom => {
      const operator = await operatorIn(strongroom, config.organization);
      const { token } = await strongroom.domain.members.recover(operator, email).catch(refused);
      const link = `${(config.url ?? defaultUrl).replace(/\/$/, '')}/invite#${token}`;
      process.stdout.write(config.json ? `${JSON.stringify({ link, token })}\n` : `${link}\n`);
    });
  },
};

function refused(error: unknown): never {
  if (!(error instanceof Failure)) throw error;
  if (error.code === 'NOT_FOUND') throw new Refusal('no member of the organization has this email address');
  throw error.code === 'FORBIDDEN'
    ? new Refusal('the member is not an owner: an owner can invite them again')
    : error;
}
