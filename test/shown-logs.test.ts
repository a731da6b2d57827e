/** What a list, an entry or an export of the logs shows is what was written: whatever of it is edited, it is never shown as true. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, beside, engines, type Service, startService } from './harness.ts';
import { type Intruder, intrude, type Row } from './stored-world.ts';

const day = 86_400_000;
/** By how many rows a list looks back at most for the link before an entry's. */
const nearest = 1_000;

const logs = [
  { name: 'audit-logs', table: 'audit_logs', text: 'entry' },
  { name: 'request-logs', table: 'request_blocks', text: 'text' },
] as const;

/** The same, with one value inside of it changed; once for each value. */
function* edits(value: unknown): Iterable<unknown> {
  if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      for (const other of edits(inner)) {
        const copy = structuredClone(value) as Record<string, unknown>;
        copy[key] = other;
        yield copy;
      }
  else if (typeof value === 'string')
    yield /^[0-9a-f-]{36}$/.test(value) ? `${value.slice(0, -4)}abcd` : `${value}x`;
  else if (typeof value === 'number') yield value + 1;
  else yield typeof value === 'boolean' ? !value : 'abc';
}

for (const engine of engines)
  for (const { name, table, text } of logs)
    describe(`the ${name} as they are shown, on ${engine}`, () => {
      let service: Service;
      let intruder: Intruder;
      let token: string;
      let vault: string;
      /** Of entries that nobody touched, by their ids. */
      let genuine: Map<string, unknown>;

      const list = () => service.call('GET', `/v1/${name}?limit=100`);
      const rows = () => intruder.sql(`SELECT * FROM ${table} ORDER BY id`);
      const read = () => service.call('GET', `/api/v1/vaults/${vault}`, undefined, token);
      /** Every way to see entries. */
      const ways = async (id: string): Promise<Answer[]> => [
        await list(),
        await service.call('GET', `/v1/${name}/${id}`),
        await service.call('GET', `/v1/${name}/export`).catch(() => ({ status: 500 }) as Answer),
      ];
      const entriesIn = ({ status, body, text: all }: Answer): Record<string, unknown>[] => {
        if (status !== 200) return [];
        if (typeof body === 'object') return body.data ?? [body];
        return all.split('\n').flatMap(line => (line.startsWith('{') ? JSON.parse(line) : []));
      };

      before(async () => {
        service = await startService({ engine });
        intruder = await intrude(service);
        vault = (await service.call('POST', '/v1/vaults', { name: 'v' })).body.id;
        token = (await service.call('POST', '/v1/access-keys', { vault_id: vault, name: 'k' })).body.token;
        for (const secret of ['A', 'B', 'C'])
          await service.call('POST', '/v1/secrets', { vault_id: vault, name: secret, value: 'x' });
        for (let reads = 0; reads < 5; reads++) await read();
        genuine = new Map(entriesIn(await list()).map(entry => [entry.id as string, entry]));
      });
      after(async () => {
        await intruder.close();
        await service.stop();
      });

      /** One that stands in the middle of its chain. */
      const middle = async (): Promise<Row> => {
        const own = (await rows()).filter(row => genuine.has(row.id as string) && Number(row.seq) > 1);
        return own.at(-2)!;
      };

      it('are verified, one by one and in lists', async () => {
        assert.ok(genuine.size >= 5);
        for (const answer of await ways([...genuine.keys()][0]!)) {
          assert.equal(answer.status, 200, answer.text);
          for (const entry of entriesIn(answer)) assert.equal(entry.verified, true, String(entry.id));
        }
      });

      it('are not shown as true, whichever column or value of an entry is edited', async () => {
        const row = await middle();
        const other = (await rows()).find(({ id }) => genuine.has(id as string) && id !== row.id)!;
        const id = row.id as string;
        const columns = (await intruder.schema()).get(table)!.filter(({ generated }) => !generated);
        const cases: [what: string, edited: Row][] = columns.flatMap(({ name: column, type }) => {
          const value = /int/i.test(type) ? Number(row[column]) : row[column];
          if (column === text)
            return [...edits(JSON.parse(value as string))].map((edited): [string, Row] => [
              `text: ${JSON.stringify(edited)}`,
              { ...row, [text]: JSON.stringify(edited) },
            ]);
          const changed = column === 'position' ? -1 : [...edits(value)][0];
          const isSame = other[column] === value || column === 'id' || column === 'position';
          const swapped = isSame ? [] : [other[column]];
          return [changed, ...swapped].map((edited): [string, Row] => [
            `${column}: ${edited}`,
            { ...row, [column]: edited },
          ]);
        });
        const taken = Object.fromEntries(
          ['writer', 'seq', 'hash', 'mark', text].map(one => [one, other[one]]),
        );
        cases.push(['all of another entry', { ...row, ...taken }]);
        assert.ok(cases.length > 15);
        for (const [what, edited] of cases) {
          await intruder.replace(table, [row], [edited]);
          const shown = (await ways(id)).flatMap(entriesIn).filter(entry => entry.verified !== false);
          await intruder.replace(table, [edited], [row]);
          for (const entry of shown) assert.deepEqual(entry, genuine.get(entry.id as string), what);
          if (!what.startsWith('position'))
            assert.ok(!shown.some(entry => entry.id === id || !genuine.has(entry.id as string)), what);
        }
        assert.deepEqual(
          entriesIn(await list()).find(entry => entry.id === id),
          genuine.get(id),
        );
      });

      it('are not verified in a list, and an error alone, where the entry before is gone', async () => {
        const row = await middle();
        const [gone] = (await rows()).filter(
          ({ writer, seq }) => writer === row.writer && Number(seq) === Number(row.seq) - 1,
        );
        await intruder.replace(table, [gone!], []);
        const [listed, alone] = await ways(row.id as string);
        await intruder.replace(table, [], [gone!]);
        assert.equal(listed!.status, 200, `${listed!.text} ${service.reports.join('\n')}`);
        assert.equal(entriesIn(listed!).find(entry => entry.id === row.id)!.verified, false);
        assert.equal(alone!.status, 500);
        assert.match(service.reports.at(-1)!, /is not as it was written.* run strongroom audit verify/);
      });

      it('are verified alone, where the entry before is too far away for a list', async () => {
        if (name === 'request-logs') return; // The same; an audit log is filled more easily.
        const [sample] = await rows();
        const { id: _, created_at: __, ...entry } = JSON.parse(sample!.entry as string);
        await beside(service, ({ domain }) =>
          domain.ledger.commit(Array(nearest).fill({ ...entry, revision: null })),
        );
        const { body } = await service.call('POST', '/v1/vaults', { name: 'far away' });
        const { body: found } = await service.call('GET', `/v1/audit-logs?subject_id=${body.id}`);
        assert.equal(found.data[0].verified, false);
        assert.equal((await service.call('GET', `/v1/audit-logs/${found.data[0].id}`)).body.verified, true);
      });

      it('are verified where retention removed what was before them, after a restart too', async () => {
        if (name === 'audit-logs') return; // test/audit-archive.test.ts
        service.clock.pass(100 * day);
        for (let reads = 0; reads < 3; reads++) await read();
        await service.prune(90);
        for (const start of [async () => {}, service.restart]) {
          await start();
          const entries = entriesIn(await list());
          assert.ok(entries.length >= 3 && entries.every(entry => !genuine.has(entry.id as string)));
          assert.ok(
            entries.every(entry => entry.verified),
            JSON.stringify(entries),
          );
        }
      });
    });
