/**
 * Reveals many secrets at once, or copies them to another vault. A value leaves its vault only for callers who may
 * reveal it, after the audit entries of all secrets are durable.
 */
import { Failure } from '../../contract/errors.ts';
import type { RevealedSecrets, Secret, SecretsCopy } from '../../contract/resources.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Allowed } from '../kernel/subjects.ts';
import type { Records } from './records.ts';
import { presentSecret, type Secrets, type SecretWrite } from './secrets.ts';
import { type MayWrite, revealedOf } from './subject.ts';

type Revealing = Permit<'secrets:reveal'>;

interface Opened {
  readonly row: Allowed<ResourceRow, 'secrets:reveal'>;
  readonly secret: Secret;
  readonly value: () => string;
}

export function manySecretsWith({ store, guard }: Parts, records: Records, secrets: Secrets) {
  async function find(permit: Revealing, id: string): Promise<Opened> {
    const row = await records.find(permit, 'secret', id);
    const found = await records.version(row, row.version);
    if (found === null) throw new Failure('NOT_FOUND');
    const { value: sealed } = found;
    const { sealer } = await records.vaultOf(row);
    const secret = presentSecret({ row, labels: records.openLabels(row, sealer) });
    return { row, secret, value: () => records.openValue(row, sealer, sealed) };
  }

  async function findAll(permit: Revealing, ids: readonly string[]): Promise<[Opened, ...Opened[]]> {
    const [first, ...others] = await Promise.all(ids.map(id => find(permit, id)));
    return [first!, ...others];
  }

  const revealedAll = ([first, ...others]: [Opened, ...Opened[]]) =>
    [revealedOf(first.row), ...others.map(({ row }) => revealedOf(row))] as const;

  /** A secret with the same name in the target gets a new version; otherwise a new secret is created there. */
  async function copyOf({ secret, value }: Opened, vaultId: string): Promise<SecretWrite> {
    const { name, content_type, tags, note, enabled, activation_date: from, expiration_date: to } = secret;
    const there = await store.resources.byName(vaultId, 'secret', name);
    if (there !== undefined) return { id: there.id, changes: { value: value(), content_type } };
    return {
      vault_id: vaultId,
      name,
      value: value(),
      content_type,
      tags,
      note,
      enabled,
      activation_date: from === null ? null : Date.parse(from),
      expiration_date: to === null ? null : Date.parse(to),
    };
  }

  async function copyAll(
    permit: Revealing,
    writing: MayWrite<'secret'>,
    [first, ...others]: readonly Opened[],
    vaultId: string,
  ): Promise<(readonly [Opened, PromiseSettledResult<Secret>])[]> {
    if (first === undefined) {
      await guard.confirm(permit); // Nothing is stored that would check the caller's authority.
      return [];
    }
    const found: [Opened, ...Opened[]] = [first, ...others];
    const copies = await guard.reveal(permit, 'secret.copied', revealedAll(found), () =>
      Promise.all(found.map(one => copyOf(one, vaultId))),
    );
    const outcomes = await secrets.writeAll(writing, copies);
    return found.map((one, index) => [one, outcomes[index]!] as const);
  }

  return {
    async reveal(permit: Revealing, ids: readonly string[]): Promise<RevealedSecrets> {
      const found = await findAll(permit, ids);
      return guard.reveal(permit, 'secret.revealed', revealedAll(found), () => ({
        data: found.map(({ secret, value }) => ({ ...secret, value: value() })),
      }));
    },

    /** Each secret has its own outcome. */
    async copy(
      permit: Revealing,
      writing: MayWrite<'secret'>,
      { secret_ids, vault_id, move }: SecretsCopy,
    ): Promise<PromiseSettledResult<Secret>[]> {
      const target = await records.openVault(writing, vault_id);
      const found = await findAll(permit, secret_ids);
      const elsewhere = found.filter(({ row }) => row.vault_id !== target.row.id);
      // A caller who may only read them there gets no copies either.
      if (move) await Promise.all(elsewhere.map(({ row }) => records.find(writing, 'secret', row.id)));
      const copied = new Map(await copyAll(permit, writing, elsewhere, target.row.id));
      if (move) {
        for (const [{ row }, { status }] of copied)
          if (status === 'fulfilled') await secrets.remove(writing, row.id, false);
      }
      return found.map(one => copied.get(one) ?? { status: 'rejected', reason: alreadyThere() });
    },
  };
}

function alreadyThere(): Failure {
  return new Failure('CONFLICT', { field: 'vault_id', reason: 'is the vault that the secret is already in' });
}
