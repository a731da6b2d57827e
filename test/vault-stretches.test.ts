/** How much of a vault is read at once, and whether names that were just given look like others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { looksAlikeWith, type Named } from '../src/domain/resources/look-alikes.ts';
import { stretchesWith } from '../src/domain/resources/stretches.ts';
import type { NamedCollection } from '../src/store/lists/given-names.ts';
import type { Store } from '../src/store/store.ts';

describe('a stretch of a vault', () => {
  const aimedAt = 512 * 1024;
  const texts = new Map<number, string>();
  const textOf = (length: number) => {
    if (!texts.has(length)) texts.set(length, 'x'.repeat(length));
    return texts.get(length)!;
  };

  function world(stored: { count: number; length: number }) {
    const asked: [afterId: string | undefined, most: number][] = [];
    const stretchWithValues = async (
      _vault: string,
      _kind: string,
      afterId: string | undefined,
      most: number,
    ) => {
      asked.push([afterId, most]);
      const from = afterId === undefined ? 0 : Number(afterId) + 1;
      const size = Math.max(0, Math.min(most, stored.count - from));
      const rows = Array.from({ length: size }, (_, at) => ({ id: String(from + at) }));
      return { rows, text: textOf(stored.length) };
    };
    const { read, rowsFrom } = stretchesWith({
      store: { resources: { stretchWithValues } } as unknown as Store,
    });
    return {
      asked,
      read: (vault = 'v', afterId?: string) => read(vault, 'secret', afterId),
      rowsFrom,
      /** How many rows the next one may have. */
      next: async (vault = 'v') => {
        const before = { ...stored };
        Object.assign(stored, { count: 0, length: 0 });
        await read(vault, 'secret');
        Object.assign(stored, before);
        return asked.at(-1)![1];
      },
    };
  }

  it('has at most 250 rows, and is the last where it has fewer', async () => {
    for (const [count, isLast] of [
      [249, true],
      [250, false],
      [0, true],
    ] as const) {
      const { read, asked } = world({ count, length: 0 });
      const { rows, isLast: found } = await read();
      assert.deepEqual([rows.length, found, asked], [count, isLast, [[undefined, 250]]]);
    }
  });

  for (const [count, length, next] of [
    [250, aimedAt, 250],
    [250, 2 * aimedAt, 125],
    [250, aimedAt + 1, 249],
    [3, aimedAt, 250],
    [3, aimedAt + 1, 8],
    [9, aimedAt + 1, 8],
    [10, aimedAt + 1, 9],
    [250, 100 * aimedAt, 8],
  ] as const)
    it(`is followed by one of at most ${next} rows where ${count} take ${length} characters`, async () => {
      const { read, next: most } = world({ count, length });
      await read();
      assert.equal(await most(), next);
      assert.equal(await most('another'), 250);
    });

  it('is not made longer again by one that was read at the same time', async () => {
    const stored = { count: 250, length: 2 * aimedAt };
    const { read, next } = world(stored);
    const long = read();
    stored.length = aimedAt + 1;
    await Promise.all([long, read()]);
    assert.equal(await next(), 125);
  });

  it('is known to be shorter of 1000 vaults, and the oldest is forgotten first', async () => {
    const { read, next } = world({ count: 250, length: 2 * aimedAt });
    for (let vault = 0; vault < 999; vault++) await read(String(vault));
    await Promise.all([read('999'), read('999')]);
    assert.deepEqual([await next('0'), await next('999')], [125, 125]);
    await read('1000');
    assert.deepEqual([await next('0'), await next('1'), await next('1000')], [250, 125, 125]);
  });

  it('is followed by the others, in turns', async () => {
    const { read, rowsFrom, asked } = world({ count: 501, length: 0 });
    let [pauses, resumes] = [0, 0];
    const turns = {
      pause: () => {
        pauses++;
        return undefined;
      },
      resume: async () => {
        resumes++;
      },
    };
    const ids: string[] = [];
    for await (const { id } of rowsFrom(await read(), 'v', 'secret', turns)) ids.push(id);
    assert.deepEqual(
      ids,
      Array.from({ length: 501 }, (_, at) => String(at)),
    );
    assert.deepEqual(asked, [
      [undefined, 250],
      ['249', 250],
      ['499', 250],
    ]);
    assert.deepEqual([pauses >= 501, resumes], [true, 2]);
  });
});

describe('a name that was just given', () => {
  const owner = trustedCaller('operator', 'id', 'name', 'organization', 'request');
  type Known = Readonly<Record<string, readonly { id: string; name: string }[]>>;

  function warning(
    caller: Caller,
    collection: NamedCollection,
    given: readonly Named[],
    known: Known,
    failure?: Error,
  ) {
    const find = async (_organization: string, _collection: string, space: string, most: number) => {
      assert.equal(most, 2_000);
      assert.equal(typeof space, 'string');
      if (failure !== undefined) throw failure;
      return known[space] ?? [];
    };
    return looksAlikeWith({ store: { givenNames: { in: find } } as unknown as Store, now: Date.now })(
      caller,
      collection,
      given,
    );
  }

  const alike = [{ id: 'other', name: 'P\u0430SSWORD' }];
  const mine = { id: 'mine', name: 'PASSWORD', vault_id: 'v' };
  const restricted = (scopes: readonly string[], vaultIds: readonly string[] | null = null) =>
    ({ ...owner, scopes, vaultIds }) as Caller;
  const cases: [what: string, word: string | null, Caller, NamedCollection, Named[], Known][] = [
    ['looks like another in its vault', 'vault', owner, 'secrets', [mine], { v: alike }],
    [
      'looks like one in another vault alone',
      null,
      owner,
      'secrets',
      [mine],
      { w: alike, organization: alike },
    ],
    ['looks like none', null, owner, 'secrets', [mine], { v: [{ id: 'other', name: 'TOKEN' }] }],
    ['looks like itself alone', null, owner, 'secrets', [mine], { v: [{ ...alike[0]!, id: 'mine' }] }],
    ['is the second of several', 'vault', owner, 'secrets', [{ ...mine, name: 'TOKEN' }, mine], { v: alike }],
    [
      'is in the second of several vaults',
      'vault',
      owner,
      'secrets',
      [{ ...mine, vault_id: 'w' }, mine],
      { v: alike },
    ],
    [
      'is of a vault',
      'organization',
      owner,
      'vaults',
      [{ id: 'mine', name: 'PASSWORD' }],
      { organization: alike },
    ],
    ['is of a secret id', 'identity', owner, 'secret-ids', [{ ...mine, identity_id: 'i' }], { i: alike }],
    [
      'is an address',
      'organization',
      owner,
      'members',
      [{ ...mine, name: 'x', email: 'PASSWORD' }],
      { organization: alike },
    ],
    [
      'is in no vault',
      null,
      owner,
      'secrets',
      [{ ...mine, vault_id: null }],
      { v: alike, organization: alike },
    ],
    ['is nothing', null, owner, 'members', [{ id: 'mine' }], { organization: alike }],
    ['is told by who may read them', 'vault', restricted(['secrets:read']), 'secrets', [mine], { v: alike }],
    ['is not told by who may not', null, restricted(['keys:read']), 'secrets', [mine], { v: alike }],
    [
      'is told in a vault of the caller',
      'vault',
      restricted(['secrets:read'], ['v']),
      'secrets',
      [mine],
      { v: alike },
    ],
    [
      'is not told in another vault',
      null,
      restricted(['secrets:read'], ['w']),
      'secrets',
      [mine],
      { v: alike },
    ],
    [
      'is of a group, for who reads members',
      'organization',
      restricted(['members:read']),
      'groups',
      [mine],
      { organization: alike },
    ],
    [
      'is of a secret id, for who reads identities',
      'identity',
      restricted(['identities:read']),
      'secret-ids',
      [{ ...mine, identity_id: 'i' }],
      { i: alike },
    ],
    [
      'is of a secret id, for who does not',
      null,
      restricted(['members:read']),
      'secret-ids',
      [{ ...mine, identity_id: 'i' }],
      { i: alike },
    ],
  ];
  for (const [what, word, caller, collection, given, known] of cases)
    it(`${word === null ? 'is taken without a warning' : 'is warned of'} where it ${what}`, async () => {
      const found = await warning(caller, collection, given, known);
      if (word === null) assert.equal(found, null);
      else assert.match(found!, new RegExp(`\\b${word}\\b`));
    });

  it('is taken without a warning where the names can’t be read now, and other failures stay', async () => {
    const failing = (error: Error) => warning(owner, 'secrets', [mine], { v: alike }, error);
    assert.equal(await failing(new Failure('UNAVAILABLE')), null);
    const foreign = Object.assign(new Error('not now'), { code: 'UNAVAILABLE' });
    for (const error of [new Failure('NOT_FOUND'), foreign]) await assert.rejects(failing(error), error);
  });
});
