/** What an access key may be limited in beside what it sees: how often a minute, and how often at all. */
import type { Origin, Reader } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import { type AuditEntry, logText } from '../logs/entries.ts';
import { ChangeRefused, type Ledger } from '../logs/ledger.ts';
import type { CredentialRow } from '../store/credentials.ts';
import { retryingStale, StaleChange } from './guard.ts';
import type { Parts } from './parts.ts';
import { Turns } from './turns.ts';

const window = 60;

export function keyLimitsWith({ store, stamps, ledger, now }: Parts & { readonly ledger: Ledger }) {
  const turns = new Turns();

  async function take(reader: Reader, origin: Origin): Promise<void> {
    const found = await store.credentials.byId(reader.id);
    if (found === undefined) throw new Failure('UNAUTHORIZED');
    const before = stamps.credential.believe(found);
    if (before.max_uses !== null && before.uses >= before.max_uses) throw new Failure('UNAUTHORIZED');
    const row = stamps.credential.stamp({
      ...before,
      uses: before.uses + 1,
      revision: before.revision + 1,
    });
    const change = { statements: [store.credentials.update(row)], touches: [row.id] };
    await ledger.commit([entryOfUse(reader, origin, row)], change).catch(error => {
      throw error instanceof ChangeRefused ? new StaleChange() : error;
    });
  }

  return {
    async countRequest(id: string, limit: number): Promise<void> {
      const seconds = Math.floor(now() / 1000);
      const start = seconds - (seconds % window);
      const taken = await store.limits.take(id, start, 1);
      if (taken > limit) throw new Failure('RATE_LIMITED', { retryAfter: start + window - seconds });
    },

    /** A key that is used up is a bad key. A use is a revision of its record, so none can be taken back. */
    countUse: (reader: Reader, origin: Origin): Promise<void> =>
      turns.take(reader.id, () => retryingStale(() => take(reader, origin))),
  };
}

function entryOfUse(reader: Reader, origin: Origin, row: CredentialRow): AuditEntry {
  const { id, kind } = reader;
  const name = logText(reader.name);
  return {
    organization_id: reader.organizationId,
    actor: { kind, id, name },
    action: 'access-key.used',
    outcome: 'allowed',
    subject: { type: kind, id, name },
    revision: row.revision,
    vault_id: reader.vaultId,
    ip_address: origin.address,
    user_agent: logText(origin.userAgent),
    request_id: origin.requestId,
    details: { uses: row.uses },
  };
}
