/**
 * The domain by itself, over a real store and a real keyring, with a clock that the test moves and no door: for decisions
 * that take many rows to tell apart. That each door asks the domain, and how it answers, is tested at the doors.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import type { AuditLog } from '../src/contract/logs.ts';
import type { GrantedRole } from '../src/contract/names.ts';
import type { SignedInAs } from '../src/domain/sessions/dashboard-sessions.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type AskingDomain, askingDomain } from './asking.ts';
import { cheapPasswords, timePassing } from './harness.ts';
import { dataFolder } from './postgres.ts';

export const minute = 60_000;
const password = 'correct horse battery';

export interface Joined extends SignedInAs {
  readonly memberId: string;
}

export interface DomainWorld {
  readonly domain: AskingDomain;
  /** May do everything, and nothing that is stored proves it. */
  readonly operator: Caller;
  readonly origin: Caller['origin'];
  now(): number;
  /** Lets so much time pass, to the beginning of a minute where nothing is said. */
  pass(milliseconds?: number): void;
  /** From now on each look at the clock finds it so much later. */
  tick(milliseconds: number): void;
  /** Signed in by a password. */
  join(email: string, role: GrantedRole): Promise<Joined>;
  /** The same person and session, with a proof of who they are just now. */
  prove(person: Joined): Promise<Joined>;
  /** The newest entries of the audit log. */
  audits(limit: number): Promise<readonly AuditLog[]>;
  /** As an intruder, or another program, changes what is stored. */
  sql(text: string, ...values: SQLInputValue[]): Record<string, unknown>[];
  close(): Promise<void>;
}

export async function openDomain(): Promise<DomainWorld> {
  const data = await dataFolder();
  let time = Date.parse('2026-03-01T12:00:00Z');
  let step = 0;
  const wall = () => {
    time += step;
    return time;
  };
  const config = readConfig(serveOptions, ['--data', data], {});
  const parts = { elapsed: timePassing(), passwordCosts: cheapPasswords };
  const { domain: own, close, newId } = await openStrongroom(config, false, wall, parts);
  const domain = askingDomain(own);
  const operatorIn = (id: string) => trustedCaller('operator', 'operator', 'operator', id, newId());
  const { id } = await domain.organizations.create(operatorIn, 'Test', {
    plan: 'enterprise',
    enterpriseLimit: 0,
  });
  const operator = operatorIn(id);
  const origin = { address: '192.0.2.1', userAgent: 'test', requestId: newId() };
  const site = { origin: 'https://vault.example.org', host: 'vault.example.org' };
  const database = new DatabaseSync(join(data, 'strongroom.db'), { timeout: 10_000 });
  return {
    domain,
    operator,
    origin,
    now: () => time,
    pass: (milliseconds = minute - (time % minute)) => {
      time += milliseconds;
    },
    tick: milliseconds => {
      step = milliseconds;
    },
    join: async (email, role) => {
      const member = await domain.members.create(operator, { email, role });
      const given = { token: member.token, password };
      const token = await domain.accounts.joining.accept(site, given, origin);
      return { ...(await domain.accounts.sessions.require(token, origin)), memberId: member.id };
    },
    prove: async ({ memberId, ...as }) => {
      await domain.accounts.proofs.prove(as, site, { password });
      return { ...(await domain.accounts.sessions.again(as.session.id, origin)), memberId };
    },
    audits: async limit => (await domain.logs.audits(operator, { page: 1, limit })).data,
    sql: (text, ...values) => database.prepare(text).all(...values) as Record<string, unknown>[],
    close: async () => {
      database.close();
      await close();
      await rm(data, { recursive: true, force: true });
    },
  };
}
