/** How a process keeps its keyring as new as the stored one, over a keyring that is stored in memory. Over databases it is tested in rotation. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Sealed } from '../src/base/bytes.ts';
import { Failure } from '../src/contract/errors.ts';
import { keyringSyncWith, keyringTouch } from '../src/domain/kernel/keyring-sync.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { RootKey } from '../src/keyring/root-key/root-key.ts';
import { KeyringWrapper } from '../src/keyring/stored-keyring.ts';
import type { ChangeListener } from '../src/store/engine/engine.ts';
import type { Store } from '../src/store/store.ts';

const place = { organization: 'org', vault: 'vault' };

let unwrapped = 0;

/** A root key that hides nothing, and of which two tell each other apart by their first byte. */
function wrapperOf(mark: number) {
  const root: RootKey = {
    provider: 'test',
    wrap: async (_, plain) => Buffer.concat([Buffer.of(mark), plain]),
    unwrap: async (_, wrapped) => {
      unwrapped++;
      if (wrapped[0] !== mark) throw new Error('another root key');
      return Buffer.from(wrapped.subarray(1));
    },
  };
  return new KeyringWrapper({
    provider: 'test',
    exists: async () => true,
    open: async () => root,
    create: async () => root,
  });
}

async function started(asStored = (stored: Sealed) => stored) {
  const first = Keyring.create('deployment');
  const [wrapper, another] = [wrapperOf(1), wrapperOf(2)];
  const state: { stored: Sealed | undefined; reads: number; tell: ChangeListener } = {
    stored: asStored(await wrapper.wrap(first)),
    reads: 0,
    tell: () => {},
  };
  const store = {
    onChange: (listener: ChangeListener) => {
      state.tell = listener;
    },
    keyring: {
      read: async () => {
        state.reads++;
        await immediate();
        return state.stored;
      },
      requireCurrent: (stored: Sealed) => ({ sql: 'current', parameters: [stored] }),
    },
  } as unknown as Store;
  const keyring = await wrapper.unwrap(state.stored!);
  const sync = keyringSyncWith({ store, keyring, wrapper, stored: state.stored! });
  /** What another process seals under the term that it begins. */
  const rotated = async (by = wrapper) => {
    const newer = first.rotate(1_000);
    state.stored = await by.wrap(newer);
    return newer.createVaultKey(place);
  };
  return { first, keyring, state, sync, wrapper, another, rotated };
}

const codeOf = (code: string) => (error: unknown) => error instanceof Failure && error.code === code;

describe('a keyring beside the stored one', () => {
  it('is not looked at for what it knows, and learns the terms that it does not know', async () => {
    const { first, keyring, state, sync, rotated } = await started();
    const old = first.createVaultKey(place);
    await sync.ensureKeysFor();
    await sync.ensureKeysFor(old);
    assert.equal(state.reads, 0);
    const young = await rotated();
    await sync.ensureKeysFor(old, young);
    assert.deepEqual([state.reads, keyring.term, keyring.knows(young)], [1, 2, true]);
  });

  it('is looked at twice, and no more, for a term that is not stored', async () => {
    const { first, keyring, state, sync } = await started();
    const unknown = first.rotate(1_000).createVaultKey(place);
    await sync.ensureKeysFor(unknown);
    assert.deepEqual([state.reads, keyring.term], [2, 1]);
  });

  it('is looked at once for all who ask at one time, and anew for who asks later', async () => {
    const { state, sync } = await started();
    await Promise.all([sync.refresh(), sync.refresh(), sync.refresh()]);
    assert.equal(state.reads, 1);
    await sync.refresh();
    assert.equal(state.reads, 2);
  });

  it('is not opened again while it is the same, also where it does not say its term, as at first', async () => {
    const { sync } = await started(stored => {
      const { term, ...rest } = JSON.parse(Buffer.from(stored).toString());
      return Buffer.from(JSON.stringify(rest)) as Uint8Array as Sealed;
    });
    const before = unwrapped;
    await sync.refresh();
    assert.equal(unwrapped, before);
  });

  it('goes on as it is where another root key wraps the same term, and says what is stored now', async () => {
    const { first, state, sync, another } = await started();
    const before = state.stored;
    assert.deepEqual((await sync.requireCurrent()).parameters, [before]);
    state.stored = await another.wrap(first);
    assert.deepEqual((await sync.requireCurrent()).parameters, [state.stored]);
    assert.equal(sync.rootKeyProvider(), 'test');
  });

  it('can’t be used for a newer term that it can’t open, and is again once it can', async () => {
    const { keyring, sync, another, wrapper, rotated, state } = await started();
    await rotated(another);
    await assert.rejects(sync.refresh(), codeOf('UNAVAILABLE'));
    await assert.rejects(sync.requireCurrent(), codeOf('UNAVAILABLE'), 'it is not taken for known');
    await rotated(wrapper);
    await sync.refresh();
    assert.equal(keyring.term, 2);
    state.stored = undefined;
    await assert.rejects(sync.refresh(), codeOf('INTERNAL_ERROR'));
  });

  it('looks when it hears that the stored one changed, and at nothing else', async () => {
    const { state } = await started();
    const rows: [readonly string[] | 'all', number][] = [
      [['something'], 0],
      [['something', keyringTouch], 1],
      ['all', 1],
    ];
    for (const [touched, expected] of rows) {
      state.reads = 0;
      state.tell(touched);
      assert.equal(state.reads, expected);
      for (let turn = 0; turn < 3; turn++) await immediate();
    }
    state.stored = undefined;
    state.tell('all');
    for (let turn = 0; turn < 3; turn++) await immediate();
  });
});
