/** The lines inside a backup: what is written of some tables, what is read of it again, and what is no backup. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Counting, contentsOf, type Manifest, manifestOf, readContents } from '../src/backup/contents.ts';
import type { TableShape } from '../src/store/dump/tables.ts';
import type { Snapshot } from '../src/store/store.ts';

const facts = { created_at: '2026-11-16T12:00:00.000Z', version: '1', engine: 'sqlite' } as const;
const shapeOf = (name: string) =>
  ({ name, columns: [{ name: 'id' }, { name: 'value' }] }) as unknown as TableShape;
const one: readonly unknown[] = ['a', 1];
const bytes: readonly unknown[] = [Buffer.from([0, 255]), null];

/** Lines of text, as pieces of bytes that break anywhere. */
async function* pieces(lines: readonly string[]): AsyncIterable<Buffer> {
  const whole = Buffer.from(lines.map(line => `${line}\n`).join(''));
  for (let at = 0; at < whole.length; at += 1_000_000) yield whole.subarray(at, at + 1_000_000);
}

async function read(lines: readonly string[]) {
  const taken: unknown[] = [];
  const stretches: number[] = [];
  const contents = await readContents(pieces(lines), {
    begin: async manifest => void taken.push(manifest),
    table: async (name, columns) => void taken.push([name, ...columns]),
    rows: async rows => {
      taken.push(...rows);
      stretches.push(rows.length);
    },
  });
  return { taken, stretches, contents };
}

const manifest = (rows: Readonly<Record<string, unknown>>, more = {}) =>
  JSON.stringify({ strongroom_backup: 1, schema: [], rows, ...more });
const table = (name: unknown, columns: unknown = ['id']) => JSON.stringify({ table: name, columns });
const totalOf = (...rows: readonly string[]) => {
  const counting = new Counting();
  counting.add(rows.map(row => `${row}\n`));
  return counting.total();
};
const end = (totals: unknown) => JSON.stringify({ end: totals });

/** A backup of one table that has these rows. */
const whole = (...rows: readonly string[]) => [
  manifest({ t: rows.length }),
  table('t'),
  ...rows,
  end({ t: totalOf(...rows) }),
];

describe('what is written of a database', () => {
  const snapshot = (body: string | undefined) =>
    ({
      tables: {
        count: async ({ name }: { name: string }) => (name === 'empty' ? 0 : 3),
        schema: async () => ['001'],
        async *rows({ name }: { name: string }) {
          if (name === 'empty') return;
          yield [one, bytes];
          yield [one];
        },
      },
      logs: {
        lastCheckpoint: async () => (body === undefined ? undefined : { body }),
        heads: async () => [{ writer: 'w', stream: 'audit', seq: 1, hash: 'h', mark: 'm' }],
      },
      organizations: { all: async () => [{}, {}] },
    }) as unknown as Snapshot;
  const shapes = [shapeOf('empty'), shapeOf('full')];

  it('is told in a manifest, with the newest checkpoint if there is one', async () => {
    const checkpoint = { number: 7, created_at: 'then', deployment: 'd' };
    const expected: Manifest = {
      strongroom_backup: 1,
      ...facts,
      schema: ['001'],
      organizations: 2,
      rows: { empty: 0, full: 3 },
      checkpoint,
      heads: [{ writer: 'w', stream: 'audit', seq: 1, hash: 'h' }],
    };
    const body = JSON.stringify({ ...checkpoint, heads: [], previous: '' });
    assert.deepEqual(await manifestOf(snapshot(body), shapes, facts), expected);
    const without = await manifestOf(snapshot(undefined), shapes, facts);
    assert.deepEqual(without, { ...expected, checkpoint: null });
  });

  it('is read again as it was', async () => {
    const told = await manifestOf(snapshot(undefined), shapes, facts);
    const counts: number[] = [];
    const written: Buffer[] = [];
    for await (const piece of contentsOf(snapshot(undefined), shapes, told, count => counts.push(count)))
      written.push(piece);
    assert.deepEqual(counts, [2, 1]);
    const { taken, contents } = await read(Buffer.concat(written).toString().trimEnd().split('\n'));
    assert.deepEqual(taken, [told, ['empty', 'id', 'value'], ['full', 'id', 'value'], one, bytes, one]);
    assert.deepEqual(contents.manifest, told);
    assert.deepEqual(
      Object.values(contents.tables).map(({ rows }) => rows),
      [0, 3],
    );
  });
});

describe('rows are handed over', () => {
  it('200 at a time', async () => {
    for (const [count, stretches] of [
      [0, []],
      [1, [1]],
      [200, [200]],
      [201, [200, 1]],
    ] as const)
      assert.deepEqual((await read(whole(...Array(count).fill('["x"]')))).stretches, stretches);
  });

  it('4 MiB at a time, or what is longer by itself', async () => {
    const most = 4 * 1024 * 1024;
    const row = (length: number) => JSON.stringify(['x'.repeat(length - 4)]);
    assert.equal(row(most).length, most);
    const rows: readonly [lengths: readonly number[], stretches: readonly number[]][] = [
      [
        [most, 10],
        [1, 1],
      ],
      [[most - 1, 10], [2]],
      [
        [most - 10, 10, 10, 10],
        [2, 2],
      ],
    ];
    for (const [lengths, stretches] of rows)
      assert.deepEqual((await read(whole(...lengths.map(row)))).stretches, stretches);
  });
});

describe('what is no whole backup is refused', () => {
  const unreadable = 'the backup’s contents can’t be read';
  const foreign = 'not a Strongroom backup, or made by a newer version';
  const others = (name: string) => `the backup’s rows of ${name} don’t match its manifest`;
  const [first, head, row, last] = whole('["a"]') as [string, string, string, string];
  const total = totalOf('["a"]');
  const rows: readonly [what: string, lines: readonly string[], message: string][] = [
    ['nothing at all', [], unreadable],
    ['a manifest alone', [first], unreadable],
    ['no end', [first, head, row], unreadable],
    ['a row behind the end', [first, head, row, last, row], unreadable],
    ['a table behind the end', [first, head, row, last, table('u')], unreadable],
    ['a second end', [first, head, row, last, last], unreadable],
    ['a row before any table', [first, row, last], unreadable],
    ['a row first of all', [row, first, head, last], unreadable],
    ['no JSON', [first, head, row, 'x', last], unreadable],
    ['a row that is no JSON', [first, head, '[', last], unreadable],
    ['a row with what no row has', [first, head, '[{"a":1}]', last], unreadable],
    ['a table without a name', [first, table(7), row, last], unreadable],
    ['a table without columns', [first, table('t', 'id'), row, last], unreadable],
    ['a table twice', [first, head, row, head, row, last], unreadable],
    ['an end first of all', [last], foreign],
    ['no backup', ['{}'], foreign],
    ['a newer version', [manifest({ t: 1 }, { strongroom_backup: 2 }), head, row, last], foreign],
    ['no numbers of rows', [manifest({ t: 1 }, { rows: null }), head, row, last], foreign],
    ['no schema', [manifest({ t: 1 }, { schema: 'x' }), head, row, last], foreign],
    ['no rows', [manifest({ t: 1 }, { rows: 'x' }), head, row, last], foreign],
    ['a row less', [first, head, last], others('t')],
    ['a row more', [first, head, row, row, last], others('t')],
    ['another row', [first, head, '["b"]', last], others('t')],
    ['another number in the manifest', [manifest({ t: 2 }), head, row, last], others('t')],
    ['another number at the end', [first, head, row, end({ t: { ...total, rows: 2 } })], others('t')],
    ['another digest at the end', [first, head, row, end({ t: { ...total, sha256: 'x' } })], others('t')],
    ['a table that only the manifest has', [manifest({ t: 1, u: 0 }), head, row, last], others('u')],
    ['a table that only the end has', [first, head, row, end({ t: total, u: totalOf() })], others('u')],
    ['a table that neither has', [first, head, row, table('u'), '["b"]', last], others('u')],
  ];
  for (const [what, lines, message] of rows)
    it(what, () => assert.rejects(read(lines), { name: 'BackupError', message }));

  it('and nothing but that', async () => {
    const { contents, taken } = await read([first, head, row, last]);
    assert.deepEqual(contents, { manifest: JSON.parse(first), tables: { t: total } });
    assert.deepEqual(taken, [JSON.parse(first), ['t', 'id'], ['a']]);
  });
});
