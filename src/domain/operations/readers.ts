/**
 * Finds who read a version of a secret, and when last: access keys through the request log, and people and programs
 * that revealed it through the audit log. It searches only the newest entries, and reports if there are more.
 */
import { matchesPattern } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import { hasEffect } from '../../contract/audit-actions.ts';
import { invalid } from '../../contract/errors.ts';
import { firstIdAt } from '../../contract/id.ts';
import type { AuditLog, RequestLog, SecretReaders } from '../../contract/logs.ts';
import { iso } from '../../contract/text.ts';
import type { RequestFilter } from '../../store/records/request-logs.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import { type LogParts, newestRequests, presentAudit } from './logs.ts';

export type Readers = ReturnType<typeof readersWith>;

type Reader = SecretReaders['data'][number];

interface KeyReads {
  readonly reads: number;
  readonly last_at: string;
  /** The ids of the templates through which it was read. */
  readonly via: ReadonlySet<string>;
}

/** In entries. */
const mostRead = 10_000;
const mostRevealed = 500;

export function readersWith({ store, stamps, guard, ledger, shown }: Parts & LogParts, records: Records) {
  /**
   * A key that can't see the name got the other secrets. A deleted key may have seen it. Through a template, it may be a
   * key of another vault. It is named only to callers who may see access keys there.
   */
  async function keyNamed(
    { caller }: Permit,
    id: string,
    secret: string | null,
  ): Promise<{ name: string } | null> {
    const row = await store.credentials.byId(id);
    if (row === undefined) return { name: '' };
    const { name: given, narrowing, vault_id } = stamps.credential.believe(row);
    const name = allows(caller, 'access-keys:read', vault_id ?? undefined) ? given : '';
    const { names = null } = JSON.parse(narrowing) as { names?: readonly string[] | null };
    return secret === null || names === null || names.some(pattern => matchesPattern(pattern, secret))
      ? { name }
      : null;
  }

  /** Those of these templates that the caller may see. */
  async function templatesNamed({ caller }: Permit, ids: ReadonlySet<string>): Promise<Reader['via']> {
    const found: Reader['via'] = [];
    for (const id of ids) {
      const row = await store.resources.byId(caller.organizationId, id);
      if (row !== undefined && allows(caller, 'secrets:read', row.vault_id))
        found.push({ id, name: stamps.resource.believe(row).name });
    }
    return found;
  }

  async function byAccessKeys(permit: Permit, filter: RequestFilter, secret: ResourceRow) {
    const found = new Map<string, KeyReads>();
    let looked = 0;
    for await (const entry of newestRequests(store, shown, filter, mostRead)) {
      looked++;
      const through = entry.via?.find(({ secret_id }) => secret_id === secret.id)?.template_id;
      if (entry.access_key_id !== null && (through !== undefined || gives(entry, secret.name)))
        found.set(entry.access_key_id, withRead(found.get(entry.access_key_id), entry, through));
    }
    const readers: Reader[] = [];
    for (const [id, { reads, last_at, via }] of found) {
      // Through a template, the key need not see the name.
      const key = await keyNamed(permit, id, via.size === 0 ? secret.name : null);
      if (key === null) continue;
      const templates = await templatesNamed(permit, via);
      readers.push({ kind: 'access-key', id, name: key.name, reads, last_at, via: templates });
    }
    return { readers, complete: looked < mostRead };
  }

  async function byReveals(organizationId: string, id: string, fromId: string, version: number) {
    const filter = { organizationId, subjectId: id, fromId };
    const rows = await store.logs.newestAudits(filter, mostRevealed);
    const found = new Map<string, Reader>();
    const entries = (await shown.audits(rows)).map(presentAudit);
    for (const { actor, created_at } of entries.filter(entry => isReveal(entry, version))) {
      const before = found.get(actor.id);
      const { kind, name } = actor;
      found.set(actor.id, {
        kind,
        id: actor.id,
        name,
        reads: (before?.reads ?? 0) + 1,
        last_at: before?.last_at ?? created_at,
        via: before?.via ?? [],
      });
    }
    return { readers: [...found.values()], complete: rows.length < mostRevealed };
  }

  return {
    async of(
      logs: Permit<'logs:read'>,
      secrets: Permit<'secrets:read'>,
      id: string,
      wanted: number | undefined,
    ): Promise<SecretReaders> {
      const permit = await guard.within(secrets, logs);
      const { caller } = permit;
      const row = await records.find(permit, 'secret', id);
      const version = wanted ?? row.version;
      const stored = await records.version(row, version);
      if (stored === null) throw invalid('version', 'is not a version of this secret');
      const next = await records.version(row, version + 1);
      await ledger.settle().catch(() => {});
      const { organizationId } = caller;
      const fromId = firstIdAt(stored.created_at);
      const beforeId = next === null ? undefined : firstIdAt(next.created_at);
      const reads = { organizationId, vaultId: row.vault_id, status: 200, fromId, beforeId };
      const keys = await byAccessKeys(permit, reads, row);
      // The audit log belongs to the organization, so callers with access to only some vaults can't see it.
      const people =
        permit.vaults === null
          ? await byReveals(organizationId, id, fromId, version)
          : { readers: [], complete: true };
      const data = [...keys.readers, ...people.readers].sort((a, b) => (a.last_at < b.last_at ? 1 : -1));
      return { version, since: iso(stored.created_at), complete: keys.complete && people.complete, data };
    },
  };
}

function withRead(before: KeyReads | undefined, entry: RequestLog, through: string | undefined): KeyReads {
  const { reads, last_at, via } = before ?? { reads: 0, last_at: entry.created_at, via: new Set<string>() };
  return {
    reads: reads + entry.count,
    last_at,
    via: through === undefined ? via : new Set([...via, through]),
  };
}

/** Whether the response contained the value: among all secrets, or by itself. */
export function gives({ requested }: RequestLog, name: string): boolean {
  return /^(secrets(,|$)|format=)/.test(requested) || requested === `secret=value ${name}`;
}

function isReveal({ action, outcome, details }: AuditLog, version: number): boolean {
  return hasEffect(action, 'exposes') && outcome === 'allowed' && details.version === version;
}
