/** The route table of the general API. */
import type { Domain } from '../vault/domain.ts';
import { accessRoutes } from './access-routes.ts';
import { logRoutes, overviewRoutes } from './log-routes.ts';
import { resourceRoutes } from './resource-routes.ts';
import type { Route } from './route.ts';
import { webhookRoutes } from './webhook-routes.ts';

export function generalRoutes(domain: Domain): Route[] {
  return [
    ...resourceRoutes(domain),
    ...accessRoutes(domain),
    ...webhookRoutes(domain),
    ...logRoutes(domain),
    ...overviewRoutes(domain),
  ];
}
