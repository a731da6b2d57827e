/**
 * Labels that were opened before. What a page shows is the same as long as its rows are: the labels of a page are kept
 * by the digest of all that was stored in it, so there is nothing to drop when something changes. They are kept only
 * of rows that were believed as they stand, which spares both their stamps and their decryption the next time. Sealed
 * in memory as a whole, so that a page costs one decryption; bounded, and the oldest goes first.
 */
import { hash } from 'node:crypto';
import type { Sealed } from '../../base/bytes.ts';
import { MemorySeal } from '../../keyring/sealing/memory.ts';
import type { Labels } from './sealing.ts';

const mostBytes = 8 * 1024 * 1024;
/** What an entry costs beside its blob. */
const overhead = 200;

export class OpenedLabels {
  readonly #seal = new MemorySeal();
  readonly #most: number;
  /** Null where no row of the page has any. */
  readonly #pages = new Map<string, Sealed | null>();
  #bytes = 0;

  constructor(most = mostBytes) {
    this.#most = most;
  }

  /** In the order of the rows; `null` where none of them has any. Undefined where the page was not believed before. */
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
