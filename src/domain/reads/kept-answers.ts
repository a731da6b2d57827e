/**
 * Answers that outlive the process. What it takes to make a vault's answer is mostly the opening of its secrets one by
 * one; so the finished answer is stored, sealed with the vault's key, and opened as one. It is bound to its vault, to
 * who may see it and what was asked for, and to a digest of all that was stored when it was made: every column of every
 * row, every sealed value, and the revision of each that the audit log tells of. All of that is read each time, so a
 * stored answer is used only for exactly the rows that were believed when it was made. An older one that was put back
 * opens for older rows alone, and those are not the newest that the log knows.
 *
 * It is written a moment later, when nobody waits, and not at all if something changed meanwhile.
 */
import { hash } from 'node:crypto';
import { Unsealable } from '../../keyring/sealing/envelope.ts';
import type { KeptAnswerRow } from '../../store/records/kept-answers.ts';
import type { Parts } from '../kernel/parts.ts';
import type { OpenVault } from '../resources/sealing.ts';
import type { VaultAnswer } from './answer-cache.ts';
import type { Look } from './visibility.ts';

const delay = 1_000;
const tendEvery = 600_000;
const keptFor = 24 * 60 * 60 * 1000;
const mostKept = 2_000;
/** Of an answer. A larger one is made anew: what is stored of all is bounded. */
const largest = 64 * 1024;
const mostPending = 200;
const perUnit = 20;

export class KeptAnswers {
  readonly #store: Parts['store'];
  readonly #now: () => number;
  /** Sealed, and waiting to be stored, by vault and then by answer. */
  readonly #pending = new Map<string, Map<string, KeptAnswerRow>>();
  /** Whose answers are stored as they are now. */
  readonly #vaults = new Set<string>();
  #writing: NodeJS.Timeout | undefined;
  #tending: NodeJS.Timeout | undefined;

  constructor({ store, now }: Pick<Parts, 'store' | 'now'>) {
    this.#store = store;
    this.#now = now;
    store.onChange(touched => this.#forget(touched));
  }

  /** The answer to what was asked, of what was looked at: the one that is stored for exactly that, or a new one. */
  async answer(look: Look, asked: string, make: () => Promise<VaultAnswer>): Promise<VaultAnswer> {
    const { reader, vault, digest } = look;
    // Anyone who has an access key can restrict it in as many ways as they like: those answers are not stored.
    if (digest === null || reader.narrowing !== null) return make();
    const name = hash('sha256', `${reader.view}\n${asked}`, 'base64url');
    const place = placeOf(vault, name, digest);
    const stored = await this.#store.keptAnswers.find(vault.row.id, name);
    const kept = stored === undefined ? null : opened(vault, place, stored);
    if (kept !== null && this.#now() < kept.validUntil) {
      this.#note(vault.row.id);
      return kept;
    }
    const answer = await make();
    this.#keep(vault, name, place, answer);
    return answer;
  }

  #keep({ row, sealer }: OpenVault, name: string, place: Place, answer: VaultAnswer): void {
    if (answer.body.length > largest || this.#pending.size >= mostPending) return;
    const sealed = sealer.seal(place, packed(answer));
    const ofVault = this.#pending.get(row.id) ?? new Map<string, KeptAnswerRow>();
    ofVault.set(name, { vault_id: row.id, answer: name, sealed, read_at: this.#now() });
    this.#pending.set(row.id, ofVault);
    this.#writing ??= setTimeout(() => this.#write(), delay).unref();
  }

  /** What fails is not told: an answer that isn't stored is made anew. */
  async #write(): Promise<void> {
    this.#writing = undefined;
    const rows = [...this.#pending.values()].flatMap(ofVault => [...ofVault.values()]);
    for (const vaultId of this.#pending.keys()) this.#note(vaultId);
    this.#pending.clear();
    try {
      for (let at = 0; at < rows.length; at += perUnit)
        await this.#store.keptAnswers.keep(rows.slice(at, at + perUnit));
    } catch {}
  }

  #note(vaultId: string): void {
    if (this.#vaults.size < mostKept) this.#vaults.add(vaultId);
    this.#tending ??= setInterval(() => this.#tend(), tendEvery).unref();
  }

  async #tend(): Promise<void> {
    const now = this.#now();
    try {
      await this.#store.keptAnswers.noteReads([...this.#vaults], now);
      await this.#store.keptAnswers.forget(now - keptFor, mostKept);
    } catch {
      clearInterval(this.#tending);
      this.#tending = undefined;
    }
  }

  #forget(touched: readonly string[] | 'all'): void {
    for (const vaultId of touched === 'all' ? [...this.#pending.keys(), ...this.#vaults] : touched) {
      this.#pending.delete(vaultId);
      this.#vaults.delete(vaultId);
    }
  }
}

type Place = ReturnType<typeof placeOf>;

function placeOf({ row }: OpenVault, name: string, digest: string) {
  return { type: 'vault', resource: row.id, field: `answer ${name} ${digest}`, version: 0 };
}

/** All about the answer but its body, in one line, and then its body. */
function packed({ body, format, digest, requested, validUntil }: VaultAnswer): Buffer {
  const until = Number.isFinite(validUntil) ? validUntil : null;
  return Buffer.concat([Buffer.from(`${JSON.stringify([format, digest, requested, until])}\n`), body]);
}

/** Null where it is an answer of other rows, or none at all. */
function opened({ sealer }: OpenVault, place: Place, { sealed }: KeptAnswerRow): VaultAnswer | null {
  try {
    const plain = sealer.open(place, sealed);
    const end = plain.indexOf('\n');
    const [format, digest, requested, until] = JSON.parse(plain.toString('utf8', 0, end));
    return {
      format,
      digest,
      requested,
      validUntil: until ?? Number.POSITIVE_INFINITY,
      body: plain.subarray(end + 1),
    };
  } catch (error) {
    if (error instanceof Unsealable) return null;
    throw error;
  }
}
