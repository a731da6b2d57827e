/**
 * Reveals many secrets at once, or copies them to another vault. A value leaves its vault only for callers who may
 * reveal it, after the audit entries of all secrets are durable.
 */
import { Failure } from '../../contract/errors.ts';
import type { RevealedSecrets, Secret, SecretsCopy } from '../../contract/resources.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { TimedTurns } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Allowed } from '../kernel/subjects.ts';
import type { SecretWrite } from './bulk-writes.ts';
import { type OpenedValue, openedValuesWith, revealedAlong, UnresolvedSecret } from './opened-values.ts';
import type { Records } from './records.ts';
import type { Resolution } from './references.ts';
import { ProposalMade } from './review.ts';
import { presentSecret, type Secrets } from './secrets.ts';
import { type MayWrite, revealedOf } from './subject.ts';

type Revealing = Permit<'secrets:reveal'>;

/** What became of a copy, and of the removal of the original, if that waits for review. */
export type CopyOutcome = PromiseSettledResult<Secret> & { readonly removal?: ProposalMade };

interface Opened extends OpenedValue {
  readonly row: Allowed<ResourceRow, 'secrets:reveal'>;
  readonly secret: Secret;
}

export function manySecretsWith({ store, guard }: Parts, records: Records, secrets: Secrets) {
  const opening = openedValuesWith(records);
  const fairTurns = new TimedTurns();

  async function find(permit: Revealing, id: string, shared: Resolution | null): Promise<Opened> {
    const row = await records.find(permit, 'secret', id);
    const found = await records.version(row, row.version);
    if (found === null) throw new Failure('NOT_FOUND');
    const vault = await records.vaultOf(row);
    const secret = presentSecret({ row, labels: records.openLabels(row, vault.sealer) });
    const { caller } = permit;
    const opened = await opening.value(caller, row, vault, found, shared !== null, shared ?? undefined);
    return { row, secret, ...opened };
  }

  /** Templates as their text. */
  async function findAll(permit: Revealing, ids: readonly string[]): Promise<[Opened, ...Opened[]]> {
    const [first, ...others] = await Promise.all(ids.map(id => find(permit, id, null)));
    return [first!, ...others];
  }

  /** With the names of templates that can't be resolved. */
  function resolveAll(permit: Revealing, ids: readonly string[]) {
    const { id: key, organizationId: organization } = permit.caller;
    return fairTurns.do({ organization, key }, turns => {
      const shared = records.references.shared(organization, { turns });
      return Promise.all(ids.map(id => find(permit, id, shared).catch(asUnresolved)));
    });
  }

  const revealedAll = ([first, ...others]: [Opened, ...Opened[]]) =>
    [revealedOf(first.row), ...others.map(({ row }) => revealedOf(row))] as const;

  /**
   * A secret with the same name in the target gets a new version; otherwise a new secret is created there. A template
   * is copied as its text, so that its references to the same vault lead to the secrets of the other one.
   */
  async function copyOf({ secret, value }: Opened, vaultId: string): Promise<SecretWrite> {
    const { name, kind, content_type, tags, note, enabled } = secret;
    const { activation_date: from, expiration_date: to } = secret;
    const there = await store.resources.byName(vaultId, 'secret', name);
    if (there !== undefined) return { id: there.id, changes: { kind, value: value(), content_type } };
    return {
      vault_id: vaultId,
      name,
      kind,
      value: value(),
      content_type,
      tags,
      note,
      enabled,
      activation_date: from === null ? null : Date.parse(from),
      expiration_date: to === null ? null : Date.parse(to),
    };
  }

  /** In a vault with review, the original stays until its removal is confirmed. */
  async function movedOf(
    writing: MayWrite<'secret'>,
    { row }: Opened,
    copy: CopyOutcome,
  ): Promise<CopyOutcome> {
    try {
      await secrets.remove(writing, row.id, false);
      return copy;
    } catch (error) {
      if (!(error instanceof ProposalMade)) throw error;
      return { ...copy, removal: error };
    }
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
    /** Templates that can't be resolved are left out. */
    async reveal(permit: Revealing, ids: readonly string[]): Promise<RevealedSecrets> {
      const all = await resolveAll(permit, ids);
      const unresolved = all.flatMap(one => ('name' in one ? one.name : []));
      const [first, ...others] = all.flatMap(one => ('name' in one ? [] : one));
      const omitted = unresolved.length === 0 ? {} : { unresolved };
      if (first === undefined) return { data: [], ...omitted };
      const found: [Opened, ...Opened[]] = [first, ...others];
      const open = () => ({
        data: found.map(({ secret, value }) => ({ ...secret, value: value() })),
        ...omitted,
      });
      return guard.reveal(permit, 'secret.revealed', revealedAll(found), open, revealedAlong(found));
    },

    /** Each secret has its own outcome. */
    async copy(
      permit: Revealing,
      writing: MayWrite<'secret'>,
      { secret_ids, vault_id, move }: SecretsCopy,
    ): Promise<CopyOutcome[]> {
      const target = await records.openVault(writing, vault_id);
      const found = await findAll(permit, secret_ids);
      const elsewhere = found.filter(({ row }) => row.vault_id !== target.row.id);
      // A caller who may only read them there gets no copies either.
      if (move) await Promise.all(elsewhere.map(({ row }) => records.find(writing, 'secret', row.id)));
      const copied = new Map<Opened, CopyOutcome>(await copyAll(permit, writing, elsewhere, target.row.id));
      if (move) {
        for (const [one, { status }] of copied)
          if (status === 'fulfilled') copied.set(one, await movedOf(writing, one, copied.get(one)!));
      }
      return found.map(one => copied.get(one) ?? { status: 'rejected', reason: alreadyThere() });
    },
  };
}

function asUnresolved(error: unknown): { readonly name: string } {
  if (error instanceof UnresolvedSecret) return { name: error.secret };
  throw error;
}

function alreadyThere(): Failure {
  return new Failure('CONFLICT', { field: 'vault_id', reason: 'is the vault that the secret is already in' });
}
