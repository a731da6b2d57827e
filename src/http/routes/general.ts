/** The route table of the general API. */
import type { Domain } from '../../domain/domain.ts';
import { accessRoutes } from './access.ts';
import { identityRoutes } from './identities.ts';
import { logRoutes, overviewRoutes } from './logs.ts';
import { resourceRoutes } from './resources.ts';
import type { Permissions, Route } from './route.ts';
import { ruleRoutes } from './use-rules.ts';
import { webhookRoutes } from './webhooks.ts';

export function generalRoutes(domain: Domain): Route<Permissions>[] {
  return [
    ...resourceRoutes(domain),
    ...accessRoutes(domain),
    ...identityRoutes(domain),
    ...ruleRoutes(domain),
    ...webhookRoutes(domain),
    ...logRoutes(domain),
    ...overviewRoutes(domain),
  ];
}
