/** The vault read: who is asked, what is counted, kept, opened and recorded, and in which order. Over stand-ins; the doors are tested in vault-read. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { Refused } from '../src/domain/credentials/authentication.ts';
import { type VaultReadParts, vaultReadsWith } from '../src/domain/reads/vault-read.ts';
import type { AccessKeyRead, PublicTokenRead, Selection } from '../src/domain/reads/vault-request.ts';
import type { RequestEntry } from '../src/logs/entries.ts';
import { Meter } from '../src/metrics/meter.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';

const vaultId = '01999999-9999-7999-8999-999999999999';
const entryId = '01999999-9999-7999-8999-000000000001';
const receipt = `${entryId}.hash`;
const sender = { address: '192.0.2.1', userAgent: 'test' };
const whole: Selection = { of: 'vault', namesOnly: false, keys: false, certificates: false };

/** Stand-ins for all that a read asks; what happens is noted in its order. */
class World {
  now = 1_000;
  known: Reader | null = null;
  reader = {
    kind: 'access-key',
    id: 'k',
    organizationId: 'org',
    vaultId,
    countedAs: 'counted',
    rateLimit: null,
    maxUses: null,
    narrowing: null,
    view: '',
  } as unknown as Reader;
  done: string[] = [];
  entries: RequestEntry[] = [];
  uses: { readonly requestId: string }[] = [];
  refusal: unknown = null;
  vaultName = 'prod';
  body = 'body';
  digest: string | null = 'digest';
  taken = 1;
  heard: (touched: string[]) => void = () => {};

  readonly #answer = async (what: string) => {
    this.done.push(`make ${what}`);
    const requested = `requested ${what}`;
    return {
      body: Buffer.from(this.body),
      format: 'json',
      digest: this.digest,
      requested,
      validUntil: 5_000,
    };
  };
  readonly #authenticated = async (how: string) => {
    this.done.push(how);
    if (this.refusal !== null) throw this.refusal;
    return this.reader;
  };

  readonly reads = vaultReadsWith({
    now: () => this.now,
    newId: () => 'new id',
    meter: new Meter(),
    store: {
      onChange: (hear: (touched: string[]) => void) => {
        this.heard = hear;
      },
      hearsChanges: () => true,
      limits: {
        take: async (id: string) => {
          this.done.push(`count ${id}`);
          return this.taken;
        },
      },
      credentials: {
        byId: async () =>
          ({ id: 'k', uses: 0, max_uses: 2, revoked_at: null, expiration_date: null }) as CredentialRow,
        update: () => 'update',
      },
      resources: {
        vault: async (id: string) => ({ id, type: 'vault', organization_id: 'its org' }),
        key: async () => undefined,
      },
    },
    stamps: { credential: { believe: (row: object) => row, stamp: (row: object) => row } },
    guard: {
      used: async ({ origin }: { origin: { requestId: string } }) => {
        this.done.push('use');
        this.uses.push(origin);
      },
    },
    ledger: {
      record: async (entry: RequestEntry) => {
        this.done.push(`record ${entry.status}`);
        this.entries.push(entry);
        return receipt;
      },
    },
    authenticate: {
      remembered: () => this.known,
      remember: () => this.done.push('remember'),
      accessKey: (_: string, vault: string) =>
        this.#authenticated(`key of ${vault === vaultId ? 'vault' : vault}`),
      accessKeyAnywhere: () => this.#authenticated('key'),
      publicToken: async () => ({ ...(await this.#authenticated('token')), keyId: 'its key' }),
      ownerOf: async () => ({ id: 'owner', organizationId: 'its org', vaultId, narrowing: null }),
    },
    vaultAnswers: {
      vault: () => this.#answer('vault'),
      resource: (_: Reader, id: string) => this.#answer(`resource ${id}`),
      values: (_: Reader, format: string) => this.#answer(format),
    },
    toolAnswers: {
      kind: () => this.#answer('kind'),
      item: () => this.#answer('item'),
      accessKey: () => this.#answer('access key'),
      publicHalf: (_: string, id: string) => this.#answer(`public half of ${id}`),
      vaultName: async () => this.vaultName,
    },
  } as unknown as VaultReadParts);

  request(more: Partial<AccessKeyRead> = {}): AccessKeyRead {
    return {
      by: 'access-key',
      sender,
      requestId: null,
      route: '/route',
      method: 'GET',
      tool: null,
      token: 'token',
      vaultId,
      keyId: null,
      connection: {},
      selection: whole,
      knownDigests: [],
      ...more,
    };
  }

  /** What happened for this request alone. */
  async read(
    more: Partial<AccessKeyRead> = {},
    encoding?: { name: string; encode: (body: Buffer) => Buffer },
  ) {
    this.done = [];
    const { receipt: _, ...result } = await this.reads.read({
      ...this.request(more),
      encoding: encoding ?? null,
    });
    const body = 'body' in result ? String(result.body) : null;
    const failure = 'failure' in result ? result.failure : null;
    return { ...result, body, failure, done: this.done };
  }
}

describe('a read', () => {
  it('is proven, made, recorded and handed out, in this order', async () => {
    const world = new World();
    const { status, body, requestId, done } = await world.read();
    assert.deepEqual([status, body, requestId], [200, 'body', entryId]);
    assert.deepEqual(done, ['key of vault', 'remember', 'make vault', 'record 200']);
    const [entry] = world.entries;
    assert.deepEqual(
      [entry!.organization_id, entry!.vault_id, entry!.access_key_id, entry!.requested],
      ['org', vaultId, 'k', 'requested vault'],
    );
  });

  it('without a vault goes by the key alone', async () => {
    const { done } = await new World().read({ vaultId: null });
    assert.equal(done[0], 'key');
  });

  it('has the id of its entry, or the one that it came with', async () => {
    const world = new World();
    assert.equal((await world.read({ requestId: 'own' })).requestId, 'own');
    assert.equal(world.entries[0]!.request_id, 'own');
    assert.equal(
      (await world.read({ requestId: 'own', selection: new Failure('INVALID_REQUEST') })).requestId,
      'own',
    );
    assert.equal((await world.read({ selection: new Failure('INVALID_REQUEST') })).requestId, entryId);
  });

  it('counts a rate where there is one, and refuses one too many', async () => {
    const world = new World();
    world.reader = { ...world.reader, rateLimit: 5 };
    assert.ok((await world.read()).done.includes('count counted'));
    world.taken = 6;
    const { status, failure, done } = await world.read();
    assert.deepEqual([status, failure?.code], [429, 'RATE_LIMITED']);
    assert.deepEqual(done, ['key of vault', 'remember', 'count counted', 'record 429']);
  });

  it('counts a use where they are counted, and both entries name the request', async () => {
    const world = new World();
    world.reader = { ...world.reader, maxUses: 2 };
    const counted = await world.read();
    assert.ok(counted.done.includes('use'));
    assert.deepEqual([world.uses[0]!.requestId, counted.requestId], ['new id', 'new id']);
    assert.equal(world.entries[0]!.request_id, 'new id');
    await world.read({ requestId: 'own' });
    assert.equal(world.uses[1]!.requestId, 'own');
  });

  it('is kept in memory, and opened once its entry is written', async () => {
    const world = new World();
    await world.read();
    world.body = 'changed';
    const again = await world.read();
    assert.deepEqual([again.status, again.body], [200, 'body']);
    assert.deepEqual(again.done, ['key of vault', 'remember', 'record 200']);
    assert.equal(world.entries[1]!.requested, 'requested vault');
    world.now = 5_000;
    assert.equal((await world.read()).body, 'changed', 'until it is no longer true');
    world.body = 'changed again';
    world.heard([vaultId]);
    assert.equal((await world.read()).body, 'changed again', 'or the vault changed');
  });

  it('on a connection that is known is answered from memory without another proof', async () => {
    const world = new World();
    world.known = world.reader;
    const first = await world.read();
    assert.deepEqual(first.done, ['key of vault', 'remember', 'make vault', 'record 200']);
    const second = await world.read();
    assert.deepEqual([second.body, second.done], ['body', ['record 200']]);
    assert.equal(world.entries[1]!.access_key_id, 'k');
  });

  it('is kept for each view, each selection and each encoding by itself', async () => {
    const world = new World();
    const encoding = (name: string) => ({ name, encode: (body: Buffer) => Buffer.from(`${name} ${body}`) });
    const reads: [() => Promise<{ body: string | null; done: string[] }>, string][] = [
      [() => world.read(), 'body'],
      [() => world.read({}, encoding('br')), 'br body'],
      [() => world.read({}, encoding('gzip')), 'gzip body'],
      [() => world.read({ selection: { of: 'values', format: 'env' } }), 'body'],
      [() => world.read({ selection: { of: 'resource', id: 'r' } }), 'body'],
    ];
    for (const round of [1, 2])
      for (const [read, body] of reads) {
        const { body: got, done } = await read();
        assert.equal(got, body);
        assert.equal(done.filter(one => one.startsWith('make')).length, round === 1 ? 1 : 0);
      }
    world.reader = { ...world.reader, view: 'restricted' };
    assert.ok((await world.read()).done.includes('make vault'), 'another view has an answer of its own');
  });

  it('of what an access key is told of itself is made each time', async () => {
    const world = new World();
    for (let count = 0; count < 2; count++) {
      const { done } = await world.read({ selection: { of: 'access-key' } });
      assert.ok(done.includes('make access key'));
    }
    world.done = [];
    const request = world.request({ selection: { of: 'access-key' } });
    await Promise.all([world.reads.read(request), world.reads.read(request)]);
    const made = world.done.filter(one => one === 'make access key');
    assert.equal(made.length, 2, 'also for two that ask at the same time');
  });

  it('is not sent again to clients that have it, from memory or not', async () => {
    const world = new World();
    for (const isKept of [false, true]) {
      const { status, body, done } = await world.read({ knownDigests: ['other', 'digest'] });
      assert.deepEqual([status, body, done.at(-1)], [304, null, 'record 304'], `${isKept}`);
    }
    assert.equal((await world.read({ knownDigests: ['other'] })).status, 200);
    const pem = new World();
    pem.digest = null;
    for (const known of [[], ['digest'], [null as unknown as string]])
      assert.equal((await pem.read({ knownDigests: known })).status, 200);
  });

  for (const [of, selection, made] of [
    ['a kind', { of: 'kind', kind: 'secret', fields: 'value' }, 'kind'],
    ['an item', { of: 'item', kind: 'secret', nameOrId: 'n', fields: 'value' }, 'item'],
    ['a resource', { of: 'resource', id: 'r' }, 'resource r'],
    ['values', { of: 'values', format: 'map' }, 'map'],
  ] as [string, Selection, string][])
    it(`of ${of} is that one’s`, async () =>
      assert.ok((await new World().read({ selection })).done.includes(`make ${made}`)));

  it('of a vault by its name is one of its own', async () => {
    const world = new World();
    const named = (name: string): Selection => ({
      of: 'named-vault',
      name,
      selection: whole as Exclude<Selection, { of: 'named-vault' }>,
    });
    assert.equal((await world.read({ selection: named('prod') })).status, 200);
    const { status, failure } = await world.read({ selection: named('other') });
    assert.deepEqual([status, failure?.because], [401, 'wrong_vault']);
    assert.equal(world.entries.at(-1)!.reason, 'wrong_vault');
  });
});

describe('a refused read', () => {
  it('that was not understood is judged by its credential first', async () => {
    const world = new World();
    const selection = new Failure('INVALID_REQUEST');
    const { status, failure, done } = await world.read({ selection });
    assert.deepEqual([status, failure], [400, selection]);
    assert.deepEqual(done, ['key of vault', 'remember', 'record 400']);
    world.known = world.reader;
    assert.deepEqual((await world.read({ selection })).done, ['record 400']);
    world.known = null;
    world.refusal = new Failure('UNAUTHORIZED');
    assert.equal((await world.read({ selection })).status, 401);
  });

  it('of a stranger is in the log of the vault that was asked for, and of any other as it was identified', async () => {
    const world = new World();
    world.refusal = new Refused(0, null, 'unknown_credential');
    await world.read();
    assert.equal(world.entries[0]!.organization_id, 'its org');
    world.refusal = new Failure('RATE_LIMITED');
    await world.read();
    assert.equal(world.entries[1]!.organization_id, null, 'what is no credential’s fault is nobody’s');
    world.refusal = new Refused(0, null, 'unknown_credential');
    world.known = world.reader;
    await world.read();
    assert.equal(world.entries[2]!.organization_id, 'org', 'a key that was known is in its own log');
    world.refusal = world.known = null;
    await world.read({ selection: new Failure('INVALID_REQUEST') });
    assert.equal(world.entries[3]!.organization_id, 'org');
  });

  it('for a fault of the service says so, and nothing of it', async () => {
    const world = new World();
    world.refusal = new Error('fault');
    const { status, failure } = await world.read();
    assert.deepEqual(
      [status, failure?.code, String(failure?.cause)],
      [500, 'INTERNAL_ERROR', 'Error: fault'],
    );
  });

  it('before it is told who asks is recorded with its owner', async () => {
    const world = new World();
    const result = await world.reads.refuse(world.request(), new Failure('INVALID_REQUEST'));
    assert.deepEqual([result.status, result.requestId, result.receipt], [400, entryId, receipt]);
    const [entry] = world.entries;
    assert.deepEqual([entry!.organization_id, entry!.access_key_id], ['its org', 'owner']);
  });
});

describe('a public token', () => {
  const read = (world: World, keyId: string | null) => {
    const { connection: _, selection: _s, knownDigests: _k, ...facts } = world.request();
    const request: PublicTokenRead = { ...facts, by: 'public-token', vaultId: null, keyId };
    return world.reads.read(request);
  };

  it('gives the public half of its key', async () => {
    for (const keyId of [null, 'its key']) {
      const world = new World();
      assert.equal((await read(world, keyId)).status, 200);
      assert.deepEqual(world.done, ['token', 'make public half of its key', 'record 200']);
      assert.equal(world.entries[0]!.requested, 'requested public half of its key');
    }
  });

  it('gives nothing of another', async () => {
    const world = new World();
    const result = await read(world, 'other');
    assert.equal(result.status, 401);
    assert.deepEqual(world.done, ['token', 'record 401']);
    assert.deepEqual([world.entries[0]!.reason, world.entries[0]!.requested], ['wrong_key', 'key']);
  });

  it('that is refused is recorded', async () => {
    const world = new World();
    world.refusal = new Failure('UNAUTHORIZED');
    assert.equal((await read(world, null)).status, 401);
  });
});
