/** Sessions of the tool endpoint: what is served, refused, kept and written down, over rows in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader } from '../src/access/caller.ts';
import { mintToken, parseToken } from '../src/access/token.ts';
import type { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import { type ToolSessionParts, toolSessionsWith } from '../src/domain/credentials/tool-sessions.ts';
import { MinuteCounter } from '../src/domain/kernel/minute-counter.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { ToolSessionRow } from '../src/store/records/tool-sessions.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const keyring = Keyring.create('deployment');
const origin = { address: '192.0.2.1', userAgent: '', requestId: 'r' };
const readerOf = (id: string, narrowing?: string) =>
  ({ id, countedAs: `counted ${id}`, narrowing: narrowing ? { id: narrowing } : null }) as unknown as Reader;
const agreed = { revision: '2025-06-18', client: 'test' };

/** Stand-ins for the store and the stamps: rows in memory, and what was asked of them. */
class World {
  now = Date.parse('2026-03-01T12:00:00Z');
  rows = new Map<string, ToolSessionRow>();
  looked = 0;
  written: string[] = [];
  digests = 0;
  forgotten: number[][] = [];
  heard: ((touched: string[]) => void)[] = [];
  readonly #newId = idGenerator(() => this.now);
  readonly sessions = toolSessionsWith({
    store: {
      onChange: (hear: (touched: string[]) => void) => this.heard.push(hear),
      hearsChanges: () => true,
      toolSessions: {
        byId: async (id: string) => {
          this.looked++;
          return this.rows.get(id);
        },
        add: async (row: ToolSessionRow) => void this.rows.set(row.id, row),
        noteUse: async (row: ToolSessionRow) => {
          this.written.push(row.id);
          this.rows.set(row.id, { ...this.rows.get(row.id)!, used_at: row.used_at });
        },
        end: async (id: string) => this.remove(id),
        forget: async (...args: number[]) => void this.forgotten.push(args),
      },
    },
    keyring: {
      tokenDigest: (token: string) => {
        this.digests++;
        return keyring.tokenDigest(token);
      },
    },
    stamps: {
      toolSession: {
        stamp: (row: object) => ({ ...row, stamp: 'good' }),
        vouched: (row: ToolSessionRow) => {
          if (String(row.stamp) !== 'good') throw new Error('not believed');
          return row;
        },
      },
    },
    attempts: new MinuteCounter(() => this.now),
    now: () => this.now,
    newId: () => this.#newId(),
  } as unknown as ToolSessionParts);

  remove(id: string): void {
    this.rows.delete(id);
    for (const hear of this.heard) hear([id]);
  }

  open(reader: Reader | null = null, more: object = {}) {
    return this.sessions.open({ ...agreed, ...more }, reader, origin);
  }

  find(token: unknown, reader: Reader | null = null, connection: object = {}) {
    return this.sessions.find(token, reader, origin, connection);
  }

  /** Found or not, in one word or the refusal's code. */
  async told(token: unknown, reader: Reader | null = null, connection: object = {}): Promise<string> {
    return this.find(token, reader, connection).then(
      () => 'found',
      (error: Failure) => `${error.code} ${error.field}`.trim(),
    );
  }
}

const unknown = 'NOT_FOUND mcp-session-id';
const anothers = 'FORBIDDEN mcp-session-id';
const idOf = (token: string) => parseToken(token)!.id;

describe('a tool session', () => {
  it('is found with what was agreed on, and whose it is', async () => {
    const world = new World();
    const [plain, owned] = [await world.open(), await world.open(readerOf('k'), { elicits: true })];
    const { revision } = agreed;
    assert.deepEqual(await world.find(plain), {
      id: idOf(plain),
      credentialId: null,
      revision,
      elicits: false,
    });
    assert.deepEqual(await world.find(owned, readerOf('k')), {
      id: idOf(owned),
      credentialId: 'k',
      revision,
      elicits: true,
    });
    assert.deepEqual(
      [...world.rows.values()].map(row => row.credential_id),
      [null, 'k'],
    );
  });

  const rows: [string, (world: World) => unknown, string][] = [
    ['nothing', () => undefined, 'INVALID_REQUEST mcp-session-id'],
    ['several', world => [...world.rows.keys()], 'INVALID_REQUEST mcp-session-id'],
    ['no token', () => 'x', unknown],
    ['a token of another kind', world => mintToken('vault', [...world.rows.keys()][0]!), unknown],
    ['a made-up token of a session', world => mintToken('mcp', [...world.rows.keys()][0]!), unknown],
    ['a token of no session', () => mintToken('mcp', '01999999-9999-7999-8999-999999999999'), unknown],
  ];
  for (const [what, tokenIn, expected] of rows)
    it(`is not found by ${what}`, async () => {
      const world = new World();
      const connection = {};
      const token = await world.open();
      assert.equal(await world.told(tokenIn(world)), expected);
      assert.equal(await world.told(token, null, connection), 'found');
      assert.equal(await world.told(tokenIn(world), null, connection), expected, 'nor on its own connection');
    });

  const readers: [string, Reader | null, Reader | null, string][] = [
    ['that nobody’s key opened, by anybody', null, readerOf('k'), 'found'],
    ['that a key opened, by that key', readerOf('k'), readerOf('k'), 'found'],
    ['that a key opened, without one', readerOf('k'), null, 'found'],
    ['that a key opened, by another', readerOf('k'), readerOf('other'), anothers],
    ['that a key opened, by what it was restricted to', readerOf('k'), readerOf('k', 'n'), anothers],
    ['that a restricted key opened, by the whole one', readerOf('k', 'n'), readerOf('k'), anothers],
    ['that a restricted key opened, by the same', readerOf('k', 'n'), readerOf('k', 'n'), 'found'],
    [
      'that a restricted key opened, by one that is restricted otherwise',
      readerOf('k', 'n'),
      readerOf('k', 'o'),
      anothers,
    ],
  ];
  for (const [what, by, asking, expected] of readers)
    it(`${what}, is ${expected === 'found' ? 'found' : 'refused'}`, async () => {
      const world = new World();
      const token = await world.open(by);
      const connection = {};
      assert.equal(await world.told(token, asking, connection), expected);
      assert.equal(await world.told(token, asking, connection), expected);
    });

  it('is proven once by a connection and read once from the store', async () => {
    const world = new World();
    const [token, connection] = [await world.open(), {}];
    world.digests = 0;
    for (let count = 0; count < 3; count++) await world.find(token, null, connection);
    assert.deepEqual([world.digests, world.looked], [1, 1]);
    await world.find(token, null, {});
    assert.deepEqual([world.digests, world.looked], [2, 1], 'another connection proves it by itself');
  });

  it('is over after 24 hours without use, also where it was proven before', async () => {
    for (const isKnown of [true, false]) {
      const world = new World();
      const [token, connection] = [await world.open(), {}];
      if (isKnown) await world.find(token, null, connection);
      world.now += day - 1;
      assert.equal(await world.told(token, null, connection), 'found');
      world.now += day;
      assert.equal(await world.told(token, null, connection), unknown);
      assert.equal(await world.told(token), unknown);
    }
  });

  it('that was used elsewhere meanwhile is not over', async () => {
    const world = new World();
    const [token, connection] = [await world.open(), {}];
    await world.find(token, null, connection);
    world.now += day;
    const id = idOf(token);
    world.rows.set(id, { ...world.rows.get(id)!, used_at: world.now - 1 });
    assert.equal(await world.told(token, null, connection), 'found');
  });

  it('is over once it was ended, also on the connection that proved it', async () => {
    const world = new World();
    const [token, connection] = [await world.open(), {}];
    await world.sessions.end(await world.find(token, null, connection), null);
    assert.equal(await world.told(token, null, connection), unknown);
    assert.equal(await world.told(token), unknown);
  });

  it('whose row was edited is served to nobody', async () => {
    const world = new World();
    const token = await world.open();
    world.rows.set(idOf(token), { ...world.rows.get(idOf(token))!, stamp: 'bad' as never });
    await assert.rejects(world.find(token), /not believed/);
  });

  it('of an access key is ended by one, and of nobody by anybody', async () => {
    for (const [by, ending, isEnded] of [
      [readerOf('k'), null, false],
      [readerOf('k'), readerOf('k'), true],
      [null, null, true],
      [null, readerOf('k'), true],
    ] as const) {
      const world = new World();
      const session = await world.find(await world.open(by), by);
      const ended = world.sessions.end(session, ending);
      if (isEnded) await ended;
      else await assert.rejects(ended, { code: 'FORBIDDEN', field: 'mcp-session-id' });
      assert.equal(world.rows.size, isEnded ? 0 : 1);
    }
  });

  it('has its use written down once a minute', async () => {
    const world = new World();
    const token = await world.open();
    await world.find(token);
    world.now += minute - 1;
    await world.find(token);
    assert.equal(world.written.length, 0);
    world.now += 1;
    await world.find(token);
    await world.find(token);
    world.now += minute - 1;
    await world.find(token);
    assert.equal(world.written.length, 1);
    world.now += 1;
    await world.find(token);
    assert.equal(world.written.length, 2);
  });

  it('is forgotten after that day, but for the newest 100,000 that nobody came back to', async () => {
    const world = new World();
    await world.sessions.forget();
    assert.deepEqual(world.forgotten, [[world.now - day, 100_000]]);
  });

  it('has the time of its use kept for 20,000 of them', async () => {
    const world = new World();
    const tokens = [];
    for (let at = 0; at <= 20_000; at++) tokens.push(await world.open(readerOf(`${at}`)));
    world.now += minute;
    for (const token of tokens.slice(0, 20_000)) await world.find(token);
    assert.equal(world.written.length, 20_000);
    await world.find(tokens[1]);
    assert.equal(world.written.length, 20_000, 'all of them are known');
    await world.find(tokens[20_000]);
    await world.find(tokens[1]);
    assert.equal(world.written.length, 20_002, 'one more, and they are noted anew');
  });
});

describe('tool sessions are opened', () => {
  const limited = (seconds: number) => ({ code: 'RATE_LIMITED', retryAfter: seconds });

  it('six hundred times a minute by an address, and by a key that has one apart from it', async () => {
    const world = new World();
    for (let count = 0; count < 600; count++) await world.open();
    world.now += minute - 1_000;
    await assert.rejects(world.open(), limited(1));
    await world.open(readerOf('k'));
    await world.sessions.open(agreed, null, { ...origin, address: '192.0.2.2' });
    world.now += 1_000;
    await world.open();
  });

  it('six hundred times a minute by a key, wherever it is', async () => {
    const world = new World();
    for (let count = 0; count < 600; count++) await world.open(readerOf('k'));
    await assert.rejects(world.open(readerOf('k')), limited(60));
    await world.open(readerOf('other'));
    await world.open();
  });

  it('and guessed sixty times a minute by an address', async () => {
    const world = new World();
    const token = await world.open();
    const forged = mintToken('mcp', idOf(token));
    for (let count = 0; count < 60; count++) assert.equal(await world.told(forged), unknown);
    world.now += minute - 1_000;
    await assert.rejects(world.find(forged), limited(1));
    assert.equal(await world.told(token), 'found');
    world.now += 1_000;
    assert.equal(await world.told(forged), unknown);
  });
});
