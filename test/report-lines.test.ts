/** How reports are printed, and how often. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { counted, folding, messageOf, reportLine } from '../src/service/settings/report.ts';

describe('reports', () => {
  it('what comes again within a minute is printed once, and then with how often it came', () => {
    let now = 1_000_000;
    const printed: string[] = [];
    const report = folding(
      line => printed.push(line),
      () => now,
    );
    for (let times = 0; times < 5_000; times++) report('the database is away', `request ${times}`);
    report('another thing');
    assert.deepEqual(printed, ['the database is away', 'another thing']);
    now += 60_000;
    report('the database is away');
    assert.equal(printed.at(-1), 'the database is away (4999 more times since)');
    now += 60_000;
    report('the database is away');
    assert.equal(printed.at(-1), 'the database is away');
  });

  it('count one thing as one, and none or several as several', () => {
    assert.equal(counted(1, 'archive'), '1 archive');
    assert.equal(counted(1, 'request entry', 'request entries'), '1 request entry');
    assert.equal(counted(0, 'request entry', 'request entries'), '0 request entries');
    assert.equal(counted(2, 'row'), '2 rows');
  });

  it('name what is not as it was written, where a start or a command ends by it', async () => {
    const cause = new Error('stored data is not as it was written: an entry; run strongroom audit verify');
    assert.equal(await messageOf(new Failure('INTERNAL_ERROR', { cause })), cause.message);
    assert.match(
      await messageOf(new Failure('INTERNAL_ERROR', { cause: new Error('other') })),
      /Something went wrong/,
    );
  });

  it('as JSON they are one object a line, and name their request', () => {
    const time = new Date('2026-01-02T03:04:05Z');
    assert.deepEqual(JSON.parse(reportLine('json', time, 'a "b"\nc', 'id')), {
      time: '2026-01-02T03:04:05.000Z',
      message: 'a "b"\nc',
      request_id: 'id',
    });
    assert.equal(reportLine('json', time, 'a\nb').split('\n').length, 2);
    assert.equal(reportLine('text', time, 'a', 'id'), '2026-01-02T03:04:05.000Z id a\n');
    assert.equal(reportLine('text', time, 'a'), '2026-01-02T03:04:05.000Z a\n');
  });
});
