/**
 * Stored answers that survive a restart. Most of the work for a vault's answer is decrypting its secrets one by one,
 * so the finished answer is stored, sealed with the vault's key, and decrypted as one. It is bound to its vault, to
 * the restrictions and the selection, and to a digest of everything stored when it was created: every column of every
 * row, every sealed value, and the revision of each in the audit log. All of that is read each time, so a stored
 * answer is used only for exactly the rows that were verified when it was created. An older answer that was put back
 * opens only for older rows, and those are not the newest in the log.
 *
 * It is written a moment later, when no request is waiting, and not at all if something changed in the meantime.
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
/** In bytes of an answer. Larger ones are not stored, which bounds the total size. */
const largest = 64 * 1024;
const mostPending = 200;
const perUnit = 20;

export class KeptAnswers {
  readonly #store: Parts['store'];
  readonly #now: () => number;
  /** Sealed answers waiting to be stored, by vault and then by answer. */
  readonly #pending = new Map<string, Map<string, KeptAnswerRow>>();
  /** Vaults whose stored answers are current. */
  readonly #vaults = new Set<string>();
  #writing: NodeJS.Timeout | undefined;
  #tending: NodeJS.Timeout | undefined;

  constructor({ store, now }: Pick<Parts, 'store' | 'now'>) {
    this.#store = store;
    this.#now = now;
    store.onChange(touched => this.#forget(touched));
  }

  /** The answer to a request for what was read: the one stored for exactly that, or a new one. */
  async answer(look: Look, asked: string, make: () => Promise<VaultAnswer>): Promise<VaultAnswer> {
    const { reader, vault, digest } = look;
    // The holder of an access key can restrict it in any number of ways, so the answers to restricted keys are not
    // stored.
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
    // What it depends on in other vaults is not part of the digest.
    if (answer.templates === undefined) this.#keep(vault, name, place, answer);
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

  /** Errors are ignored: an answer that isn't stored is created again. */
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

/** Everything about the answer except its body in one line, followed by the body. */
function packed({ body, format, digest, requested, validUntil }: VaultAnswer): Buffer {
  const until = Number.isFinite(validUntil) ? validUntil : null;
  return Buffer.concat([Buffer.from(`${JSON.stringify([format, digest, requested, until])}\n`), body]);
}

/** Null if it is an answer for other rows, or not an answer at all. */
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
