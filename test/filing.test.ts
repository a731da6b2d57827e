/** Which blocks of the request log are filed when, and what is filed after a crash. The store is a stand-in that keeps statements. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import type { BlockPart } from '../src/logs/blocks.ts';
import { headDigest } from '../src/logs/chain.ts';
import { Filing, type FilingParts, type FilingStep, fileLeft } from '../src/logs/filing.ts';
import { type Unit, UnitsRefused } from '../src/store/engine/engine.ts';
import type { LogHeadRow } from '../src/store/records/logs.ts';
import type { RequestBlockRow, RequestIndexRow, UnfiledRow } from '../src/store/records/request-logs.ts';
import { type MemoryLink, MemoryLog, markOf } from './memory-log.ts';

const newId = idGenerator(Date.now);
const organization = newId();
const part = (said: Partial<BlockPart> = {}): BlockPart => ({
  organization_id: organization,
  vault_id: null,
  access_key_id: null,
  status: 200,
  ip_address: '192.0.2.1',
  entries: 1,
  requests: null,
  ...said,
});
const parts = (count: number) => Array.from({ length: count }, () => part());
const log = new MemoryLog();
let at = 0;
const block = (said: Readonly<Record<string, unknown>> = {}, writer = 'one') =>
  log.block(at++, 1, said, writer) as RequestBlockRow & MemoryLink;

/** Statements as what they were made of, and what is stored. */
class Stored {
  isSole = true;
  left: UnfiledRow[] = [];
  blocks: RequestBlockRow[] = [];
  index: RequestIndexRow[] = [];
  units: string[][] = [];
  answer: () => void = () => {};

  get parts(): FilingParts {
    const head = ({ mark, ...row }: LogHeadRow) => {
      assert.equal(mark, markOf(headDigest(row)));
      return `head ${row.writer} ${row.stream} ${row.seq}`;
    };
    const rows = (added: readonly RequestIndexRow[]) =>
      `index ${added.map(row => `${row.block_id} ${row.part}`).join(', ')}`;
    const count = (counted: readonly { organization_id: string; total: number }[]) =>
      `count ${counted.map(row => `${row.organization_id} ${row.total}`).join(', ')}`;
    const store = {
      isSole: this.isSole,
      requestLogs: {
        addToIndex: rows,
        noneLeft: (writer: string) => `none left of ${writer}`,
        leave: ({ writer, from_id }: UnfiledRow) => `left of ${writer} from ${from_id}`,
        left: async () => this.left,
        ofWriter: async (writer: string, fromId: string, limit: number) => {
          assert.equal(typeof fromId, 'string');
          return this.blocks.filter(one => one.writer === writer && one.id >= fromId).slice(0, limit);
        },
        indexOf: async (organizations: readonly string[], ids: readonly string[]) =>
          this.index.filter(row => organizations.includes(row.organization_id) && ids.includes(row.block_id)),
      },
      logs: { setHead: head, count },
      commit: async ([{ statements }]: readonly [Unit]) => {
        this.answer();
        this.units.push(statements as unknown as string[]);
      },
    };
    return { store, keyring: { chainMark: markOf } } as unknown as FilingParts;
  }
}

const told = ({ statements, counts }: FilingStep) => [
  ...(statements as unknown as string[]),
  ...counts.map(({ organization_id, stream, total }) => {
    assert.deepEqual([organization_id, stream], [organization, 'request']);
    return `${total} counted`;
  }),
];

describe('filing', () => {
  let stored: Stored;
  let filing: Filing;
  beforeEach(() => {
    stored = new Stored();
    filing = new Filing(stored.parts, 'one');
  });
  const taken = (step: FilingStep) => {
    step.done();
    return told(step);
  };

  it('has nothing to do where there is nothing', () => {
    assert.deepEqual(taken(filing.step(null, [], true)), []);
    assert.deepEqual(taken(filing.step(null, [], false)), []);
    assert.equal(filing.isBehind, false);
  });

  it('files a block with itself where others write too', () => {
    stored.isSole = false;
    filing = new Filing(stored.parts, 'one');
    const one = block();
    const step = filing.step(one, parts(2), false);
    assert.deepEqual(taken(step), [
      `head one request ${one.seq}`,
      `index ${one.id} 0, ${one.id} 1`,
      '2 counted',
    ]);
    assert.equal(filing.isBehind, false);
  });

  it('leaves blocks for later, which is said once, and files them together when it is told to', () => {
    const [one, two, three] = [block(), block(), block()];
    assert.deepEqual(taken(filing.step(one, parts(1), false)), [`left of one from ${one.id}`]);
    assert.equal(filing.isBehind, true);
    assert.deepEqual(taken(filing.step(two, parts(1), false)), []);
    assert.deepEqual(taken(filing.step(null, [], false)), []);
    assert.equal(filing.isBehind, true);
    assert.deepEqual(taken(filing.step(three, parts(1), true)), [
      `head one request ${three.seq}`,
      `index ${one.id} 0, ${two.id} 0, ${three.id} 0`,
      'none left of one',
      '3 counted',
    ]);
    assert.equal(filing.isBehind, false);
    assert.deepEqual(taken(filing.step(null, [], true)), []);
  });

  it('files what was left also without another block', () => {
    const one = block();
    filing.step(one, parts(1), false).done();
    assert.deepEqual(taken(filing.step(null, [], true)), [
      `head one request ${one.seq}`,
      `index ${one.id} 0`,
      'none left of one',
      '1 counted',
    ]);
  });

  it('moves the head also where a block is nobody’s', () => {
    const one = block();
    const step = filing.step(one, [part({ organization_id: null })], true);
    assert.deepEqual(taken(step), [`head one request ${one.seq}`]);
  });

  it('knows nothing of what was not stored', () => {
    const [one, two] = [block(), block()];
    filing.step(one, parts(1), false); // Was refused.
    assert.equal(filing.isBehind, false);
    assert.deepEqual(taken(filing.step(two, parts(1), false)), [`left of one from ${two.id}`]);
    filing.step(null, [], true); // Was refused.
    assert.equal(filing.isBehind, true);
    assert.equal(taken(filing.step(null, [], true)).at(-1), '1 counted');
  });

  it('files once 250 rows and blocks would be left', () => {
    const isFiled = (step: FilingStep) => taken(step).some(one => one.startsWith('head'));
    assert.equal(isFiled(filing.step(block(), parts(249), false)), false);
    assert.equal(isFiled(filing.step(null, [], false)), true, '249 rows and one block');
    assert.equal(isFiled(filing.step(block(), parts(248), false)), false);
    assert.equal(isFiled(filing.step(null, [], false)), false);
    assert.equal(isFiled(filing.step(block(), parts(1), false)), true);
    assert.equal(isFiled(filing.step(block(), parts(250), false)), true, 'at once');
  });
});

describe('what writers that are gone left behind', () => {
  let stored: Stored;
  beforeEach(() => {
    stored = new Stored();
  });
  const alike = (said: Readonly<Record<string, unknown>> = {}) => ({ alike: [{ ...part(), ...said }] });
  const whole = (writer = 'gone') => block({ ...alike(), entries: [[0, 1]] }, writer);
  const leave = (...blocks: readonly RequestBlockRow[]) => {
    stored.blocks = [...blocks];
    stored.left = [{ writer: 'gone', from_id: blocks[0]!.id }];
  };
  const filed = async (writerNow = 'now') => {
    await fileLeft(stored.parts, writerNow);
    return stored.units;
  };

  it('is filed by the next one, from where it was left', async () => {
    const [before, one, two] = [whole(), whole(), whole()];
    leave(one, two);
    stored.blocks.unshift(before);
    assert.deepEqual(await filed(), [
      [
        'none left of gone',
        `head gone request ${two.seq}`,
        `index ${one.id} 0, ${two.id} 0`,
        `count ${organization} 2`,
      ],
    ]);
  });

  it('is not filed by the writer itself, who is not gone', async () => {
    leave(whole());
    assert.deepEqual(await filed('gone'), []);
  });

  it('is not filed by a process beside the one that serves', async () => {
    leave(whole());
    stored.isSole = false;
    assert.deepEqual(await filed(), []);
  });

  it('is not filed twice', async () => {
    const [one, two] = [whole(), whole()];
    leave(one, two);
    stored.index = [{ ...part(), organization_id: organization, block_id: one.id, part: 0 }];
    const [unit] = await filed();
    assert.deepEqual(unit!.slice(2), [`index ${two.id} 0`, `count ${organization} 1`]);
    stored.index.push({ ...stored.index[0]!, block_id: two.id });
    stored.units = [];
    assert.deepEqual(await filed(), [['none left of gone', `head gone request ${two.seq}`]]);
  });

  it('is filed stretch by stretch, and what is still left is said with each', async () => {
    const blocks = Array.from({ length: 201 }, () => whole());
    leave(...blocks);
    const units = await filed();
    assert.deepEqual(
      units.map(statements => statements.filter(one => /^(left|head)/.test(one))),
      [
        [`left of gone from ${blocks[100]!.id}`, `head gone request ${blocks[99]!.seq}`],
        [`left of gone from ${blocks[200]!.id}`, `head gone request ${blocks[199]!.seq}`],
        [`head gone request ${blocks[200]!.seq}`],
      ],
    );
    assert.equal(units.flat().filter(one => one === 'none left of gone').length, 3);
  });

  it('never moves the head to a block that is not ours, nor stops at it', async () => {
    const [one, two] = [whole(), whole()];
    leave(one, { ...two, mark: markOf('other') });
    assert.equal((await filed())[0]![1], `head gone request ${one.seq}`);
    stored.units = [];
    leave({ ...one, mark: markOf('other') });
    assert.deepEqual(await filed(), [['none left of gone', `index ${one.id} 0`, `count ${organization} 1`]]);
    stored.units = [];
    stored.blocks = [];
    assert.deepEqual(await filed(), [['none left of gone']], 'a row that leads nowhere');
  });

  const id = newId();
  const texts: [what: string, said: Readonly<Record<string, unknown>>, isFiled: boolean][] = [
    ['a vault and an access key', { ...alike({ vault_id: id, access_key_id: id }), entries: [[0, 1]] }, true],
    ['several requests in an entry', { ...alike(), entries: [[0, 1, null, 5]] }, true],
    ['an organization that is none', { ...alike({ organization_id: 'x' }), entries: [[0, 1]] }, false],
    ['a vault that is none', { ...alike({ vault_id: 7 }), entries: [[0, 1]] }, false],
    ['an access key that is none', { ...alike({ access_key_id: 'x' }), entries: [[0, 1]] }, false],
    ['a status that is none', { ...alike({ status: 'x' }), entries: [[0, 1]] }, false],
    ['a number of requests that is none', { ...alike(), entries: [[0, 1, null, 'x']] }, false],
    ['an address that is none', { ...alike({ ip_address: 7 }), entries: [[0, 1]] }, false],
    ['nothing that could be read', { alike: null }, false],
    ['an entry like none', { ...alike(), entries: [[1, 1]] }, false],
  ];
  for (const [what, said, isFiled] of texts)
    it(`${isFiled ? 'is filed' : 'is left out of the index'} where a block has ${what}; the rest is filed`, async () => {
      const [one, two] = [block(said, 'gone'), whole()];
      leave(one, two);
      const [unit] = await filed();
      assert.equal(unit![2], `index ${isFiled ? `${one.id} 0, ` : ''}${two.id} 0`);
    });

  it('was filed by another who was first: that is no error, another one is', async () => {
    leave(whole());
    stored.answer = () => {
      throw new UnitsRefused(new Map([[0, 'taken']]));
    };
    assert.deepEqual(await filed(), []);
    stored.answer = () => {
      throw new Failure('UNAVAILABLE');
    };
    await assert.rejects(filed(), { code: 'UNAVAILABLE' });
  });
});
