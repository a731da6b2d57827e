/** `strongroom organization set-plan`: changes the plan of an organization, beside a running service. */
import { helpFor, readConfig, setPlanOptions, UsageError } from '../config.ts';
import { openStrongroom } from '../open.ts';
import type { Command } from './command.ts';
import { operatorOf } from './operator.ts';

const usage = 'organization set-plan [flags]';
const summary = 'change an organization’s plan';

export const command: Command = {
  usage,
  summary,
  help: () =>
    helpFor(
      usage,
      'Changes an organization’s plan; a running service follows within a second.',
      setPlanOptions,
    ),
  run: async args => {
    const config = readConfig(setPlanOptions, args, process.env);
    if (config.plan === null) throw new UsageError('--plan is required');
    const strongroom = await openStrongroom(config, false);
    try {
      const { domain, newId } = strongroom;
      const all = await domain.organizations.all();
      const named =
        config.organization === null ? all : all.filter(({ name }) => name === config.organization);
      if (named.length !== 1) throw new UsageError('--organization must name one organization that exists');
      const choice = { plan: config.plan, enterpriseLimit: config['enterprise-limit'] };
      const { name, plan } = await domain.organizations.setPlan(operatorOf(named[0]!.id, newId), choice);
      process.stdout.write(`Organization ${name} is on the plan ${plan}\n`);
    } finally {
      await strongroom.close();
    }
  },
};
