/** Records of credentials in memory, in place of the database, for what is recognized and remembered of them. */
import { restrictionKeyOf } from '../src/access/restricted-token.ts';
import { mintToken } from '../src/access/token.ts';
import { MinuteCounter } from '../src/domain/kernel/minute-counter.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { ChangeListener } from '../src/store/engine/engine.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';

export const sender = { address: '192.0.2.1', userAgent: '' };
export const idOf = (at: number) => `01890000-0000-7000-8000-${String(at).padStart(12, '0')}`;

export function credentialRecords() {
  const keyring = Keyring.create('deployment');
  const rows = new Map<string, CredentialRow>();
  const listeners: ChangeListener[] = [];
  const tell: ChangeListener = changed => {
    for (const listener of listeners) listener(changed);
  };
  const state = { reads: 0, opened: 0, noted: [] as CredentialRow[], tell };
  const same = <T>(row: T) => row;
  /** Stored with what its holder needs to restrict it, unless it is from before there was that. */
  const add = (kind: 'vault' | 'api' = 'vault', at = 1, members: object = {}) => {
    const token = mintToken(kind, idOf(at));
    rows.set(idOf(at), {
      id: idOf(at),
      kind: kind === 'vault' ? 'access-key' : 'api-key',
      name: 'key',
      vault_id: 'vault',
      identity_id: null,
      narrowing: '{}',
      revoked_at: null,
      expiration_date: null,
      max_uses: null,
      digest: keyring.tokenDigest(token),
      narrowing_key: restrictionKeyOf(token),
      ...members,
    } as unknown as CredentialRow);
    return token;
  };
  const parts = {
    store: {
      onChange: (listener: ChangeListener) => void listeners.push(listener),
      hearsChanges: () => true,
      credentials: {
        byId: async (id: string) => {
          state.reads++;
          return rows.get(id);
        },
        noteRestrictionKey: async (row: CredentialRow) => void state.noted.push(row),
      },
    },
    keyring,
    stamps: { credential: { believe: same, stamp: same } },
    attempts: new MinuteCounter(() => 0),
    restrictionKeys: {
      open: async ({ narrowing_key }: CredentialRow) => {
        state.opened++;
        return narrowing_key;
      },
      seal: async (_: CredentialRow, key: Uint8Array) => key,
    },
  };
  return { parts, add, rows, state };
}
