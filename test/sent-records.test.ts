/** Records that are sent back as they were got, with past expiries, and many in one request. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Failure } from '../src/contract/errors.ts';
import type { BulkAnswer, Secret } from '../src/contract/resources.ts';
import type { SecretWrite } from '../src/domain/resources/bulk-writes.ts';
import { checkExpiry } from '../src/http/listener/expiry.ts';
import { changesIn, readOnlyMembers } from '../src/http/listener/read-only.ts';
import { answerOf, bulkSecrets, givenNames } from '../src/http/routes/bulk.ts';

const time = (seconds: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + seconds * 1000).toISOString();
const now = Date.parse(time(0));

describe('an expiry', () => {
  const taken: [sent: unknown, shown: object | null][] = [
    [undefined, null],
    [null, null],
    ['text', null],
    [{}, null],
    [{ name: 'x' }, { expiration_date: time(-1) }],
    [{ expiration_date: null }, null],
    [{ expiration_date: now - 1_000 }, null],
    [{ expiration_date: time(1) }, null],
    [{ expiration_date: new Date(now + 1).toISOString() }, null],
    // The one that it has, however it is written.
    [{ expiration_date: time(-1) }, { expiration_date: time(-1) }],
    [{ expiration_date: '2026-01-01T01:00:00+01:00' }, { expiration_date: time(0) }],
  ];
  for (const [sent, shown] of taken)
    it(`of ${JSON.stringify(sent)} is taken, where ${JSON.stringify(shown)} is there`, () =>
      checkExpiry(sent, now, shown && (async () => shown)));

  const refused: [sent: object, shown: object | null][] = [
    [{ expiration_date: time(0) }, null],
    [{ expiration_date: time(-1) }, null],
    [{ expiration_date: time(-1) }, { expiration_date: time(-2) }],
    [{ expiration_date: time(-1) }, { expiration_date: time(1) }],
    [{ expiration_date: time(-1) }, { expiration_date: null }],
    [{ expiration_date: time(-1) }, {}],
  ];
  for (const [sent, shown] of refused)
    it(`of ${JSON.stringify(sent)} is refused, where ${JSON.stringify(shown)} is there`, async () =>
      assert.rejects(checkExpiry(sent, now, shown && (async () => shown)), {
        code: 'INVALID_REQUEST',
        field: 'expiration_date',
        reason: 'must be in the future',
      }));

  it('looks up what is there only where it would be refused', async () => {
    const shown = () => assert.fail('looked up');
    for (const sent of [{}, { expiration_date: null }, { expiration_date: time(1) }])
      await checkExpiry(sent, now, shown);
  });
});

describe('a record that is sent back', () => {
  const members = new Set(['id', 'version']);
  const record = { id: 'a', version: 2, name: 'old', tags: {} };
  const changes = (sent: unknown, shown: object = record) => changesIn(sent, members, async () => shown);

  it('has the members that can’t be changed', () => {
    const item = z.object({ id: z.string(), name: z.string(), tags: z.string(), version: z.int() });
    assert.deepEqual(
      readOnlyMembers(item, z.object({ name: z.string() }), z.object({ tags: z.string() })),
      members,
    );
    assert.deepEqual(readOnlyMembers(item), new Set(['id', 'name', 'tags', 'version']));
  });

  const rows: [sent: unknown, changes: unknown][] = [
    [
      { ...record, name: 'new' },
      { name: 'new', tags: {} },
    ],
    [{ id: 'a' }, {}],
    [{ id: 'a', unknown: 1 }, { unknown: 1 }],
    [{ name: 'new' }, { name: 'new' }],
    [{}, {}],
    [null, null],
    [undefined, undefined],
    ['text', 'text'],
    [['a'], ['a']],
  ];
  for (const [sent, expected] of rows)
    it(`as ${JSON.stringify(sent)} changes ${JSON.stringify(expected)}`, async () =>
      assert.deepEqual(await changes(sent), expected));

  it('leaves a member that the record does not show to the check of changes', async () =>
    assert.deepEqual(await changes({ id: 'a', version: 3 }, { id: 'a' }), { version: 3 }));

  it('must have the values that are there', async () => {
    for (const sent of [
      { id: 'b' },
      { id: 'a', version: '2' },
      { version: 3, name: 'new' },
      { id: undefined },
    ])
      await assert.rejects(changes(sent), {
        code: 'INVALID_REQUEST',
        field: Object.entries(sent).find(([name, value]) => record[name as 'id'] !== value)![0],
        reason: 'can’t be changed: omit it or send its current value',
      });
  });

  it('is looked up only where such members are sent', async () => {
    let looked = 0;
    const shown = async () => {
      looked++;
      return record;
    };
    for (const sent of [{ name: 'x' }, {}, null, ['id'], 'id']) await changesIn(sent, members, shown);
    assert.equal(looked, 0);
    await changesIn({ id: 'a' }, members, shown);
    assert.equal(looked, 1);
  });
});

describe('many secrets in one request', () => {
  const vault_id = '0199a3c4-7f00-7abc-8def-000000000001';
  const id = '0199a3c4-7f00-7abc-8def-000000000002';
  const create = (more: object = {}) => ({ vault_id, name: 'NEW', value: 'x', ...more });
  const notice = () => ({ id, url: '', expires_at: '' });
  async function written(items: readonly unknown[], refusals: Readonly<Record<number, Error>> = {}) {
    const stored: SecretWrite[] = [];
    const get = async (wanted: string) => ({ id: wanted, expiration_date: time(-5) });
    const write = async (sound: readonly SecretWrite[]) => {
      stored.push(...sound);
      return sound.map((_item, at) =>
        refusals[at] === undefined
          ? { status: 'fulfilled', value: { name: `stored ${at}` } }
          : { status: 'rejected', reason: refusals[at] },
      );
    };
    const { results } = await bulkSecrets(write as never, get as never, items, now, notice);
    return { stored, results };
  }

  it('are created and changed, each with a result of its own, in their order', async () => {
    const items = [
      create(),
      'no object',
      { id, value: 'y' },
      { id: 'no id', value: 'y' },
      create({ name: 'LAST' }),
    ];
    const { stored, results } = await written(items, { 1: new Failure('NOT_FOUND') });
    assert.deepEqual(stored, [create(), { id, changes: { value: 'y' } }, create({ name: 'LAST' })]);
    assert.deepEqual(
      results.map(({ index, status, secret, error }) => [
        index,
        status,
        secret?.name,
        error?.code,
        error?.details,
      ]),
      [
        [0, 200, 'stored 0', undefined, undefined],
        [1, 400, undefined, 'INVALID_REQUEST', { field: '', reason: 'must be an object' }],
        [2, 404, undefined, 'NOT_FOUND', { field: '', reason: '' }],
        [3, 400, undefined, 'INVALID_REQUEST', { field: 'id', reason: results[3]!.error!.details.reason }],
        [4, 200, 'stored 2', undefined, undefined],
      ],
    );
  });

  const unsound: [item: unknown, field: string, reason: RegExp][] = [
    [null, '', /^must be an object$/],
    [5, '', /^must be an object$/],
    [[], '', /^must be an object$/],
    [[create()], '', /^must be an object$/],
    [{}, 'vault_id', /./],
    [create({ more: 1 }), 'more', /./],
    [{ id, vault_id }, 'vault_id', /./],
    [{ id: undefined, value: 'x' }, 'id', /./],
    [create({ expiration_date: time(-1) }), 'expiration_date', /^must be in the future$/],
    [create({ expiration_date: time(-5) }), 'expiration_date', /^must be in the future$/],
    [{ id, expiration_date: time(-1) }, 'expiration_date', /^must be in the future$/],
  ];
  for (const [item, field, reason] of unsound)
    it(`are not stored where they are ${JSON.stringify(item)}`, async () => {
      const { stored, results } = await written([item]);
      assert.deepEqual(
        [stored.length, results[0]!.status, results[0]!.error!.details.field],
        [0, 400, field],
      );
      assert.match(results[0]!.error!.details.reason, reason);
    });

  it('may be sent back with the expiry that they have', async () => {
    const { stored } = await written([{ id, expiration_date: time(-5) }]);
    assert.equal(stored.length, 1);
  });

  const fulfilled = { status: 'fulfilled', value: { name: 'a' } as Secret } as const;
  const rejected = (reason: Error) => ({ status: 'rejected', reason }) as const;
  const unauthorized = rejected(new Failure('UNAUTHORIZED'));
  it('of one whose authority was withdrawn before anything was stored are refused as a whole', () => {
    assert.throws(() => answerOf([unauthorized, unauthorized], notice), { code: 'UNAUTHORIZED' });
    assert.deepEqual(
      answerOf([unauthorized, fulfilled], notice).results.map(({ status }) => status),
      [401, 200],
    );
    assert.deepEqual(answerOf([rejected(new Failure('FORBIDDEN'))], notice).results[0]!.status, 403);
  });

  it('are refused as a whole where the service can’t serve', () => {
    for (const reason of [new Error('disk'), new Failure('INTERNAL_ERROR'), new Failure('UNAVAILABLE')])
      assert.throws(
        () => answerOf([fulfilled, rejected(reason)], notice),
        thrown => thrown === reason,
      );
  });

  it('were given a name, or were not', () => {
    const a = { name: 'a' } as Secret;
    const b = { name: 'b' } as Secret;
    const results = [
      { index: 0, status: 200, secret: a },
      { index: 1, status: 200, secret: b },
      { index: 2, status: 400 },
    ] as BulkAnswer['results'];
    assert.deepEqual(givenNames([{ name: 'a' }, { id }, { name: 'c' }], { results }), [a]);
  });
});
