/**
 * Counts by minute, for whatever is limited per minute: failed authentications of an address, logins of an identity,
 * refreshes of a grant. What is counted is named by a text; of addresses, an IPv6 /64 counts as one, because a caller owns
 * all of it. Counts are in memory of a fixed size, and end with the minute of the clock.
 *
 * Failed authentications are counted where credentials are checked, so that no surface can bypass the limit. Only failures
 * count there: a valid token is served however many bad ones came from its address.
 */
import { isIPv6 } from 'node:net';
import { plainAddress } from '../../access/address.ts';
import { Failure } from '../../contract/errors.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';
import { KeyedLock } from './keyed-lock.ts';

const mostPerMinute = 60;
const mostCounted = 20_000;

export class MinuteCounter {
  readonly #now: () => number;
  readonly #most: number;
  readonly #counts = new Map<string, number>();
  readonly #lock = new KeyedLock();
  /** Called for each that is counted here, so that another thread of this process can count it too. */
  readonly #tell: (who: string) => void;
  /** Called before a decision, so that what other threads have counted can be learned. */
  readonly #hear: () => unknown;
  #windowStart = 0;

  constructor(
    now: () => number,
    most = mostPerMinute,
    tell: (who: string) => void = () => {},
    hear: () => unknown = () => {},
  ) {
    this.#now = now;
    this.#most = most;
    this.#tell = tell;
    this.#hear = hear;
  }

  /** Seconds until the minute is over, or 0 below the limit. */
  blockedFor(who: string): number {
    this.#hear();
    this.#turnWindow();
    if ((this.#counts.get(networkOf(who)) ?? 0) < this.#most) return 0;
    return rateWindowAt(this.#now()).secondsLeft;
  }

  /**
   * Looks up what a token names. An address over the limit gets one lookup at a time: a valid token among many bad
   * ones is still found, and the bad ones cost no more than that.
   */
  lookUp<T>(address: string, look: () => Promise<T>): Promise<T> {
    return this.blockedFor(address) === 0 ? look() : this.#lock.take(networkOf(address), look);
  }

  /** Counts one, and refuses those over the limit. */
  take(who: string): void {
    const wait = this.blockedFor(who);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    this.add(who);
  }

  add(who: string): void {
    this.learn(who);
    this.#tell(who);
  }

  /** Counts one that another thread has counted. */
  learn(who: string): void {
    this.#turnWindow();
    const key = networkOf(who);
    const before = this.#counts.get(key) ?? 0;
    if (before === 0 && this.#counts.size >= mostCounted) {
      this.#counts.delete(this.#counts.keys().next().value!);
    }
    this.#counts.set(key, before + 1);
  }

  #turnWindow(): void {
    const { start } = rateWindowAt(this.#now());
    if (start === this.#windowStart) return;
    this.#windowStart = start;
    this.#counts.clear();
  }
}

/** The address, or the /64 network of an IPv6 address, that failures are counted for. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  // The last two groups can be written as an IPv4 address; the URL parser converts them to groups.
  const spelled = plain.includes('.')
    ? (URL.parse(`http://[${plain}]/`)?.hostname.slice(1, -1) ?? plain)
    : plain;
  const [head = '', tail] = spelled.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':');
    while (groups.length + rest.length < 8) groups.push('0');
    groups.push(...rest);
  }
  // Normalized, because a proxy passes on whatever spelling it received.
  return groups
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':');
}
