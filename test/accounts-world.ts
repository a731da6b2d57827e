/**
 * The domain over a real store, in this process and without a listener: for decisions of which there are too many to try
 * each through a door. The clock stands still until a test moves it, deriving a password costs nothing, and documents of
 * issuers come from the test.
 */

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Caller, Origin } from '../src/access/caller.ts';
import { egressInto } from '../src/access/egress.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import { Failure } from '../src/contract/errors.ts';
import type { AuditLog } from '../src/contract/logs.ts';
import { accountsWith } from '../src/domain/accounts.ts';
import { credentialsWith } from '../src/domain/credentials/credentials.ts';
import { identitiesWith } from '../src/domain/identities/identities.ts';
import { issuersWith } from '../src/domain/identities/issuers.ts';
import { loginsWith } from '../src/domain/identities/logins.ts';
import { secretIdsWith } from '../src/domain/identities/secret-ids.ts';
import { mailboxWith } from '../src/domain/kernel/mailbox.ts';
import { groupsWith } from '../src/domain/people/groups.ts';
import { membersWith } from '../src/domain/people/members.ts';
import { organizationsWith } from '../src/domain/people/organizations.ts';
import { foundationWith } from '../src/domain/reading.ts';
import { vaultsWith } from '../src/domain/resources/vaults.ts';
import type { SignedInAs } from '../src/domain/sessions/dashboard-sessions.ts';
import { mailSettingsWith } from '../src/domain/sessions/mail-settings.ts';
import { passwordCosts } from '../src/domain/sign-in/passwords.ts';
import { openData } from '../src/service/opening/open-data.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Asking, asking, takes } from './asking.ts';

export const password = 'correct horse battery staple';
export const site = { origin: 'http://localhost:4270', host: 'localhost' };
export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

export type DomainWorld = Awaited<ReturnType<typeof domainWorld>>;

export async function domainWorld() {
  const folder = await mkdtemp(join(process.env.STRONGROOM_TEST_FOLDER ?? tmpdir(), 'strongroom-domain-'));
  const place = readConfig(serveOptions, ['--data', folder], {});
  const wall = { now: Date.UTC(2030, 0, 1) };
  const opened = await openData(place, false, () => wall.now, { elapsed: () => wall.now });
  const foundation = foundationWith(opened);
  const { parts, records, people, attempts, authenticate, ledger } = foundation;
  const groups = groupsWith(parts, records);
  const identities = identitiesWith(parts, records, egressInto([]));
  const documents = new Map<string, unknown>();
  const fetched: string[] = [];
  const issuers = issuersWith({
    now: parts.now,
    fetchDocument: async url => {
      fetched.push(url);
      return documents.get(url) ?? Promise.reject(new Error(`nothing at ${url}`));
    },
  });
  const passwordPool = {
    derive: async ({ message, nonce }: { message: unknown; nonce: unknown }) =>
      hash('sha256', `${Buffer.from(nonce as Uint8Array).toString('hex')} ${message}`, 'buffer'),
    close: async () => {},
  };
  const database = new DatabaseSync(join(folder, 'strongroom.db'), { timeout: 10_000 });
  let addresses = 0;
  const credentials = credentialsWith(parts, records);
  const mailbox = mailboxWith(parts, false);
  const made = <S extends keyof typeof takes, Service extends object>(name: S, service: Service) =>
    asking(parts.guard, service, takes[name] as never) as Asking<Service, (typeof takes)[S]>;
  return {
    ...foundation,
    organizations: made('organizations', organizationsWith(parts)),
    groups: made('groups', groups),
    members: made('members', membersWith(parts, records, groups, mailbox)),
    accounts: made(
      'accounts',
      accountsWith({
        ...parts,
        mailSettings: mailSettingsWith(parts, mailbox),
        people,
        attempts,
        authenticate,
        passwordPool,
        passwordCosts,
      }),
    ),
    apiKeys: made('apiKeys', credentials.apiKeys),
    accessKeys: made('accessKeys', credentials.accessKeys),
    publicTokens: made('publicTokens', credentials.publicTokens),
    vaults: made('vaults', vaultsWith(parts, records)),
    identities: made('identities', identities),
    secretIds: made('secretIds', secretIdsWith(parts, identities)),
    logins: loginsWith({ ...parts, attempts, issuers, authenticate }),
    issuers,
    documents,
    fetched,
    /** As others than the service see it. */
    database,
    now: parts.now,
    /** Lets so many milliseconds pass. */
    pass: (milliseconds: number) => {
      wall.now += milliseconds;
    },
    /** A request from an address at which nothing failed yet, unless one is named. */
    origin: (address = `2001:db8:${(++addresses).toString(16)}::1`): Origin => ({
      address,
      userAgent: 'test',
      requestId: parts.newId(),
    }),
    operator: (organizationId: string): Caller => operatorOf(organizationId, parts.newId),
    close: async () => {
      database.close();
      await ledger.drain();
      await parts.workers.close();
      await parts.store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Sets the world up, with its owner signed in. */
export async function setUp(world: DomainWorld, email = 'owner@example.org'): Promise<SignedInAs> {
  const { joining } = world.accounts;
  const token = (await joining.setupToken())!;
  const body = { token, email, password, organization: 'Acme' };
  return signedIn(world, await joining.setUp(site, body, world.origin()));
}

/** Who is signed in by a session, from an address of their own. */
export function signedIn({ accounts, origin }: DomainWorld, session: string): Promise<SignedInAs> {
  return accounts.sessions.require(session, origin());
}

/** Somebody who was invited and joined. */
export async function joined(
  world: DomainWorld,
  organizationId: string,
  email: string,
  role: Parameters<DomainWorld['members']['create']>[1]['role'] = 'editor',
): Promise<SignedInAs> {
  const { token } = await world.members.create(world.operator(organizationId), { email, role });
  return signedIn(world, await world.accounts.joining.accept(site, { token, password }, world.origin()));
}

export async function organization(world: DomainWorld, name: string): Promise<string> {
  const choice = { plan: 'enterprise', enterpriseLimit: 0 } as const;
  return (await world.organizations.create(world.operator, name, choice)).id;
}

/** The newest entries of an organization's audit log, or of the deployment's own; the newest first. */
export function audits({ database }: DomainWorld, organizationId: string | null, limit = 20): AuditLog[] {
  const rows = database
    .prepare('SELECT entry FROM audit_logs WHERE organization_id IS ? ORDER BY id DESC LIMIT ?')
    .all(organizationId, limit);
  return rows.map(({ entry }) => JSON.parse(String(entry)));
}

export type { SignedInAs };

type Told = Partial<Pick<Failure, 'field' | 'reason' | 'message' | 'retryAfter'>>;

/** That something is refused, in this way. */
export async function refused(promise: Promise<unknown>, code: Failure['code'], told: Told = {}) {
  const outcome = await promise.then(
    value => assert.fail(`not refused: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!(outcome instanceof Failure)) throw outcome;
  const expected = { code, ...told };
  const fields = Object.keys(expected) as (keyof typeof expected)[];
  assert.deepEqual(Object.fromEntries(fields.map(field => [field, outcome[field]])), expected);
}
