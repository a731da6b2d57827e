/** What the operator is told of an error: that there was one, its kind and its place, and nothing that anybody sent. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { it, describe as suite } from 'node:test';
import { describe } from '../src/base/described-error.ts';
import { start, stop } from './command.ts';
import { callService, engines, makeOrganization, type Service, startService } from './harness.ts';
import { dataRoot } from './postgres.ts';
import { inDatabase } from './storage.ts';

const canary = 'CANARY-7c2e';

/** Has the database refuse a vault's row in words that quote it, as databases do. */
async function refuseQuoting(service: Service): Promise<unknown> {
  if (service.databaseUrl === null) {
    return inDatabase(
      service,
      `CREATE TRIGGER refuse BEFORE INSERT ON resources
       BEGIN SELECT RAISE(ABORT, 'invalid input: "' || NEW.name || '"'); END`,
    );
  }
  await inDatabase(
    service,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'invalid input: "%"', NEW.name; END $$`,
  );
  return inDatabase(
    service,
    'CREATE TRIGGER refuse BEFORE INSERT ON resources FOR EACH ROW EXECUTE FUNCTION refuse()',
  );
}

suite('what the operator is told', () => {
  for (const engine of engines) {
    it(`names an error of the database, and leaves out what it quotes, on ${engine}`, async () => {
      const service = await startService({ engine });
      await refuseQuoting(service);
      const answer = await service.call('POST', '/v1/vaults', { name: canary });
      assert.ok(answer.status >= 500, answer.text);
      assert.ok(!answer.text.includes(canary));
      // The embedded engine finds the trigger itself before it could speak.
      const told = engine === 'sqlite' ? /unexpected trigger refuse\b/ : /invalid input: …/;
      const [line = ''] = service.reports.filter(report => told.test(report));
      assert.match(line, told);
      assert.ok(!service.reports.join().includes(canary), line);
      await service.stop();
    });
  }

  it('is JSON on standard output where that is asked for, each line with the id of the answer that it is about', async () => {
    const service = { data: mkdtempSync(join(dataRoot(), 'strongroom-reports-')), databaseUrl: null };
    const place = ['--data', service.data];
    const { key } = await makeOrganization(place, 'Test', 'enterprise', 0);
    const started = start(['serve', ...place, '--port', '0', '--log-format', 'json']);
    const url = await started.url;
    const call = (method: string, path: string, body?: unknown, token = key) =>
      callService(url, method, path, body, token);
    const { body: vault } = await call('POST', '/v1/vaults', { name: 'v' });
    const { body: access } = await call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' });
    const refuse = (table: string) =>
      inDatabase(service, `CREATE TRIGGER refuse_${table} BEFORE INSERT ON ${table} BEGIN SELECT 1; END`);
    await refuse('resources');
    const managed = await call('POST', '/v1/vaults', { name: canary }); // On one plane,
    await inDatabase(service, 'DROP TRIGGER refuse_resources');
    await refuse('request_blocks');
    const read = await call('GET', `/api/v1/vaults/${vault.id}`, undefined, access.token); // and on the other.
    const { stdout, stderr } = await stop(started);
    assert.equal(stderr, '');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
    for (const [answer, message] of [
      [managed, /unexpected trigger refuse_resources\b/],
      [read, /unexpected trigger refuse_request_blocks\b/],
    ] as const) {
      assert.equal(answer.status, 503, answer.text);
      // The same may also be told of what is written between requests, which has no id.
      const told = lines.filter(line => message.test(line.message)).map(line => line.request_id);
      assert.match(answer.headers.get('x-request-id')!, /^[0-9a-f-]{36}$/);
      assert.ok(told.includes(answer.headers.get('x-request-id')), stdout);
    }
    assert.ok(lines.every(({ time }) => new Date(time).toISOString() === time));
    assert.ok(!stdout.includes(canary));
    await rm(service.data, { recursive: true, force: true });
  });

  it('leaves out what parsers and drivers quote, in any kind of quotation marks, and in causes', () => {
    const thrown = (work: () => unknown): Error => {
      try {
        work();
      } catch (error) {
        return error as Error;
      }
      return assert.fail('it throws');
    };
    const errors = [
      thrown(() => JSON.parse(`${canary} is no JSON`)),
      thrown(() => JSON.parse(`{"a": ${canary}}`)),
      new Error(`no such column: "${canary}"`),
      new Error(`syntax error near '${canary}'`),
      new Error(`unknown \`${canary}\``),
      new Error(`cut off in "${canary}`),
      new Error(`first line\n${canary}`),
    ];
    for (const error of errors) {
      for (const told of [describe(error), describe(new Error('outer', { cause: error }))]) {
        assert.ok(!told.includes(canary), told);
        assert.match(told, /reports\.test|JSON/, 'where it happened is told');
      }
    }
    assert.equal(describe(canary), 'unknown error');
  });
});
