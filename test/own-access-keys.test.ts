/** What an access key may do with access keys: the decision by itself, over rows in memory. The doors are tested in vault-dialect. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader } from '../src/access/caller.ts';
import type { Restrictions } from '../src/domain/credentials/credential.ts';
import {
  type NewChild,
  type OwnAccessKeyParts,
  ownAccessKeysWith,
} from '../src/domain/credentials/own-access-keys.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';
import { refusalOf } from './refusal-of.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const day = 24 * 3_600_000;
const origin = { address: '192.0.2.1', userAgent: '', requestId: 'r' };

function parentRow(members: Partial<CredentialRow> = {}, narrowing: Restrictions = {}): CredentialRow {
  return {
    id: 'parent',
    name: 'parent',
    organization_id: 'org',
    vault_id: 'v',
    revision: 7,
    revoked_at: null,
    expiration_date: null,
    max_uses: null,
    identity_id: null,
    identity_revision: null,
    narrowing: JSON.stringify(narrowing),
    ...members,
  } as CredentialRow;
}

/** Stand-ins for authentication, the store, the stamps and the guard; statements say what they would do. */
function worldWith(
  row: CredentialRow | undefined,
  reader: Partial<Reader> = {},
  children: CredentialRow[] = [],
) {
  const done: { verb: string; statements: unknown[]; details: unknown }[] = [];
  const inserted: CredentialRow[] = [];
  const believe = (one: CredentialRow) => {
    if (one.name === 'forged') throw new Error('not believed');
    return one;
  };
  const keys = ownAccessKeysWith({
    keyring: Keyring.create('deployment'),
    now: () => now,
    newId: () => '01999999-9999-7999-8999-999999999999',
    authenticate: { accessKeyAnywhere: async () => ({ id: 'parent', narrowing: null, ...reader }) },
    guard: {
      used: async (
        _: unknown,
        verb: string,
        change: { statements: unknown[]; subjects: { details: unknown }[] },
      ) => done.push({ verb, statements: change.statements, details: change.subjects[0]!.details }),
    },
    stamps: {
      credential: {
        believe,
        stamp: (one: object) => one,
        revise: (one: CredentialRow, columns: object, updated_at: number) => ({
          ...one,
          ...columns,
          updated_at,
          revision: one.revision + 1,
        }),
      },
      stampEvent: (event: { type: string }) => event.type,
    },
    store: {
      credentials: {
        byId: async () => row,
        madeBy: async (ids: string[], at: number, limit: number) => {
          assert.deepEqual([ids, at], [['parent'], now]);
          return children.slice(0, limit);
        },
        forgetMadeBy: (...given: unknown[]) => ['forget', ...given],
        insert: (one: CredentialRow) => {
          inserted.push(one);
          return 'insert';
        },
        update: (one: CredentialRow) => ['update', one.revoked_at],
      },
      conditions: { unchanged: (rows: unknown[], unless: string) => ['unchanged', rows, unless] },
      outbox: { add: (event: unknown) => ['tell', event] },
      resources: { byId: async () => undefined },
    },
  } as unknown as OwnAccessKeyParts);
  const wanted: NewChild = { name: 'child', lifetime: 60_000, maxUses: 3 };
  return {
    done,
    inserted,
    revoke: () => keys.revokeItself('token', origin),
    create: (more: Partial<NewChild> = {}) => keys.createChild('token', origin, { ...wanted, ...more }),
  };
}

describe('an access key', () => {
  const rows: [string, CredentialRow | undefined, Partial<Reader>, string][] = [
    ['as it was given', parentRow(), {}, 'done'],
    ['that has not expired', parentRow({ expiration_date: now + 1 }), {}, 'done'],
    ['that has expired', parentRow({ expiration_date: now }), {}, 'UNAUTHORIZED: Unauthorized'],
    ['that was revoked', parentRow({ revoked_at: 5 }), {}, 'UNAUTHORIZED: Unauthorized'],
    ['that is gone', undefined, {}, 'UNAUTHORIZED: Unauthorized'],
    [
      'that its holder restricted',
      parentRow(),
      { narrowing: {} as Reader['narrowing'] },
      'FORBIDDEN: Forbidden: an access key restricted by its holder can’t create or revoke access keys',
    ],
  ];
  for (const [what, row, reader, expected] of rows)
    it(`${what} ${expected === 'done' ? 'creates others and revokes itself' : 'does neither'}`, async () => {
      for (const how of ['create', 'revoke'] as const) {
        const world = worldWith(row, reader);
        assert.equal(await refusalOf(world[how]()), expected);
        assert.equal(world.done.length, expected === 'done' ? 1 : 0);
      }
    });

  it('whose record is not believed does neither', async () => {
    await assert.rejects(worldWith(parentRow({ name: 'forged' })).create(), /not believed/);
    await assert.rejects(worldWith(parentRow({ name: 'forged' })).revoke(), /not believed/);
  });

  const parents: [string, CredentialRow, boolean][] = [
    ['that a person created', parentRow(), true],
    ['that is a child', parentRow({}, { parent: 'p' }), false],
    ['whose uses are counted', parentRow({ max_uses: 5 }), false],
  ];
  for (const [what, row, isParent] of parents)
    it(`${what} has ${isParent ? '' : 'no '}children, and revokes itself`, async () => {
      assert.equal(await refusalOf(worldWith(row).create()), isParent ? 'done' : 'FORBIDDEN: Forbidden');
      await worldWith(row).revoke();
    });

  it('has at most a hundred children that can be used', async () => {
    const children = Array.from({ length: 99 }, (_, at) => parentRow({ id: `${at}` }));
    await worldWith(parentRow(), {}, children).create();
    children.push(parentRow());
    assert.equal(
      await refusalOf(worldWith(parentRow(), {}, children).create()),
      'CONFLICT: An access key can have at most 100 children at a time: revoke some, or let them expire',
    );
    const forged = worldWith(parentRow(), {}, [parentRow({ name: 'forged' })]);
    await assert.rejects(forged.create(), /not believed/);
  });

  it('is revoked with the event that tells of it', async () => {
    const world = worldWith(parentRow());
    await world.revoke();
    const statements = [
      ['update', now],
      ['tell', 'access_key.revoked'],
    ];
    assert.deepEqual(world.done, [{ verb: 'access-key.revoked', statements, details: undefined }]);
  });
});

describe('a child of an access key', () => {
  it('is stored while its parent is as it was; those that expired a day ago go, two hundred at a time', async () => {
    const world = worldWith(parentRow());
    await world.create();
    const statements = [
      ['unchanged', [{ table: 'credentials', id: 'parent', revision: 7 }], 'stale'],
      ['forget', 'parent', now - day, 200],
      'insert',
      ['tell', 'access_key.created'],
    ];
    const details = { parent: 'parent' };
    assert.deepEqual(world.done, [{ verb: 'access-key.created', statements, details }]);
  });

  const ends: [number | null, number][] = [
    [null, now + 60_000],
    [now + 60_001, now + 60_000],
    [now + 59_999, now + 59_999],
  ];
  for (const [expiration_date, expected] of ends)
    it(`ends by ${expected - now}, where its parent does by ${expiration_date && expiration_date - now}`, async () => {
      const world = worldWith(parentRow({ expiration_date }));
      const { expiresAt, maxUses } = await world.create();
      assert.deepEqual([expiresAt, maxUses], [expected, 3]);
      assert.equal(world.inserted[0]!.expiration_date, expected);
    });

  it('sees what its parent sees, and names it', async () => {
    const world = worldWith(parentRow({}, { kinds: ['key'], cidrs: ['192.0.2.0/24'] }));
    await world.create();
    assert.deepEqual(JSON.parse(world.inserted[0]!.narrowing), {
      kinds: ['key'],
      cidrs: ['192.0.2.0/24'],
      parent: 'parent',
    });
  });

  it('of one that came by OAuth ends with its next refresh', async () => {
    const world = worldWith(parentRow({}, { grant: 'g' }));
    await world.create();
    assert.deepEqual(JSON.parse(world.inserted[0]!.narrowing), {
      grant: 'g',
      parent: 'parent',
      parent_revision: 7,
    });
  });

  it('of one that an identity was given ends with any change to it, as its parent does', async () => {
    for (const [identity_id, identity_revision] of [
      ['i', 4],
      [null, null],
    ] as const) {
      const world = worldWith(parentRow({ identity_id, identity_revision }));
      await world.create();
      const [child] = world.inserted;
      assert.deepEqual([child!.identity_id, child!.identity_revision], [identity_id, identity_revision]);
    }
  });
});
