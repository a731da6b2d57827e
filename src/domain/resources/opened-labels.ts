/**
 * A cache of decrypted labels. A page shows the same labels as long as its rows are the same: they are cached under
 * the digest of everything stored in the page, so nothing has to be invalidated when something changes. Only labels
 * of rows that were verified as they are stored are cached, which saves verifying and decrypting them the next time.
 * A page's labels are sealed in memory as a whole, so a page costs one decryption. The cache is bounded; the oldest
 * page is dropped first.
 */
import { hash } from 'node:crypto';
import type { Sealed } from '../../base/bytes.ts';
import { MemorySeal } from '../../keyring/sealing/memory.ts';
import type { Labels } from './sealing.ts';

const mostBytes = 8 * 1024 * 1024;
/** The cost of an entry in addition to its blob. */
const overhead = 200;

export class OpenedLabels {
  readonly #seal = new MemorySeal();
  readonly #most: number;
  /** Null if no row of the page has labels. */
  readonly #pages = new Map<string, Sealed | null>();
  #bytes = 0;

  constructor(most = mostBytes) {
    this.#most = most;
  }

  /** In the order of the rows; null if none has labels, undefined if the page wasn't verified before. */
  find(text: string): readonly Labels[] | null | undefined {
    const digest = digestOf(text);
    const sealed = this.#pages.get(digest);
    if (sealed === undefined || sealed === null) return sealed;
    return JSON.parse(this.#seal.open(Buffer.from(digest), sealed).toString('utf8')) as Labels[];
  }

  keep(text: string, labels: readonly Labels[] | null): void {
    const digest = digestOf(text);
    const plain = labels && Buffer.from(JSON.stringify(labels), 'utf8');
    this.#remove(digest);
    this.#pages.set(digest, plain && this.#seal.seal(Buffer.from(digest), plain));
    this.#bytes += this.#sizeOf(digest);
    for (const oldest of this.#pages.keys()) {
      if (this.#bytes <= this.#most) return;
      this.#remove(oldest);
    }
  }

  #remove(digest: string): void {
    if (!this.#pages.has(digest)) return;
    this.#bytes -= this.#sizeOf(digest);
    this.#pages.delete(digest);
  }

  #sizeOf(digest: string): number {
    return overhead + (this.#pages.get(digest)?.length ?? 0);
  }
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}
