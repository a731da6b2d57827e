/** What the audit log tells of the rows, and what is found where the rows are not what it tells. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { idGenerator } from '../src/contract/id.ts';
import { rowFindings, type StoredRow, storedRows } from '../src/logs/row-verification.ts';
import { SubjectTable } from '../src/logs/subject-table.ts';
import { ToldSubjects, toldIn } from '../src/logs/told-subjects.ts';
import type { StampedRow, StampedTable } from '../src/store/integrity/stamped-rows.ts';

const newId = idGenerator(Date.now);
const [vault, secret, rule, member, identity, other] = Array.from({ length: 6 }, newId) as [
  string,
  string,
  string,
  string,
  string,
  string,
];

interface Said {
  readonly type?: string;
  readonly id?: string;
  readonly action?: string;
  readonly revision?: number;
  readonly vault_id?: string | null | undefined;
  readonly details?: Readonly<Record<string, unknown>> | null | undefined;
  readonly actor?: { readonly kind: string } | null;
}

function textOf({
  type = 'vault',
  id = vault,
  action = `${type}.created`,
  revision = 1,
  ...more
}: Said): string {
  const actor = { kind: 'member' };
  return JSON.stringify({ outcome: 'allowed', actor, subject: { type, id }, action, revision, ...more });
}

function toldOf(...said: readonly Said[]): ToldSubjects {
  const told = new ToldSubjects();
  for (const one of said) told.note(textOf(one));
  return told;
}

const missingOf = (...said: readonly Said[]) =>
  [...toldOf(...said).missing()].map(({ table, id }) => `${table} ${id}`);

describe('an entry', () => {
  const whole = { outcome: 'allowed', subject: { id: vault }, revision: 1 };
  const texts: [text: string, isTold: boolean][] = [
    [JSON.stringify(whole), true],
    [JSON.stringify({ ...whole, revision: Number.MAX_SAFE_INTEGER }), true],
    [JSON.stringify({ ...whole, outcome: 'denied' }), false],
    [JSON.stringify({ ...whole, outcome: undefined }), false],
    [JSON.stringify({ ...whole, revision: null }), false],
    [JSON.stringify({ ...whole, revision: '1' }), false],
    [JSON.stringify({ ...whole, revision: 1.5 }), false],
    [JSON.stringify({ ...whole, subject: null }), false],
    [JSON.stringify({ ...whole, subject: { id: null } }), false],
    [JSON.stringify({ ...whole, subject: { id: 7 } }), false],
    ...['', 'null', '7', '"text"', '{', '[]'].map((text): [string, boolean] => [text, false]),
  ];
  for (const [text, isTold] of texts)
    it(`${isTold ? 'tells' : 'tells nothing'} of a revision: ${text}`, () => {
      assert.deepEqual(toldIn(text), isTold ? JSON.parse(text) : null);
      const told = new ToldSubjects();
      told.note(text);
      assert.equal(told.revisionOf(vault) > 0, isTold);
    });
});

describe('a row that the log tells of', () => {
  const alone: [type: string, table: string][] = [
    ['organization', 'organizations'],
    ['member', 'members'],
    ['group', 'member_groups'],
    ['vault', 'resources'],
    ['stage', 'stages'],
    ['webhook', 'webhooks'],
    ['identity', 'identities'],
    ['api-key', 'credentials'],
    ['public-token', 'credentials'],
    ['access-key', 'credentials'],
  ];
  for (const [type, table] of alone)
    it(`must be there, with nothing that it goes with: ${type}`, () =>
      assert.deepEqual(missingOf({ type, id: other }), [`${table} ${other}`]));

  const owned: [type: string, table: string, owner: Said, by: Said][] = [
    ['passkey', 'passkeys', { type: 'member', id: member }, { details: { member } }],
    ['secret', 'resources', {}, { vault_id: vault }],
    ['key', 'resources', {}, { vault_id: vault }],
    ['certificate', 'resources', {}, { vault_id: vault }],
    [
      'use-rule',
      'use_rules',
      { type: 'secret', id: secret, vault_id: null },
      { details: { resource_id: secret } },
    ],
    ['secret-id', 'credentials', { type: 'identity', id: identity }, { details: { identity_id: identity } }],
  ];
  for (const [type, table, owner, by] of owned) {
    const missed = `${table} ${other}`;
    const one = { type, id: other, ...by };
    const isMissed = (...said: readonly Said[]) => missingOf(...said).includes(missed);
    const gone = { ...owner, action: `${owner.type ?? 'vault'}.purged`, revision: 2 };
    const removed = { member: 'member.removed', identity: 'identity.deleted' }[owner.type ?? ''];
    it(`must be there as long as what it goes with is: ${type}`, () => {
      assert.equal(isMissed(owner, one), true);
      assert.equal(isMissed(one, owner), true, 'whichever entry comes first');
      assert.equal(isMissed(owner, one, { ...gone, ...(removed && { action: removed }) }), false);
      assert.equal(isMissed(one), false, 'what it goes with is not told of');
      assert.equal(isMissed(owner, { ...one, vault_id: undefined, details: null }), false);
      assert.equal(isMissed(owner, { ...one, vault_id: 'none', details: by.details && {} }), false);
    });
  }

  it('stays with what it goes with, where a later entry does not say so', () => {
    const [inVault, later] = [
      { type: 'secret', id: secret, vault_id: vault },
      { type: 'secret', id: secret },
    ];
    const changed = { ...later, action: 'secret.updated', revision: 2 };
    assert.deepEqual(missingOf({}, inVault, changed), [`resources ${vault}`, `resources ${secret}`]);
    assert.deepEqual(missingOf({}, inVault, changed, { action: 'vault.purged', revision: 2 }), []);
    assert.deepEqual(missingOf({}, later, { ...changed, vault_id: vault }), [
      `resources ${vault}`,
      `resources ${secret}`,
    ]);
    assert.deepEqual(missingOf({}, later, changed), [`resources ${vault}`]);
  });

  it('goes with all that what it goes with goes with', () => {
    const said = [
      {},
      { type: 'secret', id: secret, vault_id: vault },
      { type: 'use-rule', id: rule, details: { resource_id: secret } },
    ];
    assert.equal(missingOf(...said).length, 3);
    assert.deepEqual(missingOf(...said, { action: 'vault.purged', revision: 2 }), []);
    assert.deepEqual(
      missingOf(...said, { type: 'secret', id: secret, action: 'secret.purged', revision: 2 }),
      [`resources ${vault}`],
    );
  });

  it('is not missed where texts that anyone wrote make it go with itself in a circle, or with too many', () => {
    const within = (id: string, resource_id: string) => ({ type: 'use-rule', id, details: { resource_id } });
    assert.deepEqual(missingOf(within(rule, other), within(other, rule)), []);
    assert.deepEqual(missingOf(within(rule, rule)), [`use_rules ${rule}`]);
    const chain = Array.from({ length: 12 }, newId);
    const links = chain.slice(1).map((id, at) => within(id, chain[at]!));
    assert.equal(missingOf({ id: chain[0]! }, ...links).length, 12);
    const last = newId();
    assert.ok(
      !missingOf({ id: chain[0]! }, ...links, within(last, chain[11]!)).includes(`use_rules ${last}`),
    );
  });

  const keys: [why: string, said: Said, isMissed: boolean][] = [
    ['a member made it', { actor: { kind: 'member' } }, true],
    ['nobody is named', { actor: null }, true],
    ['an identity was given it', { actor: { kind: 'identity' } }, false],
    ['the service gave it', { actor: { kind: 'service' } }, false],
    ['it was made with another', { details: { parent: other } }, false],
    ['it was made with none', { details: {} }, true],
  ];
  for (const [why, said, isMissed] of keys)
    it(`${isMissed ? 'must be there' : 'goes when it expires'}: an access key, ${why}`, () =>
      assert.equal(missingOf({ type: 'access-key', ...said }).length, isMissed ? 1 : 0));

  it('is not missed where it was removed, was found, or has no table', () => {
    assert.deepEqual(missingOf({}, { action: 'vault.purged', revision: 2 }), []);
    assert.deepEqual(missingOf({ type: 'session' }), []);
    assert.equal(toldOf({ type: 'session' }).revisionOf(vault), 1);
    const told = toldOf({}, { id: other });
    told.see(vault);
    told.see(newId());
    told.see('no id');
    assert.deepEqual([...told.missing()], [{ table: 'resources', id: other }]);
  });

  it('is as the newest revision says, and the later of two entries with the same one', () => {
    const purged = { action: 'vault.purged', revision: 3 };
    assert.deepEqual(missingOf({}, purged, { action: 'vault.updated', revision: 2 }), []);
    assert.deepEqual(missingOf({}, { action: 'vault.updated', revision: 3 }, purged), []);
    assert.equal(toldOf({}, purged, { action: 'vault.updated', revision: 2 }).revisionOf(vault), 3);
  });

  const bin: [what: string, said: readonly [action: string, revision: number][], expected: boolean | null][] =
    [
      ['it was created', [['vault.created', 1]], false],
      [
        'it was deleted',
        [
          ['vault.created', 1],
          ['vault.deleted', 2],
        ],
        true,
      ],
      [
        'it was changed behind that',
        [
          ['vault.deleted', 2],
          ['vault.updated', 3],
        ],
        true,
      ],
      [
        'it was restored',
        [
          ['vault.deleted', 2],
          ['vault.restored', 3],
        ],
        false,
      ],
      [
        'it was changed behind that',
        [
          ['vault.restored', 3],
          ['vault.updated', 4],
        ],
        false,
      ],
      ['its first entries are archived', [['vault.updated', 2]], null],
      [
        'none of the rest says so either',
        [
          ['vault.updated', 2],
          ['vault.updated', 3],
        ],
        null,
      ],
      [
        'one of the rest does',
        [
          ['vault.updated', 2],
          ['vault.deleted', 3],
        ],
        true,
      ],
    ];
  for (const [what, said, expected] of bin)
    it(`${expected === null ? 'may be' : expected ? 'is' : 'is not'} in the trash: ${what}`, () => {
      const told = toldOf(...said.map(([action, revision]) => ({ action, revision })));
      assert.equal(told.isInTrash(vault), expected);
    });

  it('may be in the trash where nothing is told of it', () => {
    assert.equal(toldOf({}).isInTrash(other), null);
    assert.equal(toldOf({}).isInTrash('no id'), null);
  });

  it('is one of thousands', () => {
    const said: Said[] = [];
    for (let number = 0; number < 1_500; number++) {
      const [owner, id] = [newId(), newId()];
      said.push({ type: 'secret', id, vault_id: owner }, { id: owner });
    }
    assert.deepEqual(
      missingOf({ id: 'no id', type: 'secret', vault_id: other }, ...said).sort(),
      said.map(({ id }) => `resources ${id}`).sort(),
    );
  });
});

describe('a table of subjects', () => {
  it('is a map of ids and numbers that only rise, also once it was packed', () => {
    const [table, model] = [new SubjectTable(), new Map<string, number>()];
    const placeOf = (id: string) => [...model.keys()].indexOf(id);
    const near = (at: number) =>
      `${(at % 7).toString(16).padStart(8, '0')}-0000-7000-8000-${at.toString(16).padStart(12, '0')}`;
    const ids = Array.from({ length: 3_000 }, (_, at) => (at % 3 === 0 ? near(at) : newId()));
    for (const [at, id] of [...ids, ...ids.slice(0, 500)].entries()) {
      const revision = (at * 31) % 17;
      if (at % 250 === 0) assert.equal(table.find(id), placeOf(id));
      model.set(id, Math.max(revision, model.get(id) ?? 0));
      const place = table.raise(id, revision);
      if (at % 250 === 0) assert.equal(place, placeOf(id));
    }
    for (const one of [table, SubjectTable.unpacked(table.packed())]) {
      assert.deepEqual([...one.ids()], [...model.keys()]);
      assert.deepEqual(
        [...model.keys()].map(id => one.revisionOf(id)),
        [...model.values()],
      );
      assert.equal(one.size, model.size);
      assert.equal(one.add(ids[5]!), 5);
      assert.equal(one.revisionOf(newId()), 0);
      assert.equal(one.find('00000000-0000-0000-0000-000000000000'), -1);
      // It goes on from there.
      for (let number = 0; number < 2_000; number++) assert.equal(one.raise(newId(), 9), model.size + number);
      assert.equal(one.revisionOf(ids.at(-1)!), model.get(ids.at(-1)!));
    }
  });

  it('tells ids apart by every digit of them', () => {
    const base = '00000000-0000-7000-8000-000000000000';
    const table = new SubjectTable();
    const ids = [base];
    for (const [at, digit] of [...base].entries())
      if (digit !== '-') for (const one of '19f') ids.push(base.slice(0, at) + one + base.slice(at + 1));
    for (const [at, id] of ids.entries()) assert.equal(table.raise(id, at), at);
    assert.deepEqual(
      ids.map(id => table.revisionOf(id)),
      [...ids.keys()],
    );
    assert.deepEqual([...table.ids()], ids);
  });

  it('has no place for what is no id', () => {
    const table = new SubjectTable();
    for (const id of ['', 'vault', vault.toUpperCase(), `${vault}0`])
      assert.deepEqual(
        [table.add(id), table.raise(id, 1), table.find(id), table.revisionOf(id)],
        [-1, -1, -1, 0],
      );
    assert.equal(table.size, 0);
    assert.equal(SubjectTable.unpacked(table.packed()).size, 0);
  });
});

describe('rows', () => {
  const row = (table: StampedTable, more: StampedRow): StoredRow => ({ table, row: more });
  const resource = (id: string, more: StampedRow = {}) =>
    row('resources', { id, type: 'vault', revision: 1, version: 1, deleted_at: null, ...more });
  const version = (number: number, id = secret) => row('versions', { resource_id: id, version: number });
  const inVault: Said = { type: 'secret', id: secret, vault_id: vault };
  const secretRow = (more: StampedRow = {}) => resource(secret, { type: 'secret', ...more });

  const worlds: [what: string, said: Said[], rows: StoredRow[], findings: string[]][] = [
    ['are what the log tells of', [{}], [resource(vault)], []],
    ['miss one', [{}], [], [`missing row of resources ${vault}`]],
    ['have one too many', [], [resource(vault)], [`inserted row of resources ${vault}`]],
    [
      'have one twice',
      [{}],
      [resource(vault), resource(vault)],
      [`inserted row of resources ${vault}, a second time`],
    ],
    [
      'are older',
      [{}, { action: 'vault.updated', revision: 2 }],
      [resource(vault)],
      [`rolled-back row of resources ${vault}`],
    ],
    ['are newer', [{}], [resource(vault, { revision: 2 })], [`rolled-back row of resources ${vault}`]],
    ['are in the trash', [{}], [resource(vault, { deleted_at: 1 })], [`edited row of resources ${vault}`]],
    [
      'are out of the trash',
      [{}, { action: 'vault.deleted', revision: 2 }],
      [resource(vault, { revision: 2 })],
      [`edited row of resources ${vault}`],
    ],
    [
      'are in the trash as they should be',
      [{}, { action: 'vault.deleted', revision: 2 }],
      [resource(vault, { revision: 2, deleted_at: 1 })],
      [],
    ],
    [
      'may be in the trash',
      [{ action: 'vault.updated', revision: 2 }],
      [resource(vault, { revision: 2, deleted_at: 1 })],
      [],
    ],
    [
      'of other tables have no trash',
      [{ type: 'group', id: other }],
      [row('member_groups', { id: other, revision: 1, deleted_at: 1 })],
      [],
    ],
    ['without revisions need no entry', [], [row('events', { id: other })], []],
    [
      'of other tables are nobody’s versions',
      [],
      [
        row('events', { id: other, type: 'secret', version: 2, resource_id: secret }),
        row('events', { id: rule, resource_id: secret, version: 1 }),
      ],
      [],
    ],
    [
      'of other tables are nobody’s account',
      [{ type: 'member', id: member }],
      [row('members', { id: member, revision: 1 }), row('events', { id: other, member_id: member })],
      [`missing row of accounts of the member ${member}`],
    ],
    [
      'have all versions',
      [{}, inVault],
      [resource(vault), secretRow({ version: 2 }), version(1), version(2)],
      [],
    ],
    [
      'lack a version',
      [{}, inVault],
      [resource(vault), secretRow({ version: 3 }), version(1), version(3)],
      [`missing row of versions ${secret}, version 2`],
    ],
    [
      'lack all of them',
      [{}, inVault],
      [resource(vault), secretRow()],
      [`missing row of versions ${secret}, version 1`],
    ],
    [
      'have a version too many',
      [{}, inVault],
      [resource(vault), secretRow(), version(1), version(2)],
      [`inserted row of versions ${secret}, version 2`],
    ],
    ['have versions of nothing', [], [version(1)], [`inserted row of versions ${secret}, version 1`]],
    [
      'have a version twice',
      [{}, inVault],
      [resource(vault), secretRow(), version(1), version(1)],
      [`inserted row of versions ${secret}, version 1, a second time`],
    ],
    [
      'have an account for each member',
      [
        { type: 'member', id: member },
        { type: 'account', id: other },
      ],
      [
        row('members', { id: member, revision: 1 }),
        row('accounts', { id: other, member_id: member, revision: 1 }),
      ],
      [],
    ],
    [
      'lack the account of a member',
      [{ type: 'member', id: member }],
      [row('members', { id: member, revision: 1 })],
      [`missing row of accounts of the member ${member}`],
    ],
  ];
  for (const [what, said, rows, findings] of worlds)
    it(`that ${what}${findings.length > 0 ? ' are told of' : ' are sound'}`, async () => {
      const found: string[] = [];
      for await (const { what, where } of rowFindings(streamed(rows), toldOf(...said)))
        found.push(`${what} ${where}`);
      assert.deepEqual(found, findings);
    });

  it('whose stamp does not hold are told of, whatever the log says', async () => {
    const found: string[] = [];
    const isSound = ({ row: { id } }: StoredRow) => id !== vault;
    const rows = [resource(vault), row('events', { id: other })];
    const told = toldOf({});
    told.see(vault);
    for await (const { what } of rowFindings(streamed(rows), told, isSound)) found.push(what);
    assert.deepEqual(found, ['edited']);
  });

  for (const count of [0, 1, 99, 100, 101, 199, 200])
    it(`are read in stretches, each once: ${count}`, async () => {
      const all = Array.from({ length: count }, (_, id) => ({ id }));
      const stretch = async (table: StampedTable, from: StampedRow | null, limit: number) =>
        table !== 'events' ? [] : all.slice(from === null ? 0 : Number(from.id)).slice(0, limit);
      const read: unknown[] = [];
      for await (const { table, row } of storedRows({ stampedRows: { stretch } })) {
        assert.equal(table, 'events');
        read.push(row.id);
      }
      assert.deepEqual(
        read,
        all.map(({ id }) => id),
      );
    });
});

async function* streamed(rows: readonly StoredRow[]): AsyncIterable<StoredRow> {
  yield* rows;
}
