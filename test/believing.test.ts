/** Which rows of an answer are trusted: those at the newest revision that the audit log knows of. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { believing, type Revisions } from '../src/store/integrity/believing.ts';

interface Row {
  readonly id: string;
  readonly revision: number;
  readonly audited_revision: number | null;
}

/** A log that knows revision 1 of one row, and learns revision 2 when it is read on. */
class Log implements Revisions {
  isCurrent = true;
  learned = 0;
  reads = 0;

  newest(): number {
    return this.learned + 1;
  }

  newestAt(_id: string, learned: number): number {
    return learned + 1;
  }

  async follow(): Promise<void> {
    this.reads++;
    this.learned = 1;
    this.isCurrent = true;
  }
}

/** Answers with these revisions, one after another. */
function asked(log: Log, ...revisions: readonly number[]): Promise<Row> {
  let next = 0;
  const row = async (): Promise<Row> => ({
    id: 'one',
    revision: revisions[next++]!,
    audited_revision: null,
  });
  return believing({ rows: { row } }, () => log).rows.row();
}

const seen = ({ revision, audited_revision }: Row) => [revision, audited_revision];

describe('a row of the store', () => {
  it('is trusted at the newest revision, without a look at the log', async () => {
    const log = new Log();
    assert.deepEqual(seen(await asked(log, 1)), [1, 1]);
    assert.equal(log.reads, 0);
  });

  it('that is newer than the log was known to be is trusted once the log says so', async () => {
    assert.deepEqual(seen(await asked(new Log(), 2)), [2, 2]);
    assert.deepEqual(seen(await asked(new Log(), 3, 3)), [3, 2], 'and not without an entry');
  });

  it('that was read before a change, of which the log then tells, is looked up again', async () => {
    const log = new Log();
    log.isCurrent = false;
    assert.deepEqual(seen(await asked(log, 1, 2)), [2, 2]);
  });

  it('that is older than the change is not trusted, however often it is looked up', async () => {
    const log = new Log();
    log.isCurrent = false;
    assert.deepEqual(seen(await asked(log, 1, 1)), [1, 2]);
  });
});
