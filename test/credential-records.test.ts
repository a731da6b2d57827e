/** A credential's record: what is stored of it, what may be changed, what it sees and what of it is shown. That they are asked is tested over HTTP, in credentials. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, type Reader, trustedCaller } from '../src/access/caller.ts';
import { grantOfRole } from '../src/access/policy.ts';
import { Failure } from '../src/contract/errors.ts';
import type { Restriction } from '../src/contract/restrictions.ts';
import {
  childReader,
  credentialOf,
  faultOf,
  isUsable,
  type Restrictions,
  restricted,
  restrictedReader,
} from '../src/domain/credentials/credential.ts';
import {
  boundTo,
  changesOf,
  checkGrant,
  checkLife,
  grantOf,
  lifeOf,
  newFields,
  presentAccessKey,
  presentApiKey,
  presentPublicToken,
  withRestrictions,
} from '../src/domain/credentials/credential-records.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';

const now = Date.parse('2026-01-01T00:00:00.000Z');
const later = now + 60_000;

function rowWith(narrowing: Restrictions = {}, members: Partial<CredentialRow> = {}): CredentialRow {
  return {
    ...newFields({ id: 'maker', organizationId: 'org' }, 'id', { name: 'CI Key', narrowing }, now),
    kind: 'access-key',
    vault_id: 'vault',
    digest: new Uint8Array() as CredentialRow['digest'],
    narrowing_key: null,
    stamp: new Uint8Array() as CredentialRow['stamp'],
    ...members,
  };
}

/** The caller with an API key that ends at a moment, and was made with so many others. */
function keyCaller(until: number | null, others = 0): Caller {
  const rows = Array.from({ length: others + 1 }, (_, at) => ({
    table: 'credentials' as const,
    id: `key ${at}`,
    revision: 1,
  }));
  const operator = trustedCaller('operator', 'key 0', 'key', 'org', '');
  return { ...operator, kind: 'api-key', role: 'editor', until, proof: { rows, until } };
}

function refusedBy(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return [error.code, error.field].filter(Boolean).join(' ');
  }
}

describe('a new credential', () => {
  const caller = { id: 'maker', organizationId: 'org' };
  const least = {
    id: 'id',
    organization_id: 'org',
    name: 'CI Key',
    name_search: 'ci key',
    vault_id: null,
    key_id: null,
    role: null,
    narrowing: '{}',
    expiration_date: null,
    max_uses: null,
    created_by: 'maker',
    revoked_at: null,
    created_at: now,
    updated_at: now,
    revision: 1,
    uses: 0,
    last_used_at: null,
    identity_id: null,
    identity_revision: null,
  };

  it('has nothing that nobody asked for', () => {
    assert.deepEqual(newFields(caller, 'id', { name: 'CI Key' }, now), least);
  });

  it('has all that was asked for', () => {
    const wanted = {
      name: 'CI Key',
      vaultId: 'vault',
      keyId: 'key',
      role: 'editor',
      narrowing: { names_only: true },
      expirationDate: later,
      maxUses: 3,
      identity: { id: 'identity', revision: 7 },
    } as const;
    assert.deepEqual(newFields(caller, 'id', wanted, now), {
      ...least,
      vault_id: 'vault',
      key_id: 'key',
      role: 'editor',
      narrowing: '{"names_only":true}',
      expiration_date: later,
      max_uses: 3,
      identity_id: 'identity',
      identity_revision: 7,
    });
    const secretId = { name: 'CI Key', identity: { id: 'identity', revision: null } };
    const { identity_id, identity_revision } = newFields(caller, 'id', secretId, now);
    assert.deepEqual([identity_id, identity_revision], ['identity', null], 'a secret id outlives a change');
  });

  it('ends with the API keys that it is made with, of which there are at most eight', () => {
    assert.deepEqual(boundTo(trustedCaller('operator', 'o', 'o', 'org', '')), {});
    assert.deepEqual(boundTo(keyCaller(null)), {}, 'an API key without an end ends nothing');
    assert.deepEqual(boundTo(keyCaller(later, 1)), { made_with: ['key 0', 'key 1'] });
    assert.equal(boundTo(keyCaller(later, 7)).made_with!.length, 8);
    assert.equal(
      refusedBy(() => boundTo(keyCaller(later, 8))),
      'FORBIDDEN',
    );
  });

  it('is good until it expires, and no longer than what it was made with', () => {
    assert.deepEqual(lifeOf(rowWith()), { until: null, madeWith: [] });
    const made = rowWith({ made_with: ['a', 'b'] }, { expiration_date: later });
    assert.deepEqual(lifeOf(made), { until: later, madeWith: ['a', 'b'] });
  });
});

describe('a changed credential', () => {
  const row = rowWith({}, { expiration_date: later });
  const rows: [string | undefined, number | null | undefined, unknown[]][] = [
    [undefined, undefined, ['CI Key', 'ci key', later]],
    ['New Name', undefined, ['New Name', 'new name', later]],
    [undefined, null, ['CI Key', 'ci key', null]],
    ['New Name', now, ['New Name', 'new name', now]],
  ];
  for (const [name, date, expected] of rows)
    it(`named ${name} until ${date} keeps what was left out`, () => {
      const changed = changesOf(keyCaller(null), row, { name, expiration_date: date });
      assert.deepEqual([changed.name, changed.name_search, changed.expiration_date], expected);
    });

  it('keeps the restrictions that are left out, and loses those that are set to null', () => {
    const before: Restrictions = { names: ['A_*'], names_only: true, may_use: true, parent: 'p' };
    assert.deepEqual(withRestrictions(before, {}), before);
    const body = { names: null, names_only: undefined, may_use: false } as unknown as Restrictions;
    assert.deepEqual(withRestrictions(before, body as Parameters<typeof withRestrictions>[1]), {
      ...before,
      names: null,
      may_use: false,
    });
  });

  const lists: [string[] | null | undefined, string | null][] = [
    [undefined, null],
    [null, null],
    [['10.0.0.0/8', '2001:db8::/32'], null],
    [['10.0.0.0'], 'INVALID_REQUEST cidrs'],
    [['10.0.0.0/8', '10.0.0.0/33'], 'INVALID_REQUEST cidrs'],
  ];
  for (const [cidrs, expected] of lists)
    it(`for ${cidrs} is ${expected ?? 'taken'}`, () => {
      const body = { cidrs } as Parameters<typeof withRestrictions>[1];
      assert.equal(
        refusedBy(() => withRestrictions({}, body)),
        expected,
      );
    });

  const lives: [number | null, number | null | undefined, string | null][] = [
    [null, null, null],
    [null, later, null],
    [now, undefined, null],
    [now, now, null],
    [now, now + 1, 'FORBIDDEN'],
    [now, null, 'FORBIDDEN'],
  ];
  for (const [until, wanted, expected] of lives)
    it(`until ${wanted} by a key until ${until} is ${expected ?? 'taken'}`, () => {
      const updated = () => changesOf(keyCaller(until), rowWith(), { expiration_date: wanted });
      for (const check of [() => checkLife(keyCaller(until), wanted), updated])
        assert.equal(refusedBy(check), expected);
    });

  it('has no more than the one who grants it', () => {
    const editor = keyCaller(null);
    assert.equal(
      refusedBy(() => checkGrant(editor, grantOfRole('viewer'))),
      null,
    );
    assert.equal(
      refusedBy(() => checkGrant(editor, grantOfRole('owner'))),
      'FORBIDDEN',
    );
    const key = rowWith({ scopes: ['secrets:read'] }, { role: 'viewer', expiration_date: now });
    const grant = { ...grantOfRole('viewer', later), scopes: ['secrets:read'] };
    assert.deepEqual(grantOf(key, later), grant, 'for as long as it is to be given');
    const { scopes, vaultIds } = grantOf(rowWith({ vault_ids: ['v'] }), null);
    assert.deepEqual([scopes, vaultIds], [null, ['v']]);
  });

  const given: [string, CredentialRow][] = [
    ['an identity', rowWith({}, { expiration_date: later, identity_revision: 1 })],
    ['a command line', rowWith({ login: { member_id: 'm', epoch: 1 } }, { expiration_date: later })],
    ['a key that ends', rowWith({ made_with: ['k'] }, { expiration_date: later })],
  ];
  for (const [what, before] of given) {
    it(`that ${what} was given is not made to last`, () => {
      const endless = { ...before, expiration_date: null };
      const outcome = (row: CredentialRow, until: number | null | undefined) =>
        refusedBy(() => changesOf(keyCaller(null), row, { expiration_date: until }));
      for (const until of [undefined, later - 1, later]) assert.equal(outcome(before, until), null);
      for (const until of [later + 1, null])
        assert.equal(outcome(before, until), 'INVALID_REQUEST expiration_date');
      for (const until of [undefined, later, null]) assert.equal(outcome(endless, until), null);
    });
  }

  it('that was given by a person for good may last as long as it is told', () => {
    for (const until of [undefined, null, later + 1])
      assert.equal(
        changesOf(keyCaller(null), row, { expiration_date: until }).expiration_date,
        until === undefined ? later : until,
      );
    const { name, name_search, max_uses } = changesOf(keyCaller(null), row, { name: 'New', max_uses: 3 });
    assert.deepEqual([name, name_search, max_uses], ['New', 'new', 3]);
    assert.deepEqual(changesOf(keyCaller(null), row, {}).name, row.name);
  });
});

describe('a credential', () => {
  const rows: [number | null, number | null, string | null][] = [
    [null, null, null],
    [null, now + 1, null],
    [null, now, 'expired'],
    [null, now - 1, 'expired'],
    [now - 1, null, 'revoked'],
    [now - 1, now - 1, 'revoked'],
  ];
  for (const [revoked_at, expiration_date, fault] of rows)
    it(`revoked at ${revoked_at} and good until ${expiration_date} is ${fault ?? 'usable'}`, () => {
      const row = rowWith({}, { revoked_at, expiration_date });
      assert.deepEqual([faultOf(row, now), isUsable(row, now)], [fault, fault === null]);
    });

  it('that is no access key sees nothing of a vault', () => {
    for (const kind of ['api-key', 'public-token', 'secret-id'])
      assert.equal(credentialOf(rowWith({}, { kind })).reader, null);
  });

  it('is admitted from everywhere unless it names ranges, and then from those alone', () => {
    for (const cidrs of [undefined, null])
      assert.ok(credentialOf(rowWith({ cidrs } as Restrictions)).admits('192.0.2.1'));
    const { admits } = credentialOf(rowWith({ cidrs: ['10.0.0.0/8'] }));
    assert.deepEqual([admits('10.1.2.3'), admits('192.0.2.1'), admits('nowhere')], [true, false, false]);
  });

  const whole: Reader = {
    kind: 'access-key',
    id: 'id',
    name: 'CI Key',
    organizationId: 'org',
    vaultId: 'vault',
    kinds: null,
    names: [],
    namesOnly: false,
    mayUse: false,
    operations: null,
    cidrs: null,
    rateLimit: null,
    maxUses: null,
    expirationDate: null,
    parentName: null,
    countedAs: 'id',
    givenBy: 'id',
    byOAuth: false,
    run: null,
    narrowing: null,
    view: '',
  };
  it('is left those operations with keys that it had and every restriction names, and never more', () => {
    const left = (said: Partial<Reader>, ...restrictions: object[]) =>
      restrictedReader({ ...whole, ...said }, { id: 'n', restrictions } as never).operations;
    const both = { operations: ['sign', 'verify'] } as const;
    assert.equal(left({}, { names_only: true }), null);
    assert.deepEqual(left({}, { operations: ['verify', 'sign'] }), ['verify']);
    assert.deepEqual(left({ namesOnly: true }, { operations: ['verify'] }), []);
    assert.deepEqual(left(both, { operations: ['sign', 'decrypt'] }), ['sign']);
    assert.deepEqual(left(both, { operations: ['sign'] }, { operations: ['verify'] }), []);
    assert.deepEqual(left({ ...both, mayUse: true }, { may_use: false }), ['verify']);
  });

  const full: Restrictions = {
    kinds: ['secret', 'key'],
    names: ['A_*', 'B'],
    names_only: true,
    may_use: true,
    cidrs: ['10.0.0.0/8'],
    rate_limit: 5,
    grant: 'grant',
  };

  it('sees all of its vault where nothing restricts it', () => {
    assert.deepEqual(credentialOf(rowWith()).reader, whole);
    assert.deepEqual(credentialOf(rowWith({ names: null, cidrs: null, kinds: null })).reader, whole);
  });

  it('sees what its record leaves', () => {
    const row = rowWith(full, { max_uses: 3, expiration_date: later, identity_id: 'identity' });
    assert.deepEqual(credentialOf(row).reader, {
      ...whole,
      kinds: ['secret', 'key'],
      names: [['A_*', 'B']],
      namesOnly: true,
      mayUse: true,
      cidrs: ['10.0.0.0/8'],
      rateLimit: 5,
      maxUses: 3,
      expirationDate: later,
      givenBy: 'grant',
      byOAuth: true,
      view: '[["secret","key"],["A_*","B"],true]',
    });
    const { reader } = credentialOf(rowWith({}, { identity_id: 'identity' }));
    assert.deepEqual([reader!.givenBy, reader!.byOAuth], ['identity', false]);
  });

  it('made by another has its own name, end and uses, and all else of that one', () => {
    const parent = credentialOf(rowWith(full)).reader!;
    const own = { ...whole, id: 'child', name: 'Child', maxUses: 1, expirationDate: later };
    assert.deepEqual(childReader(own, parent), {
      ...parent,
      id: 'child',
      name: 'Child',
      maxUses: 1,
      expirationDate: later,
      parentName: 'CI Key',
    });
  });

  const views: [Restrictions, string][] = [
    [{}, ''],
    [{ kinds: ['key'] }, '[["key"],null,false]'],
    [{ names: ['A'] }, '[null,["A"],false]'],
    [{ names: ['A', 'B'] }, '[null,["A","B"],false]'],
    [{ names_only: true }, '[null,null,true]'],
  ];
  for (const [narrowing, view] of views)
    it(`restricted to ${JSON.stringify(narrowing)} has the view that it always had`, () => {
      assert.equal(credentialOf(rowWith(narrowing)).reader!.view, view);
    });
});

describe('a restricted access key', () => {
  const soon = new Date(later).toISOString();
  const afterwards = new Date(later + 1).toISOString();
  const restrict = (
    narrowing: Restrictions,
    restrictions: Restriction[],
    members: Partial<CredentialRow> = {},
  ) => restricted(credentialOf(rowWith(narrowing, members)), { id: 'narrowing', restrictions });
  const seen = (narrowing: Restrictions, ...restrictions: Restriction[]) => {
    const { kinds, names, namesOnly, mayUse, view } = restrict(narrowing, restrictions).reader!;
    return { kinds, names, namesOnly, mayUse, view };
  };
  const all = { kinds: null, names: [], namesOnly: false, mayUse: false, view: '' };

  const rows: [string, Restrictions, Restriction[], Partial<typeof all> | object][] = [
    ['by no member sees what it saw', {}, [{ expiration_date: soon }], {}],
    [
      'to kinds, where it had all, sees these',
      {},
      [{ kinds: ['key'] }],
      { kinds: ['key'], view: '[["key"],null,false]' },
    ],
    [
      'to kinds sees those that it had before',
      { kinds: ['secret', 'key'] },
      [{ kinds: ['key', 'certificate'] }],
      { kinds: ['key'], view: '[["key"],null,false]' },
    ],
    [
      'to kinds twice sees those that are in both',
      {},
      [{ kinds: ['key', 'secret'] }, { names_only: true }, { kinds: ['secret'] }],
      { kinds: ['secret'], namesOnly: true, view: '[["secret"],null,true]' },
    ],
    [
      'to names takes one of each list',
      { names: ['A_*'] },
      [{ names: ['*_B'] }, { kinds: ['key'] }],
      { kinds: ['key'], names: [['A_*'], ['*_B']], view: '[["key"],[["A_*"],["*_B"]],false]' },
    ],
    [
      'that saw names only still does',
      { names_only: true, may_use: true },
      [{ names: ['A'] }],
      { names: [['A']], namesOnly: true, mayUse: true, view: '[null,["A"],true]' },
    ],
    [
      'to use nothing uses nothing',
      { may_use: true },
      [{ kinds: ['key'] }, { may_use: false }],
      {
        kinds: ['key'],
        view: '[["key"],null,false]',
      },
    ],
    [
      'that could use nothing can’t by a restriction',
      {},
      [{ names_only: true }],
      {
        namesOnly: true,
        view: '[null,null,true]',
      },
    ],
    [
      'that could use what it sees still can',
      { may_use: true },
      [{ expiration_date: soon }],
      { mayUse: true },
    ],
  ];
  for (const [what, narrowing, restrictions, expected] of rows)
    it(what, () => assert.deepEqual(seen(narrowing, ...restrictions), { ...all, ...expected }));

  const ends: [number | null, Restriction[], number, number | null][] = [
    [null, [{ names_only: true }], Number.POSITIVE_INFINITY, null],
    [now, [{ names_only: true }], Number.POSITIVE_INFINITY, now],
    [null, [{ expiration_date: soon }], later, later],
    [now, [{ expiration_date: soon }], later, now],
    [later + 1, [{ expiration_date: soon }], later, later],
    [null, [{ expiration_date: afterwards }, { expiration_date: soon }], later, later],
    [null, [{ expiration_date: soon }, { expiration_date: afterwards }], later, later],
  ];
  for (const [own, restrictions, end, shown] of ends)
    it(`until ${own} and by ${JSON.stringify(restrictions)} ends at the first of these`, () => {
      const credential = restrict({}, restrictions, { expiration_date: own });
      assert.deepEqual([credential.end, credential.reader!.expirationDate], [end, shown]);
    });

  it('is admitted from where each of its lists admits it', () => {
    const from = { cidrs: ['10.0.0.0/8'] };
    const { admits } = restrict(from, [{ cidrs: ['10.1.0.0/16', '192.0.2.0/24'] }, { names_only: true }]);
    assert.deepEqual(['10.1.0.1', '10.2.0.1', '192.0.2.1'].map(admits), [true, false, false]);
    const twice = restrict({}, [{ cidrs: ['10.0.0.0/8'] }, { cidrs: ['10.1.0.0/16'] }]);
    assert.deepEqual(['10.1.0.1', '10.2.0.1'].map(twice.admits), [true, false]);
    assert.ok(restrict({}, [{ names_only: true }]).admits('192.0.2.1'));
  });

  it('is asked for no more by OAuth, and says what it was restricted to and from', () => {
    const from = credentialOf(rowWith({ grant: 'grant' }));
    const narrowing = { id: 'narrowing', restrictions: [{ names_only: true as const }] };
    const credential = restricted(from, narrowing);
    assert.equal(credential.restrictedFrom, from);
    assert.equal(credential.reader!.narrowing, narrowing);
    assert.deepEqual([credential.reader!.byOAuth, from.restrictedFrom, from.end], [false, null, Infinity]);
  });
});

describe('what is shown', () => {
  const common = {
    id: 'id',
    name: 'CI Key',
    expiration_date: null,
    last_used_at: null,
    created_by: 'maker',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  };

  it('of an API key is its role, its restrictions and whose it is', () => {
    const show = (narrowing: Restrictions) => presentApiKey(rowWith(narrowing, { role: 'viewer' }));
    const least = { ...common, role: 'viewer', scopes: null, vault_ids: null, member_id: null };
    assert.deepEqual(show({}), least);
    assert.deepEqual(show({ scopes: [], vault_ids: [] }), { ...least, scopes: [], vault_ids: [] });
    const given: Restrictions = { scopes: ['secrets:read'], vault_ids: ['v'], maker: 'member' };
    assert.deepEqual(show(given), {
      ...least,
      scopes: ['secrets:read'],
      vault_ids: ['v'],
      member_id: 'member',
    });
    assert.equal(show({ login: { member_id: 'signed in', epoch: 1 } }).member_id, 'signed in');
  });

  it('of an access key is each of its restrictions, and null for none', () => {
    const least = {
      ...common,
      vault_id: 'vault',
      kinds: null,
      names: null,
      names_only: false,
      may_use: false,
      operations: null,
      cidrs: null,
      max_uses: null,
      uses: 0,
      rate_limit: null,
      identity_id: null,
    };
    assert.deepEqual(presentAccessKey(rowWith()), least);
    const narrowing = {
      kinds: ['key'],
      names: ['A'],
      names_only: true,
      may_use: true,
      operations: null,
      cidrs: ['10.0.0.0/8'],
      rate_limit: 5,
    } as const;
    const row = rowWith(narrowing, { max_uses: 3, uses: 2, identity_id: 'identity' });
    const more = { ...narrowing, max_uses: 3, uses: 2, identity_id: 'identity' };
    assert.deepEqual(presentAccessKey(row), { ...least, ...more });
  });

  it('of a public token is the key that it opens', () => {
    const row = rowWith({}, { key_id: 'key', expiration_date: now, last_used_at: now });
    const dates = { expiration_date: common.created_at, last_used_at: common.created_at };
    assert.deepEqual(presentPublicToken(row), { ...common, ...dates, key_id: 'key', vault_id: 'vault' });
  });
});
