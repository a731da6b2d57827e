/**
 * Limits failed authentications per address, for all surfaces: the limit is applied where credentials are checked, so
 * no surface can bypass it. Only failures count: a valid token is served however many bad ones came from its address.
 * Failures are counted in one-minute windows, in memory of a fixed size. An IPv6 caller owns a /64, so a /64 counts
 * as one address.
 */
import { isIPv6 } from 'node:net';
import { plainAddress } from '../../access/address.ts';
import { Failure } from '../../contract/errors.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';
import { KeyedLock } from './keyed-lock.ts';

const mostFailures = 60;
const mostAddresses = 20_000;

export class FailedAttempts {
  readonly #now: () => number;
  readonly #most: number;
  readonly #failures = new Map<string, number>();
  readonly #lock = new KeyedLock();
  /** Called for every failure, so that another thread of this process counts the same addresses. */
  readonly #tell: (address: string) => void;
  #windowStart = 0;

  constructor(now: () => number, most = mostFailures, tell: (address: string) => void = () => {}) {
    this.#now = now;
    this.#most = most;
    this.#tell = tell;
  }

  /** Seconds to wait, or 0 if the address may try. */
  blockedFor(address: string): number {
    this.#turnWindow();
    if ((this.#failures.get(networkOf(address)) ?? 0) < this.#most) return 0;
    return rateWindowAt(this.#now()).secondsLeft;
  }

  /**
   * Looks up what a token names. An address over the limit gets one lookup at a time: a valid token among many bad
   * ones is still found, and the bad ones cost no more than that.
   */
  lookUp<T>(address: string, look: () => Promise<T>): Promise<T> {
    return this.blockedFor(address) === 0 ? look() : this.#lock.take(networkOf(address), look);
  }

  /** Counts an attempt whether it fails or not, and refuses attempts over the limit. */
  take(who: string): void {
    const wait = this.blockedFor(who);
    if (wait > 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    this.failed(who);
  }

  failed(address: string): void {
    this.count(address);
    this.#tell(address);
  }

  /** Counts a failure from elsewhere. */
  count(address: string): void {
    this.#turnWindow();
    const key = networkOf(address);
    const before = this.#failures.get(key) ?? 0;
    if (before === 0 && this.#failures.size >= mostAddresses) {
      this.#failures.delete(this.#failures.keys().next().value!);
    }
    this.#failures.set(key, before + 1);
  }

  #turnWindow(): void {
    const { start } = rateWindowAt(this.#now());
    if (start === this.#windowStart) return;
    this.#windowStart = start;
    this.#failures.clear();
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
