/** `strongroom organization set-plan`: changes the plan of an organization while the service runs. */

import { withStrongroom } from '../../service/opening/open.ts';
import { setPlanOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import type { Command } from '../terminal/command.ts';
import { operatorOf } from './operator.ts';

export const command: Command = {
  usage: 'organization set-plan [flags]',
  summary: 'change an organization’s plan',
  options: setPlanOptions,
  about: 'Changes an organization’s plan. A running service applies it within a second.',
  run: async args => {
    const config = readConfig(setPlanOptions, args, process.env);
    const { plan: chosen } = config;
    if (chosen === null) throw new UsageError('--plan is required');
    await withStrongroom(config, async ({ domain, newId }) => {
      const all = await domain.organizations.all();
      const named =
        config.organization === null ? all : all.filter(({ name }) => name === config.organization);
      if (named.length !== 1) throw new UsageError('--organization must name an existing organization');
      const choice = { plan: chosen, enterpriseLimit: config['enterprise-limit'] };
      const { name, plan } = await domain.organizations.setPlan(operatorOf(named[0]!.id, newId), choice);
      process.stdout.write(`Organization ${name} is now on the ${plan} plan\n`);
    });
  },
};
