/** A keyring that is sealed for slots, and what someone could write in its place who knows all that is stored. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Keyring } from '../src/keyring/keyring.ts';
import {
  KeyringDamaged,
  NoSlotOpens,
  type RootKey,
  type RootKeySource,
} from '../src/keyring/root-key/root-key.ts';
import { newSlot, openForSlot, openSlot, sealForSlot } from '../src/keyring/slots/slot.ts';
import { parse, type SlottedForm } from '../src/keyring/slots/stored-form.ts';
import { KeyringWrapper } from '../src/keyring/stored-keyring.ts';

/** A provider that hides nothing: what a slot rests on beside its provider is tested. */
const root: RootKey = {
  provider: 'plain',
  wrap: async (context, plain) => Buffer.concat([context, plain]),
  unwrap: async (context, wrapped) => {
    if (!Buffer.from(wrapped).subarray(0, context.length).equals(context)) throw new KeyringDamaged();
    return Buffer.from(wrapped.subarray(context.length));
  },
};
const source: RootKeySource = {
  provider: 'plain',
  exists: async () => true,
  open: async () => root,
  create: async () => root,
};
const wrapper = () => new KeyringWrapper(source);
const bytesOf = (form: object) => Buffer.from(JSON.stringify(form));
const made = async () => {
  const [first, other] = [
    await newSlot('00000001', { root, settings: {} }, 1),
    await newSlot('00000002', { root, settings: {} }, 1),
  ];
  const ring = Keyring.create('deployment').withSlots([first]);
  const form = parse(await wrapper().wrap(ring)) as SlottedForm;
  return { first, other, ring, form };
};

describe('a keyring sealed for slots', () => {
  it('is the same keyring, sealed with another key each time', async () => {
    const { ring, form } = await made();
    const again = parse(await wrapper().wrap(ring)) as SlottedForm;
    assert.notEqual(again.keyring, form.keyring);
    const found = await wrapper().unwrap(bytesOf(form));
    assert.equal(found.answerTo('x'), ring.answerTo('x'));
    assert.deepEqual(found.slots, ring.slots);
    assert.equal(
      JSON.stringify(form).includes(ring.slots[0]!.secret),
      false,
      'the secret is not stored in the clear',
    );
  });

  it('is not opened by a slot that it does not name, even one that its key was sealed for', async () => {
    const { first, other, form } = await made();
    const key = openForSlot(await openSlot(root, first), form.slots[0]!.key);
    const { secret: _, ...facts } = other;
    const slots = [{ ...facts, key: sealForSlot(other, key) }];
    await assert.rejects(wrapper().unwrap(bytesOf({ ...form, slots })), NoSlotOpens);
  });

  it('can’t be sealed for a slot with its public key alone', async () => {
    const { first, form } = await made();
    const secret = Buffer.alloc(32).toString('base64url');
    const guessed = { ...first, secret };
    const forged = Keyring.create('forged').withSlots([guessed]);
    const theirs = parse(await wrapper().wrap(forged)) as SlottedForm;
    // With the slot as it is stored, and everything else their own.
    const slots = [{ ...form.slots[0]!, key: theirs.slots[0]!.key }];
    await assert.rejects(wrapper().unwrap(bytesOf({ ...theirs, slots })), NoSlotOpens);
  });

  it('is opened by what opened it before, without asking again, until its slot is gone', async () => {
    const { first, other, ring, form } = await made();
    let asked = 0;
    const asking = new KeyringWrapper({
      ...source,
      open: async () => {
        asked++;
        return root;
      },
    });
    await asking.unwrap(bytesOf(form));
    const later = await wrapper().wrap(ring.rotate(1));
    assert.equal((await asking.unwrap(later)).term, 2);
    assert.equal(asked, 1);
    const thread = new KeyringWrapper({ ...source, open: async () => assert.fail('it has what it needs') });
    assert.equal((await thread.takeOver(asking.handOver()).unwrap(later)).term, 2);
    const without = await wrapper().wrap(ring.withSlots([other]));
    await asking.unwrap(without);
    assert.deepEqual([asked, asking.openedSlot, first.id], [2, other.id, '00000001']);
  });

  it('that is damaged says so', async () => {
    const { form } = await made();
    const [slot] = form.slots;
    const damaged: object[] = [
      { ...form, keyring: undefined },
      { ...form, slots: 'none' },
      { ...form, slots: [null] },
      { ...form, slots: [{ ...slot, id: 'x' }] },
      { ...form, slots: [{ ...slot, settings: null }] },
      { ...form, slots: Array(17).fill(slot) },
    ];
    for (const one of damaged) await assert.rejects(wrapper().unwrap(bytesOf(one)), KeyringDamaged);
    for (const one of [
      { ...form, keyring: 'AAAA' },
      { ...form, slots: [{ ...slot, key: 'AAAA' }] },
    ])
      await assert.rejects(wrapper().unwrap(bytesOf(one)), NoSlotOpens);
  });
});
