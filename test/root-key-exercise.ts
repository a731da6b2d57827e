/**
 * What every provider of a root key must do, whatever it is: the same exercise for all of them. A provider that depends on
 * another service is also exercised without it, with a slow one, and with one whose own key was rotated underneath.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import {
  KeyringDamaged,
  type RootKey,
  RootKeyError,
  RootKeyUnreachable,
} from '../src/keyring/root-key/root-key.ts';

export interface Exercised {
  readonly provider: string;
  /** The root key that wraps. */
  readonly wraps: () => Promise<RootKey>;
  /** The same root key, as a later start opens it. */
  readonly opens: () => Promise<RootKey>;
  /** Another root key of the same provider. */
  readonly another: () => Promise<RootKey>;
  /** For a provider that depends on another service. */
  readonly service?: {
    readonly unreachable: () => Promise<RootKey>;
    readonly slow: () => Promise<RootKey>;
    readonly rotate: () => Promise<void>;
  };
}

const times = 20;
const context = Buffer.from('the place');
const isRefused = (error: unknown) => error instanceof RootKeyError || error instanceof KeyringDamaged;

export function exercise({ provider, wraps, opens, another, service }: Exercised): void {
  it('returns what it wrapped, however often, and never wraps it to the same bytes', async () => {
    const [wrapping, opening] = [await wraps(), await opens()];
    assert.deepEqual([wrapping.provider, opening.provider], [provider, provider]);
    const seen = new Set<string>();
    for (let time = 0; time < times; time++) {
      const plain = randomBytes(64);
      const wrapped = await wrapping.wrap(context, plain);
      assert.equal(Buffer.from(wrapped).includes(plain), false);
      seen.add(Buffer.from(wrapped).toString('hex'));
      assert.deepEqual(Buffer.from(await opening.unwrap(context, wrapped)), plain);
    }
    assert.equal(seen.size, times);
  });

  it('refuses another place, another key, and bytes that were changed or cut off', async () => {
    const opening = await opens();
    const wrapped = Buffer.from(await (await wraps()).wrap(context, randomBytes(64)));
    await assert.rejects(opening.unwrap(Buffer.from('another place'), wrapped), isRefused);
    await assert.rejects(async () => (await another()).unwrap(context, wrapped), isRefused);
    const changed = Buffer.from(wrapped);
    changed[changed.length >> 1]! ^= 1;
    await assert.rejects(opening.unwrap(context, changed), isRefused);
    await assert.rejects(opening.unwrap(context, wrapped.subarray(0, -1)), isRefused);
    await assert.rejects(opening.unwrap(context, Buffer.alloc(0)), isRefused);
  });

  if (service === undefined) return;
  const isLost = (error: unknown) => error instanceof RootKeyUnreachable;

  it('says that its service is lost, rather than that the key is wrong', async () => {
    const wrapped = await (await wraps()).wrap(context, randomBytes(64));
    await assert.rejects(async () => (await service.unreachable()).unwrap(context, wrapped), isLost);
    await assert.rejects(async () => (await service.slow()).unwrap(context, wrapped), isLost);
  });

  it('opens what it wrapped before its service rotated the key', async () => {
    const plain = randomBytes(64);
    const wrapped = await (await wraps()).wrap(context, plain);
    await service.rotate();
    assert.deepEqual(Buffer.from(await (await opens()).unwrap(context, wrapped)), plain);
  });
}
