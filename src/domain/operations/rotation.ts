/**
 * Rotates the key-encryption keys. A new term is started, everything sealed under an older one is moved to it row by
 * row, and then terms that are no longer needed are retired. Each step is one transaction with its audit entry, and
 * the remaining work is determined from the rows themselves: the next run finishes one that was interrupted. A row
 * looks the same to callers afterwards, but has a new revision. A row that isn't as it was written is left alone and
 * keeps its term from being retired.
 */
import { Failure } from '../../contract/errors.ts';
import type { Term } from '../../keyring/keyring.ts';
import { RootKeyError } from '../../keyring/root-key/root-key.ts';
import { parentMark, Unsealable } from '../../keyring/sealing/envelope.ts';
import { factsOf, type KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { type TermHolder, termHolders } from '../../store/records/keyring.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { keyringChangesWith, type Operator } from './keyring-changes.ts';
import { rewrappersWith } from './rewrapping.ts';

export type Counts = Readonly<Record<TermHolder, number>>;

export interface RotationState {
  /** The terms in the keyring, oldest first; the last one is current. */
  readonly terms: readonly Term[];
  /** The number of rows still sealed under older terms. */
  readonly behind: Counts;
  readonly rootKeyProvider: string;
}

interface RotationOptions {
  /** Starts another term even if an earlier rotation is not finished. */
  readonly newTerm?: boolean;
  readonly onStart?: (term: number, resumed: boolean) => void;
  /** Called after each batch. */
  readonly onMoved?: (holder: TermHolder, moved: number) => void;
}

export interface RotationReport {
  readonly term: number;
  /** Whether this run finished an earlier one. */
  readonly resumed: boolean;
  readonly moved: Counts;
  /** Rows that could not be moved, because they are not as they were written. */
  readonly damaged: readonly string[];
  readonly retired: readonly number[];
  /** Older terms that are still needed. */
  readonly needed: readonly number[];
}

export type Rotation = ReturnType<typeof rotationWith>;

const batch = 50;

export function rotationWith(parts: Parts & { readonly wrapper: KeyringWrapper }) {
  const { store, keyring, keyringSync, wrapper, now } = parts;
  const rewrappers = rewrappersWith(parts);
  const { load, tell } = keyringChangesWith(parts);

  function begin(operator: Operator, newTerm: boolean | undefined): Promise<boolean> {
    return retryingStale(async () => {
      const { stored, ring } = await load();
      const resumed = ring.terms.length > 1 && !newTerm;
      if (resumed) {
        keyring.adopt(ring);
        return true;
      }
      const next = ring.rotate(now());
      const change = [store.keyring.replace(stored, await wrapper.wrap(next))];
      await tell(operator, 'keyring.term_started', { term: next.term }, change);
      return false;
    });
  }

  /** Returns how many were moved; rows that are not as they were written are added to `damaged`. */
  async function moveAll(
    operator: Operator,
    holder: TermHolder,
    damaged: string[],
    onMoved: NonNullable<RotationOptions['onMoved']>,
  ): Promise<number> {
    let moved = 0;
    let after: string | undefined;
    for (;;) {
      const rows = await store.keyring.behind(holder, parentMark(keyring.term), after, batch);
      const moves = rows.map(({ organization_id, id }) =>
        retryingStale(() => rewrappers[holder](operator(organization_id), id)).then(() => true, asDamage),
      );
      for (const [index, done] of (await Promise.all(moves)).entries()) {
        if (done) moved++;
        else damaged.push(`${holder} ${rows[index]!.id}`);
      }
      if (rows.length > 0) onMoved(holder, moved);
      if (rows.length < batch) return moved;
      after = rows.at(-1)!.id;
    }
  }

  function retire(operator: Operator): Promise<Pick<RotationReport, 'retired' | 'needed'>> {
    return retryingStale(async () => {
      const { stored, ring } = await load();
      const older = ring.terms.slice(0, -1).map(({ id }) => id);
      const needed: number[] = [];
      for (const id of older) if (await store.keyring.isNeeded(parentMark(id))) needed.push(id);
      const retired = older.filter(id => !needed.includes(id));
      if (retired.length === 0) return { retired, needed };
      const after = await wrapper.wrap(ring.retire(retired));
      const change = store.keyring.retire(stored, after, retired.map(parentMark));
      await tell(operator, 'keyring.terms_retired', { terms: retired }, change);
      return { retired, needed };
    });
  }

  return {
    async state(): Promise<RotationState> {
      const { ring } = await load();
      const behind = { vault: 0, webhook: 0, account: 0 };
      for (const holder of termHolders)
        behind[holder] = await store.keyring.countBehind(holder, parentMark(ring.term));
      return { terms: ring.terms, behind, rootKeyProvider: keyringSync.rootKeyProvider() };
    },

    async run(operator: Operator, { newTerm, onStart = () => {}, onMoved = () => {} }: RotationOptions = {}) {
      const resumed = await begin(operator, newTerm);
      onStart(keyring.term, resumed);
      const moved = { vault: 0, webhook: 0, account: 0 };
      const damaged: string[] = [];
      for (const holder of termHolders) moved[holder] = await moveAll(operator, holder, damaged, onMoved);
      return { term: keyring.term, resumed, moved, damaged, ...(await retire(operator)) };
    },

    /**
     * Wraps the same keyring, which has no slots, with another root key: until then the old one opens it, afterwards the new one. `to`
     * returns a new wrapper each time, so that the result is proven to open before it is stored.
     */
    async changeRootKey(operator: Operator, to: () => KeyringWrapper): Promise<void> {
      await retryingStale(async () => {
        const { stored, ring } = await load();
        if (ring.slots.length > 0)
          throw new RootKeyError('the root key has slots: add one, and remove another');
        const after = await to().wrap(ring);
        if (await to().opens(stored)) throw new RootKeyError('the new root key is already in use');
        await to().unwrap(after);
        const { provider } = factsOf(after);
        const change = [store.keyring.replace(stored, after)];
        await tell(operator, 'keyring.root_key_changed', { provider }, change);
      });
    },
  };
}

/** A row that can't be verified or opened counts as damaged; any other error ends the run, which can be repeated. */
function asDamage(error: unknown): false {
  if (error instanceof Unsealable) return false;
  if (error instanceof Failure && error.code === 'INTERNAL_ERROR') return false;
  throw error;
}
