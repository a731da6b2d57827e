/** From a token to its credential, over records in memory. That what is recognized is judged is tested over HTTP, in credentials and narrowing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { recognitionWith } from '../src/domain/credentials/recognition.ts';
import { credentialRecords, idOf, sender } from './credential-memory.ts';
import { restrictedFrom } from './restricted.ts';

const namesOnly = '{"names_only":true}';

function started() {
  const { parts, ...records } = credentialRecords();
  const recognition = recognitionWith(parts as unknown as Parameters<typeof recognitionWith>[0]);
  const recognise = (token: string) => recognition.recognise(token, sender);
  return { ...recognition, recognise, ...records };
}

describe('a token', () => {
  it('is recognized where it is the very one of its record, and read once', async () => {
    const { recognise, add, state, isCurrent, provenBefore } = started();
    const token = add();
    const found = (await recognise(token))!;
    assert.equal(found.row.id, idOf(1));
    assert.equal(await recognise(token), found);
    assert.deepEqual([state.reads, isCurrent(found), provenBefore(token, found.reader!)], [1, true, found]);
  });

  it('is not recognized where it is another one, names nothing, or is none', async () => {
    const { recognise, add } = started();
    add();
    for (const token of [mintToken('vault', idOf(1)), mintToken('vault', idOf(2)), '', 'sr_vault_x'])
      assert.equal(await recognise(token), undefined);
  });

  it('is looked up again after a change to its record', async () => {
    const { recognise, add, state, isCurrent, rows } = started();
    const token = add();
    const found = (await recognise(token))!;
    rows.set(idOf(1), { ...found.row, revoked_at: 5 });
    state.tell([idOf(1)]);
    assert.equal(isCurrent(found), false);
    assert.equal((await recognise(token))!.row.revoked_at, 5);
    add();
    state.tell('all');
    assert.equal(await recognise(token), undefined, 'the record has another token now');
  });

  it('is kept with 20,000 others at most', async () => {
    const { find, rows, add, state } = started();
    add();
    const row = rows.get(idOf(1))!;
    for (let at = 1; at <= 20_001; at++) rows.set(idOf(at), { ...row, id: idOf(at) });
    for (let at = 1; at <= 20_000; at++) await find(idOf(at), sender);
    await find(idOf(1), sender);
    assert.equal(state.reads, 20_000);
    await find(idOf(20_001), sender);
    await find(idOf(1), sender);
    assert.equal(state.reads, 20_002);
  });

  it('of an access key from before there was anything to restrict it with is noted once, and no other', async () => {
    const { recognise, add, state, noteRestrictionKeys } = started();
    for (const token of [
      add('vault', 1, { narrowing_key: null }),
      add('vault', 2),
      add('api', 3, { narrowing_key: null }),
    ])
      await recognise(token);
    await noteRestrictionKeys();
    assert.deepEqual(
      state.noted.map(({ id, narrowing_key }) => [id, narrowing_key?.length]),
      [[idOf(1), 32]],
    );
    await noteRestrictionKeys();
    assert.equal(state.noted.length, 1);
  });
});

describe('a restricted token', () => {
  it('is recognized with its restrictions, and opened once', async () => {
    const { recognise, add, state, isCurrent, provenBefore } = started();
    const token = add();
    const narrowed = restrictedFrom(token, [namesOnly]);
    const found = (await recognise(narrowed))!;
    assert.deepEqual([found.reader!.namesOnly, found.restrictedFrom!.row.id], [true, idOf(1)]);
    assert.equal(await recognise(narrowed), found);
    assert.equal(state.opened, 1);
    assert.ok(isCurrent(found));
    assert.equal(provenBefore(narrowed, found.reader!), found);
    assert.equal((await recognise(token))!.reader!.namesOnly, false);
    state.tell([idOf(1)]);
    assert.equal(isCurrent(found), false);
  });

  it('is not recognized where its chain is another’s, its record has none, or it says what is unknown', async () => {
    const { recognise, add } = started();
    const token = add();
    const unkeyed = add('vault', 2, { narrowing_key: null });
    for (const wrong of [
      restrictedFrom(mintToken('vault', idOf(1)), [namesOnly]),
      restrictedFrom(mintToken('vault', idOf(9)), [namesOnly]),
      restrictedFrom(unkeyed, [namesOnly]),
      restrictedFrom(token, ['{"unknown":true}']),
      `${restrictedFrom(token, [namesOnly])}x`,
      'sr_narrow_',
    ])
      assert.equal(await recognise(wrong), undefined, wrong);
  });

  it('is remembered beside 1,999 others, and what is not recognized takes no place', async () => {
    const { recognise, add, provenBefore } = started();
    const token = add();
    const narrowed = (at: number) => restrictedFrom(token, [`{"names":["N${at}"]}`]);
    const { reader } = (await recognise(narrowed(1)))!;
    for (let at = 0; at < 2_000; at++) await recognise(`sr_narrow_${at}`);
    for (let at = 2; at <= 2_000; at++) await recognise(narrowed(at));
    assert.notEqual(provenBefore(narrowed(1), reader!), undefined);
    await recognise(narrowed(2_001));
    assert.equal(provenBefore(narrowed(1), reader!), undefined);
  });
});
