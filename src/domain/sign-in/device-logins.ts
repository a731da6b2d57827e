/**
 * Signs in a command line (RFC 8628). It requests two codes, shows the short one to its user, and polls with the long
 * one. The person, signed in at a browser, enters the short code, sees which program is asking, and approves or
 * denies the request. Only keyed digests of both codes are stored. A code is valid for ten minutes and can be decided
 * once. The API key is created when it is fetched, once, and only if the member could still grant it. Requests need
 * no credential, so the number per address and the total number waiting are limited; so is the number of codes that a
 * member may enter.
 */
import { randomInt } from 'node:crypto';
import type { Origin } from '../../access/caller.ts';
import { type GrantedRole, mayOffer } from '../../access/policy.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import {
  type ApprovalBody,
  type DeviceLoginBody,
  type DeviceRequest,
  type DeviceToken,
  defaultLife,
} from '../../contract/device-login.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { grantedRoleNames } from '../../contract/names.ts';
import { iso } from '../../contract/text.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import type { DeviceLoginRow } from '../../store/records/device-logins.ts';
import type { Login } from '../credentials/credential.ts';
import { tooMuch } from '../credentials/credential-records.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import { accountSubject } from '../people/people.ts';
import type { SignedInAs } from '../sessions/dashboard-sessions.ts';
import type { LockOut } from '../sessions/lock-out.ts';
import type { LoginKeys } from '../sessions/login-keys.ts';
import type { Proofs } from './proofs.ts';

interface Asked {
  readonly client: string;
  readonly host: string;
  readonly ip_address: string;
}

interface Approval extends Login {
  readonly role: GrantedRole;
  readonly until: number;
}

const lifetime = 10 * 60;
const interval = 2;
const second = 1_000;
/** No vowels, so that it forms no words; none of these letters is easily mistaken for another. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const codeLength = 8;
const mostAsked = 30;
const mostEntered = 10;
const mostWaiting = 10_000;

export function deviceLoginsWith(
  { store, keyring, stamps, guard, now, newId }: Parts,
  lockOut: LockOut,
  loginKeys: LoginKeys,
  proofs: Pick<Proofs, 'require'>,
  pick: (below: number) => number = randomInt,
) {
  const asked = new MinuteCounter(now, mostAsked);
  const entered = new MinuteCounter(now, mostEntered);
  const polled = new Map<string, number>();
  const nobody = keyring.tokenDigest(mintToken('device', '00000000-0000-7000-8000-000000000000'));
  const indexOf = (userCode: string) => keyring.blindIndex('device-login', userCode);

  async function bounded(origin: Origin): Promise<void> {
    asked.take(origin.address);
    if ((await store.deviceLogins.waiting(now())) >= mostWaiting)
      throw new Failure('UNAVAILABLE', { retryAfter: lifetime / 10 });
  }

  function newRow(userCode: string, deviceCode: string, id: string, request: Asked): DeviceLoginRow {
    return stamps.deviceLogin.stamp({
      id,
      user_code: indexOf(userCode),
      digest: keyring.tokenDigest(deviceCode),
      request: JSON.stringify(request),
      state: 'pending',
      approval: null,
      created_at: now(),
      expires_at: now() + lifetime * second,
    });
  }

  /** The row whose device code was sent; a bad code is refused like any bad credential. */
  async function proven(deviceCode: string, origin: Origin): Promise<DeviceLoginRow> {
    const parsed = parseToken(deviceCode);
    const row = parsed?.kind === 'device' ? await store.deviceLogins.byId(parsed.id) : undefined;
    const isIts = equalBytes(keyring.tokenDigest(deviceCode), row?.digest ?? nobody);
    return isIts ? stamps.deviceLogin.vouched(row!) : lockOut.refuse(origin);
  }

  function isTooSoon({ id }: DeviceLoginRow): boolean {
    const last = polled.get(id) ?? 0;
    if (polled.size >= mostWaiting) polled.clear();
    polled.set(id, now());
    return now() - last < interval * second;
  }

  /** The row, if it is still waiting for a decision. Every other result looks the same to the caller. */
  async function waiting(as: SignedInAs, userCode: string): Promise<DeviceLoginRow> {
    const { caller, person } = as;
    lockOut.check(caller.origin);
    entered.take(caller.id);
    const found = await store.deviceLogins.byUserCode(indexOf(userCode));
    const row = found && stamps.deviceLogin.vouched(found);
    if (row?.state === 'pending' && now() < row.expires_at) return row;
    lockOut.failed(caller.origin);
    const subject = accountSubject(person.account, person.member.email);
    const claimed = { organizationId: person.member.organization_id, subject };
    await guard.unproven(caller.origin, 'device-login.refused', claimed, 'unknown code');
    throw invalid('user_code', 'is unknown, expired or has been used');
  }

  function decide(as: SignedInAs, userCode: string, verb: AuditAction, approval: Approval | null) {
    return retryingStale(async () => {
      const before = await waiting(as, userCode);
      const state = approval === null ? 'denied' : 'approved';
      const text = approval && JSON.stringify(approval);
      const row = stamps.deviceLogin.stamp({ ...before, state, approval: text });
      const { host, ip_address } = JSON.parse(row.request) as Asked;
      const subject = { type: 'device-login', id: row.id, name: nameFor(host), revision: 1 };
      const given = approval && { role: approval.role, expiration_date: iso(approval.until) };
      await guard.own(as.caller, verb, {
        subjects: [{ ...subject, details: { ip_address, ...given } }],
        statements: [store.deviceLogins.decide(before, row)],
      });
    });
  }

  async function handOut(row: DeviceLoginRow, origin: Origin): Promise<DeviceToken> {
    const { role, until, ...login } = JSON.parse(row.approval!) as Approval;
    const name = nameFor((JSON.parse(row.request) as Asked).host);
    const wanted = { id: row.id, name, login, role, until };
    const api_key = await loginKeys.create(wanted, origin, [store.deviceLogins.remove(row)]);
    return api_key === null ? answer('denied') : { ...answer('approved'), api_key };
  }

  return {
    /** Requires no credential. The surface adds the address at which people decide. */
    begin: async ({ client = '', host = '' }: DeviceLoginBody, origin: Origin) => {
      await bounded(origin);
      const id = newId();
      const device_code = mintToken('device', id);
      for (;;) {
        const code = Array.from({ length: codeLength }, () => letters[pick(letters.length)]).join('');
        const row = newRow(code, device_code, id, { client, host, ip_address: origin.address });
        if (await store.deviceLogins.add(row))
          return { device_code, user_code: shown(code), expires_in: lifetime, interval };
      }
    },

    poll: (deviceCode: string, origin: Origin): Promise<DeviceToken> =>
      retryingStale(async () => {
        const row = await proven(deviceCode, origin);
        if (now() >= row.expires_at) return answer('expired');
        if (isTooSoon(row)) return answer('slow_down');
        return row.state === 'approved' ? handOut(row, origin) : answer(row.state);
      }),

    find: async (as: SignedInAs, userCode: string): Promise<DeviceRequest> => {
      const { request, created_at, expires_at } = await waiting(as, userCode);
      return {
        ...(JSON.parse(request) as Asked),
        created_at: iso(created_at),
        expires_at: iso(expires_at),
        roles: grantedRoleNames.filter(role => mayOffer(as.caller, role)),
      };
    },

    approve: async (as: SignedInAs, { user_code, role, expires_in = defaultLife }: ApprovalBody) => {
      const until = now() + expires_in * second;
      if (!mayOffer(as.caller, role)) throw tooMuch();
      // A session can be stolen, and a hostile page can obtain a click, so creating an API key requires a fresh
      // proof.
      await proofs.require(as);
      const { member, account } = as.person;
      const login = { member_id: member.id, epoch: account.epoch, proven_at: as.session.proven_at! };
      await decide(as, user_code, 'device-login.approved', { ...login, role, until });
    },

    deny: (as: SignedInAs, userCode: string): Promise<void> =>
      decide(as, userCode, 'device-login.denied', null),
  };
}

function answer(status: DeviceToken['status']): DeviceToken {
  return { status, interval, api_key: null };
}

function shown(code: string): string {
  return `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`;
}

function nameFor(host: string): string {
  return host === '' ? 'Command line' : `Command line on ${host}`;
}
