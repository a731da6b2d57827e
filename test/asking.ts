/**
 * The domain as its doors use it, for tests that have none: each call asks for the permits that it takes, as the route to
 * it does, and then hands them on.
 */
import type { Caller } from '../src/access/caller.ts';
import type { Domain } from '../src/domain/domain.ts';
import type { Noun } from '../src/domain/kernel/collection.ts';
import type { Permit } from '../src/domain/kernel/permits.ts';
import { permitsFor } from '../src/http/routes/api-callers.ts';
import type { Permissions } from '../src/http/routes/route.ts';

type Asker = Parameters<typeof permitsFor>[0];
type WithoutPermits<Given extends readonly unknown[]> = Given extends readonly [Permit, ...infer Rest]
  ? WithoutPermits<Rest>
  : Given;
type Asked<F> = F extends (...given: infer Given) => infer Answer
  ? (caller: Caller, ...given: WithoutPermits<Given>) => Answer
  : never;
export type Asking<S, N> = { readonly [M in keyof S]: M extends keyof N ? Asked<S[M]> : S[M] };

/** A function that takes permits, as one that takes the caller. */
export function asked<F extends (...given: never[]) => Promise<unknown>>(
  asker: Asker,
  does: F,
  needs: Permissions,
): Asked<F> {
  return (async (caller: Caller, ...given: never[]) => {
    const permits = await permitsFor(asker, caller, needs);
    return does(...(permits as unknown as readonly never[]), ...given);
  }) as Asked<F>;
}

export function asking<S extends object, N extends { readonly [M in keyof S]?: Permissions }>(
  asker: Asker,
  service: S,
  needs: N,
): Asking<S, N> {
  const members = Object.entries(needs).map(([name, need]) => [
    name,
    asked(asker, service[name as keyof S] as never, need as Permissions),
  ]);
  return { ...service, ...Object.fromEntries(members) };
}

/** What the calls of a collection take. */
export function collection(noun: Noun) {
  const [reads, writes]: Permissions[] = [{ all: [`${noun}:read`] }, { all: [`${noun}:write`] }];
  return { list: reads!, get: reads!, create: writes!, update: writes!, remove: writes! };
}

const all = (...actions: Extract<Permissions, { all: unknown }>['all']): Permissions => ({ all: actions });
const anyWrite: Permissions = {
  anyOf: ['vaults:write', 'secrets:write', 'keys:write', 'certificates:write'],
};
const everyRead: Permissions = {
  together: ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'],
};

/** What each call of the domain takes, by its service. */
export const takes = {
  vaults: { ...collection('vaults'), counts: all('vaults:read') },
  secrets: {
    ...collection('secrets'),
    reveal: all('secrets:reveal'),
    code: all('secrets:reveal'),
    versions: all('secrets:read'),
    rollback: all('secrets:write'),
    writeAll: all('secrets:write'),
  },
  manySecrets: { reveal: all('secrets:reveal'), copy: all('secrets:reveal', 'secrets:write') },
  comparisons: { compare: all('secrets:reveal'), compareVaults: all('secrets:read') },
  stages: {
    ...collection('vaults'),
    compare: all('vaults:read', 'secrets:read'),
    rename: all('vaults:read', 'secrets:read', 'secrets:write'),
  },
  keys: {
    ...collection('keys'),
    reveal: all('keys:reveal'),
    rotate: all('keys:write'),
    versions: all('keys:read'),
  },
  usedKeys: { operate: all('keys:use') },
  certificates: {
    ...collection('certificates'),
    requestFor: all('certificates:write'),
    renewalRequest: all('certificates:write'),
    versions: all('certificates:read'),
    rollback: all('certificates:write'),
  },
  resources: { get: everyRead, update: anyWrite, remove: anyWrite, restore: anyWrite },
  apiKeys: collection('api-keys'),
  accessKeys: collection('access-keys'),
  publicTokens: collection('public-tokens'),
  identities: collection('identities'),
  secretIds: collection('identities'),
  members: { ...collection('members'), invite: all('members:write') },
  groups: collection('members'),
  organizations: { get: all('organization:read'), change: all('organization:write') },
  overviews: { overview: all('organization:read'), about: all('organization:read') },
  accounts: { whoami: all('organization:read') },
  useRules: { ...collection('use-rules'), check: all('use-rules:write') },
  approvals: {
    list: all('approvals:read'),
    get: all('approvals:read'),
    approve: all('approvals:write'),
    refuse: all('approvals:write'),
  },
  webhooks: { ...collection('webhooks'), rotateSecret: all('webhooks:write') },
  webhookDeliveries: {
    list: all('webhooks:read'),
    get: all('webhooks:read'),
    test: all('webhooks:write'),
    redeliver: all('webhooks:write'),
  },
  logs: {
    requests: all('logs:read'),
    request: all('logs:read'),
    exportRequests: all('logs:read'),
    audits: all('logs:read'),
    audit: all('logs:read'),
    exportAudits: all('logs:read'),
  },
  readers: { of: all('logs:read', 'secrets:read') },
} satisfies { readonly [S in keyof Domain]?: { readonly [M in keyof Domain[S]]?: Permissions } };

type AskingServices = { readonly [S in keyof typeof takes]: Asking<Domain[S], (typeof takes)[S]> };
export type AskingDomain = Omit<Domain, keyof typeof takes | 'verifyLogs'> &
  Omit<AskingServices, 'resources'> & {
    readonly verifyLogs: Asked<Domain['verifyLogs']> & Pick<Domain['verifyLogs'], 'prove'>;
    readonly resources: Asking<
      Domain['resources'],
      (typeof takes)['resources'] & Record<'list' | 'create', unknown>
    >;
  };

export function askingDomain(domain: Domain): AskingDomain {
  const services = Object.entries(takes).map(([name, needs]) => [
    name,
    asking(domain.guard, domain[name as keyof typeof takes], needs),
  ]);
  const made = Object.fromEntries(services) as AskingServices;
  const verifyLogs = asked(domain.guard, domain.verifyLogs, all('logs:read'));
  return {
    ...domain,
    ...made,
    verifyLogs: Object.assign(verifyLogs, { prove: domain.verifyLogs.prove }),
    resources: {
      ...made.resources,
      list: (caller, query) => {
        const needs = query.type === undefined ? everyRead : all(`${query.type}s:read`);
        return asked(domain.guard, domain.resources.list, needs)(caller, query);
      },
      create: async (caller, typed) =>
        domain.resources.create(await domain.guard.admit(caller, `${typed.type}s:write`), typed),
    },
  };
}
