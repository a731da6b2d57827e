/** What the operator is told of an error: that there was one, its kind and its place, and nothing that anybody sent. */
import assert from 'node:assert/strict';
import { it, describe as suite } from 'node:test';
import { describe } from '../src/report.ts';
import { engines, type Service, startService } from './harness.ts';
import { write } from './storage.ts';

const canary = 'CANARY-7c2e';

/** Has the database refuse a vault's row in words that quote it, as databases do. */
async function refuseQuoting(service: Service): Promise<void> {
  if (service.databaseUrl === null) {
    return write(
      service,
      `CREATE TRIGGER refuse BEFORE INSERT ON resources
       BEGIN SELECT RAISE(ABORT, 'invalid input: "' || NEW.name || '"'); END`,
    );
  }
  await write(
    service,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'invalid input: "%"', NEW.name; END $$`,
  );
  await write(
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
      const [line = ''] = service.reports.filter(report => report.includes('invalid input'));
      assert.match(line, /invalid input: …/);
      assert.ok(!service.reports.join().includes(canary), line);
      await service.stop();
    });
  }

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
