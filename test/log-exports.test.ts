/** Logs as files: their forms, in pieces, and harmless in a spreadsheet. */
import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { exportAuditLog, exportRequestLog } from '../src/http/routes/log-export.ts';

const request = {
  id: 'i',
  created_at: 't',
  success: true,
  narrowing: null,
  requested: '',
  user_agent: 'curl',
  status: 200,
  reason: null,
};
const entry = {
  id: 'i',
  action: 'a',
  actor: { kind: 'member', id: 'm', name: 'M' },
  subject: { type: 'secret', id: 's', name: 'S' },
  details: { a: 1 },
};

/** What is sent: the headers, and the pieces of the body. */
async function sent(
  exporting: typeof exportRequestLog | typeof exportAuditLog,
  format: 'csv' | 'jsonl',
  entries: readonly object[],
) {
  const headers: Record<string, unknown> = {};
  let body: Readable | undefined;
  const reply = {
    header: (name: string, value: unknown) => {
      headers[name] = value;
    },
    send: (stream: Readable) => {
      body = stream;
    },
  };
  async function* rows() {
    yield* entries;
  }
  exporting(reply as unknown as FastifyReply, format, rows() as never);
  const pieces: string[] = [];
  for await (const piece of body!) pieces.push(String(piece));
  return { headers, pieces, text: pieces.join('') };
}

/** The row of one entry, by its columns. */
async function rowOf(
  exporting: typeof exportRequestLog | typeof exportAuditLog,
  given: object,
): Promise<Record<string, string>> {
  const { text } = await sent(exporting, 'csv', [given]);
  const [head, row] = text.split('\n');
  const cells = [...row!.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell]) => cell!);
  return Object.fromEntries(head!.split(',').map((name, at) => [name, cells[at]!]));
}

describe('an exported log', () => {
  it('is lines of JSON, or a table', async () => {
    const json = await sent(exportRequestLog, 'jsonl', [request, { ...request, id: 'j' }]);
    assert.deepEqual(json.headers, {
      'content-type': 'application/jsonl',
      'content-disposition': 'attachment; filename="request-logs.jsonl"',
    });
    assert.deepEqual(
      json.text
        .split('\n')
        .slice(0, 2)
        .map(line => JSON.parse(line)),
      [request, { ...request, id: 'j' }],
    );
    const csv = await sent(exportAuditLog, 'csv', [entry]);
    assert.deepEqual(csv.headers, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="audit-logs.csv"',
    });
    assert.equal(csv.text.split('\n').length, 3);
    assert.match(csv.text, /^id,created_at,action,outcome,actor_kind,/);
  });

  it('of nothing is an empty file, or the names of the columns', async () => {
    assert.deepEqual((await sent(exportRequestLog, 'jsonl', [])).pieces, []);
    assert.match((await sent(exportRequestLog, 'csv', [])).text, /^id,created_at,[^\n]*,verified\n$/);
  });

  it('comes in pieces of 64 KiB', async () => {
    const line = (length: number) => ({ a: 'x'.repeat(length - 9) }); // {"a":""} and a line feed
    const lengths = async (...given: number[]) =>
      (await sent(exportRequestLog, 'jsonl', given.map(line))).pieces.map(({ length }) => length);
    assert.deepEqual(await lengths(65_536, 10), [65_536, 10]);
    assert.deepEqual(await lengths(65_535, 10, 10), [65_545, 10]);
    assert.deepEqual(await lengths(40_000, 40_000, 40_000), [80_000, 40_000]);
    assert.deepEqual(await lengths(65_536), [65_536]);
  });

  it('has members of members in columns of their own, or as JSON', async () => {
    const { actor_kind, actor_id, actor_name, subject_type, subject_id, subject_name, details } = await rowOf(
      exportAuditLog,
      entry,
    );
    assert.deepEqual(
      [actor_kind, actor_id, actor_name, subject_type, subject_id, subject_name, details],
      ['member', 'm', 'M', 'secret', 's', 'S', '{""a"":1}'],
    );
    const bare = await rowOf(exportAuditLog, { ...entry, subject: null });
    assert.deepEqual([bare.subject_type, bare.subject_id, bare.subject_name], ['', '', '']);
    assert.equal((await rowOf(exportRequestLog, request)).narrowing, '');
    assert.equal(
      (await rowOf(exportRequestLog, { ...request, narrowing: { kinds: ['key'] } })).narrowing,
      '{""kinds"":[""key""]}',
    );
  });

  const cells: [value: unknown, cell: string][] = [
    ['plain', 'plain'],
    ['', ''],
    [null, ''],
    [5, '5'],
    [false, 'false'],
    ['say "x"', 'say ""x""'],
    ...[
      '=1',
      '+1',
      '-1',
      '@a',
      '|a',
      ' =1',
      '\t=1',
      '\tx',
      '\rx',
      '\uff1d1',
      '\uff0b1',
      '\uff0d1',
      '\uff201',
      '\uff5c1',
      '\u22121',
    ].map((text): [string, string] => [text, `'${text}`]),
    ['a=1', 'a=1'],
    ['1-2', '1-2'],
  ];
  for (const [value, cell] of cells)
    it(`shows ${JSON.stringify(value)} as ${JSON.stringify(cell)}`, async () =>
      assert.equal((await rowOf(exportRequestLog, { ...request, user_agent: value })).user_agent, cell));
});
