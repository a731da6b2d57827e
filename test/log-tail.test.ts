/** Reading on in both logs: every entry once, each chain in its order. The logs are in memory. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { firstIdAt } from '../src/contract/id.ts';
import { receiptOf } from '../src/logs/chain.ts';
import { behind, logStart, type Position } from '../src/logs/tail.ts';
import type { LogHeadRow, Stream } from '../src/store/records/logs.ts';
import type { Snapshot } from '../src/store/store.ts';
import { type MemoryLink, MemoryLog, noon } from './memory-log.ts';

const day = 86_400_000;

describe('reading on in the logs', () => {
  let log: MemoryLog;
  let positions: Map<MemoryLink, number>;
  /** In place of those that the log has. */
  let heads: Pick<LogHeadRow, 'stream' | 'writer' | 'seq'>[] | null;
  beforeEach(() => {
    log = new MemoryLog();
    positions = new Map();
    heads = null;
  });

  const audit = (at: number, writer = 'one', position = positions.size + 1) => {
    const link = log.audit(at, { action: 'secret.updated', at }, writer);
    positions.set(link, position);
    return link;
  };
  const block = (at: number, writer = 'one') =>
    log.block(at, 1, { alike: [{ requested: `r${at}` }], entries: [[0, 1]] }, writer);

  const source = (): Pick<Snapshot, 'logs' | 'requestLogs'> => {
    const audits = () =>
      log.stored
        .filter(link => link.stream === 'audit')
        .map(link => ({ ...link, entry: link.text, position: positions.get(link)! }))
        .sort((one, two) => one.position - two.position);
    const blocks = () =>
      log.stored.filter(link => link.stream === 'request').sort((one, two) => (one.id < two.id ? -1 : 1));
    return {
      logs: {
        auditStretch: async (after: number, limit: number) =>
          audits()
            .filter(({ position }) => position > after)
            .slice(0, limit),
        auditsOfWriter: async (writer: string, after: number, limit: number) =>
          audits()
            .filter(row => row.writer === writer && row.position > after)
            .slice(0, limit),
        heads: async () => heads ?? log.heads(),
      },
      requestLogs: {
        stretch: async (after: string | null, limit: number) =>
          blocks()
            .filter(({ id }) => after === null || id > after)
            .slice(0, limit),
        ofWriter: async (writer: string, from: string, limit: number) =>
          blocks()
            .filter(row => row.writer === writer && row.id >= from)
            .slice(0, limit),
      },
    } as unknown as Pick<Snapshot, 'logs' | 'requestLogs'>;
  };

  /** The ids of what is behind a position, and where that led to. */
  async function read(from: Position = logStart, streams: readonly Stream[] = ['audit', 'request']) {
    const ids: string[] = [];
    let position = from;
    for await (const batch of behind(source(), from, streams)) {
      for (const line of batch.lines) ids.push(JSON.parse(line).id);
      position = JSON.parse(JSON.stringify(batch.position)) as Position; // As it is kept.
    }
    return { ids, position };
  }
  const idsOf = (...links: readonly MemoryLink[]) => links.map(({ id }) => id);

  it('has nothing where there is nothing', async () => {
    assert.deepEqual(await read(), { ids: [], position: logStart });
    heads = [{ stream: 'request', writer: 'one', seq: 2 }];
    assert.deepEqual(await read(), { ids: [], position: logStart }, 'retention was first');
    const late = audit(0, 'late', 10);
    heads.push({ stream: 'audit', writer: 'late', seq: 1 });
    const { ids, position } = await read({ ...logStart, audit: 50 });
    assert.deepEqual(ids, idsOf(late));
    assert.deepEqual(position.chains['request one'], { seq: 2, at: firstIdAt(0) });
  });

  it('has every entry of both logs once, and then what came since', async () => {
    const first = [audit(0), audit(1, 'two'), block(0), block(1, 'two')];
    const { ids, position } = await read();
    assert.deepEqual(ids, idsOf(...first));
    assert.deepEqual(position.chains, {
      'audit one': { seq: 1, at: 1 },
      'audit two': { seq: 1, at: 2 },
      'request one': { seq: 1, at: first[2]!.id },
      'request two': { seq: 1, at: first[3]!.id },
    });
    assert.deepEqual([position.audit, position.request], [2, first[3]!.id]);
    assert.deepEqual((await read(position)).ids, []);
    const later = [audit(5), block(5)];
    assert.deepEqual((await read(position)).ids, idsOf(...later));
  });

  for (const stream of ['audit', 'request'] as const)
    it(`has one log alone where that is asked for: ${stream}`, async () => {
      const links = { audit: audit(0), request: block(0) };
      const { ids, position } = await read(logStart, [stream]);
      assert.deepEqual(ids, idsOf(links[stream]));
      assert.deepEqual(Object.keys(position.chains), [`${stream} one`]);
    });

  it('shows entries as they are shown elsewhere', async () => {
    const [entry, refused] = [audit(0), block(1)];
    const lines = [];
    for await (const batch of behind(source(), logStart, ['audit', 'request'])) lines.push(...batch.lines);
    const [audited, requested] = lines.map(line => JSON.parse(line));
    assert.deepEqual(
      [audited.log, audited.count, audited.receipt],
      ['audit', 1, receiptOf(entry.id, entry.hash)],
    );
    assert.deepEqual(
      [requested.log, requested.receipt, requested.reason, requested.requested],
      ['request', receiptOf(refused.id, refused.hash), null, 'r1'],
    );
  });

  it('has a reason where one was written, and says where an entry can’t be read', async () => {
    const entry = audit(0);
    log.block(1, 1, { alike: [{ reason: 'expired' }], entries: [[0, 1]] });
    const changed = { ...entry, text: '{' };
    log.stored[0] = changed;
    positions.set(changed, 1);
    const lines = [];
    for await (const batch of behind(source(), logStart, ['audit', 'request'])) lines.push(...batch.lines);
    const [audited, requested] = lines.map(line => JSON.parse(line));
    assert.deepEqual([audited.id, audited.unreadable], [entry.id, true]);
    assert.equal(requested.reason, 'expired');
  });

  it('has long logs in the order in which they are stored, whoever wrote them', async () => {
    const audits = Array.from({ length: 700 }, (_, at) => audit(at, at % 2 === 0 ? 'one' : 'two'));
    const blocks = Array.from({ length: 120 }, (_, at) => block(at, at % 2 === 0 ? 'one' : 'two'));
    const { ids, position } = await read();
    assert.deepEqual(ids, idsOf(...audits, ...blocks));
    assert.deepEqual([position.audit, position.request], [700, blocks.at(-1)!.id]);
  });

  it('has what another replica wrote earlier and is seen later: one entry, or many', async () => {
    const [first, second] = [audit(0), block(0)];
    audit(2, 'two', 50);
    block(500, 'two');
    const { position } = await read();
    assert.deepEqual([position.audit, position.request !== second.id], [50, true]);
    const late = [audit(1, 'one', 20), block(20)];
    const { ids, position: next } = await read(position);
    assert.deepEqual(ids, idsOf(...late));
    assert.deepEqual((await read(next)).ids, []);
    const more = Array.from({ length: 60 }, (_, at) => block(21 + at));
    assert.deepEqual((await read(next)).ids, idsOf(...more));
    assert.equal(first.seq, 1);
  });

  it('has a chain that is new, as far back as another replica’s clock may be', async () => {
    audit(0, 'one', 200_000);
    block(2 * day);
    const { position } = await read();
    audit(1, 'two', 100_000); // That far, and not farther.
    const near = audit(2, 'two', 100_001);
    const tooFar = block(day - 1, 'two');
    const one = block(day, 'two');
    assert.deepEqual((await read(position)).ids, idsOf(near, one));
    assert.ok(tooFar.id < firstIdAt(noon + day));
  });

  it('goes on where retention removed what was not read yet', async () => {
    const [one, two] = [audit(0), audit(1)];
    block(0);
    const { position } = await read();
    const [three, four] = [audit(2), audit(3)];
    const [lost, other] = [block(1), block(2, 'two')];
    log.drop(three, four, lost);
    heads = [
      ...log.heads(),
      { stream: 'audit', writer: 'new', seq: 3 },
      { stream: 'request', writer: 'new', seq: 3 },
    ];
    heads.push({ stream: 'request', writer: 'late', seq: 1 });
    const late = log.block(0, 1, { alike: [{}], entries: [[0, 1]] }, 'late');
    const { ids, position: next } = await read({ ...position, request: other.id });
    assert.deepEqual(ids, idsOf(other, late));
    assert.deepEqual(next.chains['audit one'], { seq: 4, at: 2 });
    assert.deepEqual(next.chains['request one']?.seq, 2);
    assert.deepEqual(next.chains['audit new'], { seq: 3, at: 0 });
    assert.deepEqual(next.chains['request new'], { seq: 3, at: firstIdAt(noon + 2 - day) });
    assert.deepEqual((await read(next)).ids, []);
    assert.equal(two.seq - one.seq, 1);
  });
});
