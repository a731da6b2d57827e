/**
 * Requests of access keys for credentials that live for a short time. An access key gets what an issuer of its vault
 * creates if it could read a secret with the issuer's name, and its credential ends with it. The lease is recorded
 * before the credential is created, and the request before it is answered; what a crash leaves behind is removed.
 */
import { type Reader, readerSeesKind, readerSeesName } from '../../access/caller.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type {
  EndedLease,
  FoundLease,
  IssuedLease,
  LeaseCall,
  LeaseRenew,
  LeaseRequest,
  RenewedLease,
} from '../../contract/issuers.ts';
import type { LeaseState, ProviderName } from '../../contract/names.ts';
import { iso } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { IssuerRow, LeaseRow } from '../../store/records/leases.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import { namesAlone } from '../reads/visibility.ts';
import type { OpenVault } from '../resources/sealing.ts';
import {
  type Deed,
  type Identified,
  recordedUsesWith,
  type UseParts,
  type UseResult,
} from '../uses/recorded-uses.ts';
import { openIssuer } from './issuer-content.ts';
import { graceAtProvider, leaseRecordsWith, leaseSubject } from './lease-records.ts';
import { type Dial, providers, withAttached } from './providers.ts';
import { over, renewalsWith, unavailable } from './renewals.ts';

export interface LeaseAsked extends RequestFacts {
  /** If it could not be parsed, the failure is thrown after the credential was checked. */
  readonly asked: LeaseCall | Failure;
}

type Answer = IssuedLease | RenewedLease | EndedLease | FoundLease;

export interface LeaseRequests {
  readonly use: (request: LeaseAsked) => Promise<UseResult<Answer>>;
}

interface Chosen {
  readonly vault: OpenVault;
  readonly issuer: IssuerRow;
}

/** That an access key may hold at a time. */
const mostHeld = 100;

export function leaseRequestsWith(parts: UseParts & { readonly dial: Dial }) {
  const { store, stamps, guard, visibility, records, dial, now, newId } = parts;
  const using = recordedUsesWith(parts);
  const changes = leaseRecordsWith(parts);
  const renewals = renewalsWith(parts, records, dial);

  function perform(deed: Deed, asked: LeaseCall): Promise<Answer> {
    switch (asked.operation) {
      case 'issue':
        return issue(deed, asked.call);
      case 'renew':
        return renew(deed, asked.id, asked.call);
      case 'revoke':
        return revoke(deed, asked.id);
      case 'find':
        return show(deed, asked.id);
    }
  }

  /** An issuer that the access key may not see is not found. */
  async function choose({ reader }: Deed, name: string): Promise<Chosen> {
    const vault = await visibility.openVault(reader);
    const found = await store.issuers.byName(reader.vaultId, name);
    if (found === undefined) throw new Failure('NOT_FOUND');
    const issuer = stamps.issuer.believe(found);
    checkSeen(reader, issuer.name);
    if (reader.namesOnly) throw namesAlone();
    if (issuer.state !== 'ready') throw new Failure('NOT_FOUND');
    return { vault, issuer };
  }

  /** What a change depends on, in the name of this access key: it could still obtain what the issuer creates. */
  async function standing({ reader, origin }: Deed, name: string): Promise<readonly Statement[]> {
    const author = { kind: 'access-key', id: reader.id, holds: name } as const;
    const found = await guard.standing(author, [], reader.vaultId, origin);
    if (found === null) throw new Failure('UNAUTHORIZED');
    return found.statements;
  }

  async function keep(deed: Deed, verb: AuditAction, row: LeaseRow, statements: readonly Statement[]) {
    const { reader, origin } = deed;
    await guard.used({ ...reader, origin }, verb, {
      subjects: [leaseSubject(row)],
      statements: [...(await standing(deed, row.issuer_name)), ...statements],
      touches: [row.id],
    });
  }

  async function draft({ reader }: Deed, { issuer }: Chosen, ttl = issuer.default_ttl): Promise<LeaseRow> {
    if ((await store.leases.living('access_key_id', reader.id, mostHeld)) >= mostHeld) throw tooMany();
    const endsAt = Math.min(
      now() + issuer.max_ttl * 1_000,
      reader.expirationDate ?? Number.POSITIVE_INFINITY,
    );
    return changes.created({
      id: newId(),
      organization_id: reader.organizationId,
      vault_id: reader.vaultId,
      issuer_id: issuer.id,
      issuer_name: issuer.name,
      access_key_id: reader.id,
      narrowing: reader.narrowing?.id ?? null,
      account: providers[issuer.provider as ProviderName].account(),
      expires_at: Math.min(now() + ttl * 1_000, endsAt),
      ends_at: endsAt,
    });
  }

  async function issue(deed: Deed, { name, ttl }: LeaseRequest): Promise<IssuedLease> {
    deed.requested = 'lease=issue';
    const chosen = await choose(deed, name);
    const { vault, issuer } = chosen;
    deed.requested = `lease=issue ${issuer.name}`;
    const row = await draft(deed, chosen, ttl);
    const unchanged = [
      { table: 'resources', id: vault.row.id, revision: vault.row.revision },
      { table: 'issuers', id: issuer.id, revision: issuer.revision },
    ] as const;
    await keep(deed, 'lease.created', row, [
      store.conditions.unchanged(unchanged, 'stale'),
      store.leases.insert(row),
    ]);
    deed.requested = `lease=issue id=${row.id} ${issuer.name}`;
    await deed.begin();
    const data = await create(row, chosen);
    const active = changes.issued(row);
    await keep(deed, 'lease.issued', active, [
      store.leases.update(active),
      changes.event('lease.created', active),
    ]);
    return { lease: given(active), data };
  }

  /** If it fails, it is unknown whether there is a credential, so it is removed. */
  async function create(row: LeaseRow, { issuer, vault }: Chosen) {
    const content = openIssuer(vault.sealer, issuer);
    try {
      return await withAttached(dial, issuer.provider, content, attached =>
        attached.issue(row.account, row.expires_at + graceAtProvider),
      );
    } catch (error) {
      return unavailable(error);
    }
  }

  /** A lease of this access key; one that was obtained with restrictions, only with the same ones or none. */
  async function find({ reader }: Deed, id: string): Promise<LeaseRow> {
    const found = isId(id) ? await store.leases.byId(reader.organizationId, id) : undefined;
    if (found === undefined || found.vault_id !== reader.vaultId) throw new Failure('NOT_FOUND');
    const row = stamps.lease.believe(found);
    const isTheirs = reader.narrowing === null || reader.narrowing.id === row.narrowing;
    if (row.access_key_id !== reader.id || !isTheirs) throw new Failure('NOT_FOUND');
    checkSeen(reader, row.issuer_name);
    return row;
  }

  async function show(deed: Deed, id: string): Promise<FoundLease> {
    deed.requested = 'lease=find';
    await visibility.openVault(deed.reader);
    const row = await find(deed, id);
    deed.requested = `lease=find id=${id} ${row.issuer_name}`;
    if (row.state !== 'active') throw over();
    return { lease: { ...given(row), created_at: iso(row.created_at) } };
  }

  async function renew(deed: Deed, id: string, { ttl }: LeaseRenew): Promise<RenewedLease> {
    deed.requested = 'lease=renew';
    await visibility.openVault(deed.reader);
    return retryingStale(async () => {
      const before = await find(deed, id);
      deed.requested = `lease=renew id=${id} ${before.issuer_name}`;
      if (deed.reader.namesOnly) throw namesAlone();
      const until = await renewals.extend(before, ttl, deed.reader.expirationDate);
      if (until === before.expires_at) return { lease: given(before) };
      const row = changes.renewed(before, until);
      await keep(deed, 'lease.renewed', row, [store.leases.update(row)]);
      return { lease: given(row) };
    });
  }

  /** It is revoked at the provider soon after. Of one that has ended, nothing changes. */
  async function revoke(deed: Deed, id: string): Promise<EndedLease> {
    deed.requested = 'lease=revoke';
    return retryingStale(async () => {
      const before = await find(deed, id);
      deed.requested = `lease=revoke id=${id} ${before.issuer_name}`;
      if (before.state !== 'active') return { lease: { id, state: before.state as LeaseState } };
      const row = changes.ending(before, 'revoked');
      await guard.used({ ...deed.reader, origin: deed.origin }, 'lease.ended', {
        subjects: [leaseSubject(row)],
        statements: [store.leases.update(row)],
        touches: [id],
      });
      return { lease: { id, state: row.state as LeaseState } };
    });
  }

  return {
    use: (request: Identified<LeaseAsked>): Promise<UseResult<Answer>> =>
      using.run(
        request,
        async deed => {
          if (request.asked instanceof Failure) throw request.asked;
          return perform(deed, request.asked);
        },
        { count: 1, may: () => {} },
      ),
  };

  function given({ id, expires_at, ends_at }: LeaseRow) {
    return { id, expires_at: iso(expires_at), renewable: expires_at < ends_at };
  }
}

/** A credential is as good as a secret that has the issuer's name. */
function checkSeen(reader: Reader, name: string): void {
  if (!readerSeesKind(reader, 'secret') || !readerSeesName(reader, name))
    throw new Failure('NOT_FOUND', { because: 'restricted' });
}

function tooMany(): Failure {
  return new Failure('CONFLICT', {
    message: `An access key can hold at most ${mostHeld} credentials at a time: revoke some, or let them expire`,
  });
}
