/**
 * Authenticates callers of the general API: API keys, whose requests count against the plan, and members in the
 * dashboard, whose requests must come from its own pages and do not count. Callers are checked before the body is read,
 * and again only if there is a body, once it has arrived. Their permissions are checked once.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../access/caller.ts';
import type { Doorkeeper } from '../../domain/domain.ts';
import type { Permit } from '../../domain/kernel/permits.ts';
import { checkOwnPage, clearIfOver, cookieOf, sessionCookie, unknownAddress } from '../listener/browser.ts';
import { planLimit } from '../listener/plan-limit.ts';
import { bearerToken, originOf } from '../listener/request.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import {
  type Entrance,
  type Permissions,
  type PermitsFor,
  provenAgain,
  type Route,
  registerRoutes,
} from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller when the request began. */
    caller: Caller | null;
    /** Checks the credential again and returns the current caller. */
    prove: (() => Promise<Caller>) | null;
  }
}

export function mountGeneral(
  app: FastifyInstance,
  parts: AppParts,
  routes: readonly Route<Permissions>[],
): void {
  app.register(async general => {
    general.decorateRequest('caller', null);
    general.decorateRequest('prove', null);
    registerRoutes(general, routes, apiEntrance(parts));
  });
}

function apiEntrance(parts: AppParts): Entrance<Permissions> {
  const { domain, countRequests, now, addressOf } = parts;
  const take = planLimit({ count: countRequests, now, limitOf: domain.organizations.limit });
  return {
    now,
    approach: async (_route, request, reply) => {
      const { authorization } = request.headers;
      const session = authorization === undefined ? cookieOf(request.raw, sessionCookie) : null;
      const origin = originOf(request.raw, request.id, addressOf);
      request.prove = () =>
        session === null
          ? domain.authenticate.apiKey(bearerToken(authorization), origin)
          : memberOf(parts, session, request, reply);
      request.caller = await request.prove();
      if (session === null) await take(request.caller.organizationId, reply);
    },
    enter: async (_route, request) => {
      const before = request.caller!;
      const withdrawn = (verb: string) => domain.guard.withdrawn(before, verb);
      return { caller: await provenAgain(request, before, request.prove!, withdrawn) };
    },
    dashboardOf: ({ raw }) => parts.siteOf(raw)?.origin ?? '',
    admit: async ({ caller }, needs) => ({ caller, permits: await permitsFor(domain.guard, caller, needs) }),
  };
}

export async function permitsFor(
  guard: Pick<Doorkeeper, 'admit' | 'admitAny'>,
  caller: Caller,
  needs: Permissions,
): Promise<PermitsFor<Permissions>> {
  if ('anyOf' in needs) return [await guard.admitAny(caller, needs.anyOf)];
  if ('together' in needs) return [await guard.admit(caller, ...needs.together)];
  const [first, ...others] = needs.all;
  const permits: [Permit, ...Permit[]] = [await guard.admit(caller, first)];
  for (const action of others) permits.push(await guard.admit(caller, action));
  return permits;
}

async function memberOf(
  { domain, addressOf, siteOf }: AppParts,
  session: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  const site = siteOf(request.raw);
  if (site === null) throw unknownAddress();
  checkOwnPage(request.raw, site, true);
  const origin = originOf(request.raw, request.id, addressOf);
  const { caller } = await clearIfOver(reply, domain.accounts.sessions.require(session, origin));
  return caller;
}
