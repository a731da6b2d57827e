/**
 * `run --lease`: short-lived credentials that a program gets as variables. They are renewed while it runs and revoked
 * when it ends. One that can't be renewed any longer is replaced if the program may be restarted; otherwise a note says
 * when it ends. If this process is killed, its credentials end by themselves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EndedLease, IssuedLease, RenewedLease } from '../../contract/issuers.ts';
import { UsageError } from '../../service/settings/report.ts';
import { Away, ask as askService, jsonOf, type RemoteRequest, refusalOf } from '../connection/remote.ts';
import { isId } from '../connection/secret.ts';
import type { Settings } from '../connection/settings.ts';
import { logIn } from '../connection/workload.ts';
import type { Masked } from '../terminal/mask.ts';
import { note as noteOnTerminal, printable } from '../terminal/terminal.ts';
import { type Allowed, refuseUnsafe } from './unsafe-names.ts';

export interface LeaseWanted {
  /** What the names of the variables begin with. */
  readonly name: string;
  readonly issuer: string;
}

export interface HeldLeases {
  /** Obtains what is not there yet. */
  obtain(): Promise<void>;
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: readonly Masked[];
  /** Obtains new ones for those that end soon, if there are any. */
  replace(): Promise<boolean>;
  /** Revokes those that were replaced, once no program uses them. */
  revokeReplaced(): Promise<void>;
  /** Revokes all, and those that are being obtained. */
  end(): Promise<void>;
}

interface Held {
  readonly wanted: LeaseWanted;
  readonly key: string;
  readonly issued: IssuedLease;
  expiresAt: number;
  /** Whether it can’t be renewed any longer. */
  isEnding: boolean;
  /** Whether another one is needed now. */
  isDue: boolean;
}

export interface LeaseParts {
  readonly request: (asked: RemoteRequest) => Promise<unknown>;
  readonly key: () => Promise<string>;
  readonly vault: string;
  readonly now: () => number;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly note: (text: string) => void;
}

/** A third of its life is left for attempts to renew it. */
const renewedAfter = 2 / 3;
const shortestWait = 1_000;
const patience = 10_000;

/** Without a name, the variables are named after the issuer. */
export function leaseIn(given: string): LeaseWanted {
  const at = given.indexOf('=');
  const [name, issuer] = at < 0 ? [given, given] : [given.slice(0, at), given.slice(at + 1)];
  if (!/^[a-z][a-z0-9_-]*$/i.test(name) || issuer === '')
    throw new Error('must be an issuer named like a variable, or of the form NAME=ISSUER');
  return { name, issuer };
}

export function leasesFor(settings: Settings, wanted: readonly LeaseWanted[], allowed: Allowed): HeldLeases {
  const { url, accessKey, workload, vault } = settings;
  if (accessKey === null && workload === null)
    throw new UsageError('--lease requires an access key: STRONGROOM_ACCESS_KEY');
  return heldLeases(wanted, allowed, {
    request: async asked => {
      const answer = await askService(url, { patience, ...asked });
      if (answer.status !== 200) throw refusalOf(url, answer);
      return jsonOf(url, answer);
    },
    key: async () => accessKey ?? logIn(url, workload!, vault),
    vault: vault !== null && isId(vault) ? vault : 'self',
    now: Date.now,
    wait: (milliseconds, signal) => sleep(milliseconds, undefined, { ref: false, signal }),
    note: noteOnTerminal,
  });
}

export function heldLeases(
  wanted: readonly LeaseWanted[],
  allowed: Allowed,
  { request, key, vault, now, wait, note }: LeaseParts,
): HeldLeases {
  const held = new Map<LeaseWanted, Held>();
  const replaced: Held[] = [];
  const pending = new Set<Promise<unknown>>();
  const ending = new AbortController();
  const path = (rest = '') => `/api/v1/vaults/${vault}/leases${rest}`;

  async function issue(one: LeaseWanted): Promise<void> {
    const token = await key();
    ending.signal.throwIfAborted();
    const body = { name: one.issuer };
    const issued = (await request({ method: 'POST', path: path(), key: token, body })) as IssuedLease;
    const expiresAt = Date.parse(issued.lease.expires_at);
    const made = {
      wanted: one,
      key: token,
      issued,
      expiresAt,
      isEnding: !issued.lease.renewable,
      isDue: false,
    };
    const before = held.get(one);
    if (before !== undefined) replaced.push(before);
    held.set(one, made);
    refuseUnsafe(Object.keys(variablesOf(made)), allowed);
    void keepAlive(made).catch(() => {});
  }

  async function obtainAll(all: readonly LeaseWanted[]): Promise<void> {
    const begun = all.map(issue);
    for (const one of begun) {
      pending.add(one);
      one.finally(() => pending.delete(one)).catch(() => {});
    }
    await Promise.all(begun);
  }

  /** Until it is replaced, ends, or everything does. */
  async function keepAlive(one: Held): Promise<void> {
    const { signal } = ending;
    while (held.get(one.wanted) === one && !one.isDue && !signal.aborted) {
      await wait(Math.max((one.expiresAt - now()) * renewedAfter, shortestWait), signal);
      if (held.get(one.wanted) !== one) return;
      if (one.isEnding || one.expiresAt <= now()) return told(one);
      await renew(one);
    }
  }

  async function renew(one: Held): Promise<void> {
    try {
      const asked = { method: 'POST', path: path(`/${one.issued.lease.id}/renew`), key: one.key } as const;
      const { lease } = (await request(asked)) as RenewedLease;
      one.expiresAt = Date.parse(lease.expires_at);
      one.isEnding = !lease.renewable;
    } catch (error) {
      // While the service is away, it is tried again in what is left of its life.
      if (!(error instanceof Away)) told(one);
    }
  }

  function told(one: Held): void {
    one.isDue = true;
    note(
      `the credential of ${printable(one.wanted.issuer)} can’t be renewed and ends at ${new Date(one.expiresAt).toISOString()}`,
    );
  }

  async function revoke(one: Held): Promise<void> {
    try {
      const asked = { method: 'DELETE', path: path(`/${one.issued.lease.id}`), key: one.key } as const;
      (await request(asked)) as EndedLease;
    } catch {
      note(
        `the credential of ${printable(one.wanted.issuer)} could not be revoked and ends at ${new Date(one.expiresAt).toISOString()}`,
      );
    }
  }

  return {
    obtain: () => obtainAll(wanted.filter(one => !held.has(one))),
    get variables() {
      return Object.assign({}, ...[...held.values()].map(variablesOf));
    },
    get secrets() {
      return [...held.values()].flatMap(secretsOf);
    },
    replace: async () => {
      const due = [...held.values()].filter(one => one.isDue).map(one => one.wanted);
      await obtainAll(due);
      return due.length > 0;
    },
    revokeReplaced: async () => void (await Promise.all(replaced.splice(0).map(revoke))),
    end: async () => {
      ending.abort();
      await Promise.allSettled(pending);
      await Promise.all([...replaced.splice(0), ...held.values()].map(revoke));
      held.clear();
    },
  };
}

function variablesOf({ wanted, issued }: Held): Record<string, string> {
  const begin = wanted.name.toUpperCase().replaceAll('-', '_');
  return Object.fromEntries(
    Object.entries(issued.data).map(([field, value]) => [`${begin}_${field.toUpperCase()}`, String(value)]),
  );
}

/** A user name is no secret, and may be a common word in the output. */
function secretsOf(one: Held): Masked[] {
  return Object.entries(variablesOf(one))
    .filter(([name]) => !name.endsWith('_USERNAME'))
    .map(([name, value]) => ({ name, value }));
}
