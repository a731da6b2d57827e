/**
 * Issuers: what creates credentials in another service for access keys. Anyone who chooses what is created could have it
 * created for themselves, so every change requires the permission to read the secrets of the vault. An issuer with
 * leases is deleted only once they are gone, because its connection is what ends them.
 */
import type { Action } from '../../access/policy.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { Issuer, IssuerCheck, IssuerCreate, IssuerQuery, IssuerUpdate } from '../../contract/issuers.ts';
import type { ProviderName } from '../../contract/names.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { IssuerRow } from '../../store/records/leases.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { isReviewed } from '../resources/sealing.ts';
import { targetOf } from './connection-urls.ts';
import { openIssuer, sealIssuer } from './issuer-content.ts';
import { leaseRecordsWith, leaseSubject } from './lease-records.ts';
import { type Dial, providers, reasonOf, withAttached } from './providers.ts';

type Writing = Permit<'issuers:write'>;

/** Leases that are ended together. */
const mostAtOnce = 100;

export function credentialIssuersWith(parts: Parts, records: Records, dial: Dial) {
  const { store, stamps, guard, now, newId } = parts;
  const leases = leaseRecordsWith(parts);
  const { find, list, get, change, revise } = revisedRecords(parts, {
    noun: 'issuers',
    stamper: stamps.issuer,
    byId: store.issuers.byId,
    page: (permit, page, query: IssuerQuery) => {
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return null;
      const { organizationId } = permit.caller;
      return store.issuers.page({ organizationId, vaultIds, q: query.q }, page);
    },
    present: shown,
    update: store.issuers.update,
    subject: issuerChange,
    vaultOf: row => row.vault_id,
  });

  async function shown(rows: readonly IssuerRow[]): Promise<Issuer[]> {
    const failing = await store.issuers.failing(rows.map(({ id }) => id));
    return Promise.all(rows.map(row => present(row, failing.get(row.id) ?? null)));
  }

  async function present(row: IssuerRow, failingSince: number | null): Promise<Issuer> {
    const { connection, template } = await contentOf(row);
    const provider = row.provider as ProviderName;
    const { host, port, database, username } = targetOf(provider, connection);
    return {
      id: row.id,
      vault_id: row.vault_id,
      name: row.name,
      provider,
      server: { host, port, database, username },
      template,
      default_ttl: row.default_ttl,
      max_ttl: row.max_ttl,
      state: row.state as Issuer['state'],
      failing_since: isoOrNull(failingSince),
      created_by: row.created_by,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    };
  }

  async function contentOf(row: IssuerRow) {
    const { sealer } = await records.vaultById(row.organization_id, row.vault_id);
    return openIssuer(sealer, row);
  }

  /** What it issues is as good as a secret of the vault. Where changes are reviewed, nobody would review these. */
  async function mayWrite({ caller }: Writing, vaultId: string): Promise<void> {
    await guard.mayShow(caller, ['secrets:reveal'], [vaultId]);
    const { row } = await records.vaultById(caller.organizationId, vaultId);
    if (!isReviewed(row)) return;
    await guard.mayShow(caller, ['proposals:bypass'], [vaultId], {
      because: 'In a vault with review, only an owner may set up issuers',
    });
  }

  /** Ends what it issued, in steps, each stored before anything is done about it. */
  async function endLeases(permit: Writing, row: IssuerRow): Promise<void> {
    for (;;) {
      const living = await store.leases.active(row.id, null, mostAtOnce);
      if (living.length === 0) return;
      const rows = living
        .map(stamps.lease.believe)
        .map(one => leases.ending(one, one.state === 'creating' ? 'failed' : 'issuer'));
      const [first, ...others] = rows.map(one => leaseSubject(one));
      await guard.change(permit, 'lease.ended', {
        subjects: [first!, ...others],
        statements: rows.map(store.leases.update),
        touches: [row.id],
      });
    }
  }

  return {
    list,
    get,

    async create(permit: Writing, body: IssuerCreate): Promise<Issuer> {
      const { caller } = permit;
      const { connection, template, provider, default_ttl, max_ttl } = body;
      providers[provider].judge({ connection, template });
      const vault = await records.openVault(permit, body.vault_id);
      await mayWrite(permit, vault.row.id);
      const id = newId();
      const row = stamps.issuer.create(now(), {
        id,
        organization_id: caller.organizationId,
        vault_id: vault.row.id,
        ...named(body.name),
        provider,
        content: sealIssuer(vault.sealer, { id, revision: 1 }, { connection, template }),
        default_ttl,
        max_ttl,
        state: 'ready',
        created_by: caller.id,
      });
      const at = { table: 'resources', id: vault.row.id, revision: vault.row.revision } as const;
      const statements = [store.conditions.unchanged([at], 'stale'), ...store.issuers.insert(row)];
      await change(permit, 'issuer.created', row, { lasts: 'without end', statements });
      return present(row, null);
    },

    update: (permit: Writing, id: string, body: IssuerUpdate): Promise<Issuer> =>
      revise(permit, id, 'issuer.updated', async (before, next) => {
        await mayWrite(permit, before.vault_id);
        if (before.state !== 'ready') throw endingAlready();
        const { sealer } = await records.vaultById(before.organization_id, before.vault_id);
        const held = openIssuer(sealer, before);
        const content = {
          connection: body.connection ?? held.connection,
          template: body.template ?? held.template,
        };
        providers[before.provider as ProviderName].judge(content);
        const { default_ttl = before.default_ttl, max_ttl = before.max_ttl } = body;
        if (default_ttl > max_ttl) throw invalid('max_ttl', 'must be at least default_ttl');
        const revision = { id, revision: before.revision + 1 };
        const row = next({
          ...named(body.name ?? before.name),
          content: sealIssuer(sealer, revision, content),
          default_ttl,
          max_ttl,
        });
        return { row, lasts: 'without end' };
      }),

    /** With leases, only if they are to be revoked: then it is deleted once the last of them is gone. */
    remove: (permit: Writing, id: string, revoke: boolean): Promise<void> =>
      retryingStale(async () => {
        const before = await find(permit, id);
        const living = await store.leases.living('issuer_id', id, 1);
        if (living > 0 && !revoke) throw stillHeld();
        if (living === 0) {
          const removal = [
            store.leases.noneLiving('issuer_id', id),
            store.issuers.remove(id, before.revision),
          ];
          const gone = { ...before, revision: before.revision + 1 };
          return change(permit, 'issuer.deleted', gone, { statements: removal });
        }
        if (before.state === 'ready') {
          const { sealer } = await records.vaultById(before.organization_id, before.vault_id);
          const content = sealIssuer(
            sealer,
            { id, revision: before.revision + 1 },
            openIssuer(sealer, before),
          );
          const row = stamps.issuer.revise(before, { state: 'ending', content }, now());
          await change(permit, 'issuer.ended', row, { statements: [store.issuers.update(row)] });
        }
        await endLeases(permit, before);
      }),

    /** Tries the connection, and says what is missing. */
    async check(permit: Writing, id: string): Promise<IssuerCheck> {
      const row = await find(permit, id);
      const content = await contentOf(row);
      await guard.change(permit, 'issuer.tested', { subjects: [issuerChange(row)], statements: [] });
      try {
        return await withAttached(dial, row.provider, content, attached => attached.check());
      } catch (error) {
        return { ok: false, problems: [{ problem: reasonOf(error), statement: null }] };
      }
    },
  };
}

export function issuerChange<A extends Action = never>(row: MaybeAllowed<IssuerRow, A>): SubjectChange<A> {
  const { id, name, vault_id: vaultId, revision, provider } = row;
  return { type: 'issuer', id, name, vaultId, revision, details: { provider } };
}

function stillHeld(): Failure {
  return new Failure('CONFLICT', {
    message: 'Credentials of this issuer are in use: wait until they end, or revoke them with revoke=true',
  });
}

function endingAlready(): Failure {
  return new Failure('CONFLICT', { message: 'The issuer is being deleted' });
}
