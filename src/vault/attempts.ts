/**
 * Bounds failed authentications by address, on every surface alike: the limiter is asked where credentials
 * are checked, so no surface can forget it. Counted in windows of a minute, in memory of a fixed size. An
 * IPv6 caller owns a /64, so that is what counts as one address.
 */
import { isIPv6 } from 'node:net';
import { plainAddress } from '../access/address.ts';

const window = 60_000;
const mostFailures = 60;
const mostAddresses = 20_000;

export class Attempts {
  readonly #now: () => number;
  readonly #most: number;
  readonly #failures = new Map<string, number>();
  #windowStart = 0;

  constructor(now: () => number, most = mostFailures) {
    this.#now = now;
    this.#most = most;
  }

  /** Seconds to wait, or 0 where the address may try. */
  blockedFor(address: string): number {
    this.#turnWindow();
    if ((this.#failures.get(network(address)) ?? 0) < this.#most) return 0;
    return Math.ceil((this.#windowStart + window - this.#now()) / 1000);
  }

  failed(address: string): void {
    this.#turnWindow();
    const key = network(address);
    const before = this.#failures.get(key) ?? 0;
    if (before === 0 && this.#failures.size >= mostAddresses) {
      this.#failures.delete(this.#failures.keys().next().value!);
    }
    this.#failures.set(key, before + 1);
  }

  #turnWindow(): void {
    const start = Math.floor(this.#now() / window) * window;
    if (start === this.#windowStart) return;
    this.#windowStart = start;
    this.#failures.clear();
  }
}

function network(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':');
    while (groups.length + rest.length < 8) groups.push('0');
    groups.push(...rest);
  }
  return groups.slice(0, 4).join(':');
}
