/** `strongroom setup`: creates an organization and an owner's API key without a browser. */
import { readConfig, setupOptions, UsageError } from '../config.ts';
import { name as nameSchema } from '../contract/text.ts';
import { withStrongroom } from '../open.ts';
import type { Command } from './command.ts';
import { operatorOf } from './operator.ts';

const usage = 'setup [flags]';
const summary = 'create an organization and an owner’s API key';
const defaultName = 'Default';

export const command: Command = {
  usage,
  summary,
  options: setupOptions,
  about:
    'Creates an organization and prints an owner’s API key, once. Can run before serve or while it runs.',
  run: async args => {
    const config = readConfig(setupOptions, args, process.env);
    const checked = nameSchema.safeParse(config.organization ?? defaultName);
    if (!checked.success) throw new UsageError(`--organization ${checked.error.issues[0]!.message}`);
    await withStrongroom(config, async ({ domain, newId }) => {
      const operator = (id: string) => operatorOf(id, newId);
      const existing = await domain.organizations.byName(checked.data);
      if (existing !== null && !config['new-key']) {
        throw new UsageError(
          '--organization names an existing organization: use --new-key to add an owner’s API key',
        );
      }
      if (existing === null && config['new-key'])
        throw new UsageError('--new-key requires an existing organization');
      const choice = { plan: config.plan ?? 'pro', enterpriseLimit: config['enterprise-limit'] } as const;
      const { id, name, plan } =
        existing ?? (await domain.organizations.create(operator, checked.data, choice));
      const { token } = await domain.apiKeys.create(operator(id), { name: 'Owner', role: 'owner' });
      print(config.json, { organization: { id, name, plan }, api_key: token! });
    });
  },
};

interface Made {
  readonly organization: { readonly id: string; readonly name: string; readonly plan: string };
  readonly api_key: string;
}

function print(json: boolean, made: Made): void {
  const { organization, api_key } = made;
  const people = `Organization ${organization.name} (${organization.plan}): ${organization.id}\nOwner's API key, shown only once: ${api_key}\n`;
  process.stdout.write(json ? `${JSON.stringify(made)}\n` : people);
}
