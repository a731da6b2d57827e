/**
 * The news of the planes of a service with several readers: committed changes, failed authentications and opened tool
 * sessions, broadcast through shared memory. A plane publishes them before it answers, and every other plane takes them
 * in before it next uses anything cached or counted. So what was acknowledged by one plane holds on all of them,
 * although their messages to each other may take different ways.
 */
import type { Sibling } from '../../store/store.ts';
import { Broadcast, type BroadcastPlace, missed } from '../../threads/broadcast.ts';
import type { PlaneData } from './messages.ts';

/** Which ring belongs to which plane. Those of the readers follow. */
export const rings = { main: 0, management: 1, uses: 2, firstReader: 3 } as const;

type Kind = 'touched' | 'failed' | 'opened';
type Touched = readonly string[] | 'all';

/** Null if messages bring everything. */
export function newsIn({ news }: Pick<PlaneData, 'news'>): SharedNews | null {
  return news === null ? null : new SharedNews(news);
}

export class SharedNews {
  readonly #broadcast: Broadcast;
  readonly #listeners: ((touched: Touched) => void)[] = [];
  readonly #counted: Partial<Record<Kind, (who: string) => void>> = {};

  constructor(place: BroadcastPlace) {
    this.#broadcast = new Broadcast(place);
  }

  readonly tellFailed = (address: string): void => this.#publish('failed', [address]);

  readonly tellOpened = (who: string): void => this.#publish('opened', [who]);

  /** For a plane that may have committed changes without being able to report them. */
  tellAll(): void {
    this.#broadcast.publish(missed);
  }

  /** The listener gets each one that another plane has counted. */
  onCounted(kind: 'failed' | 'opened', listener: (who: string) => void): void {
    this.#counted[kind] = listener;
  }

  /** Takes in what was published before now. */
  readonly catchUp = (): void => {
    for (const text of this.#broadcast.receive()) {
      if (text === missed) this.#hear('all');
      else this.#take(text);
    }
  };

  /** Messages then only wake a plane that has nothing to answer. */
  beside(sibling: Sibling): Sibling {
    sibling.onTold(this.catchUp);
    return {
      tell: ids => {
        this.#publish('touched', ids);
        sibling.tell(ids);
      },
      onTold: listener => void this.#listeners.push(listener),
      catchUp: this.catchUp,
    };
  }

  #publish(kind: Kind, texts: readonly string[]): void {
    this.#broadcast.publish([kind, ...texts].join('\n'));
  }

  #take(text: string): void {
    const [kind, ...texts] = text.split('\n');
    if (kind === 'touched') this.#hear(texts);
    else this.#counted[kind as Kind]?.(texts[0]!);
  }

  #hear(touched: Touched): void {
    for (const listener of this.#listeners) listener(touched);
  }
}
