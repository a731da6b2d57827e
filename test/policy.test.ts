import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addressSet, isCidr, plainAddress } from '../src/access/address.ts';
import {
  type Caller,
  type Reader,
  readerSeesKind,
  readerSeesName,
  resourceKinds,
  unstored,
} from '../src/access/caller.ts';
import {
  type Action,
  actions,
  allowsUntil,
  earliest,
  endOfAll,
  type Grant,
  type GrantedRole,
  allows as granted,
  grantOfRole,
  holds,
  mayGrant,
  type Role,
  resourceReads,
  roleAllows,
  roles,
  vaultsAllowing,
} from '../src/access/policy.ts';
import { grantedRoleNames, vaultPermissions } from '../src/contract/names.ts';

const vaults = ['v1', 'v2', 'v3'];
interface Target {
  readonly organizationId: string;
  readonly vaultId?: string | undefined;
}
const vaultRole = fc.record({
  role: fc.constantFrom(...grantedRoleNames),
  until: fc.constantFrom(null, 1, 2),
});
const vaultRoles = fc
  .array(fc.tuple(fc.constantFrom(...vaults), fc.array(vaultRole, { minLength: 1, maxLength: 3 })), {
    maxLength: 3,
  })
  .map(pairs => new Map(pairs));
const plainGrant = fc.record({
  role: fc.constantFrom(...roles),
  vaultRoles,
  scopes: fc.option(fc.subarray([...actions])),
  vaultIds: fc.option(fc.subarray(vaults)),
  until: fc.constantFrom(null, 1, 2),
  within: fc.constant(null),
});
const grant: fc.Arbitrary<Grant> = fc
  .tuple(plainGrant, fc.option(plainGrant))
  .map(([own, within]) => ({ ...own, within }));
const action = fc.constantFrom(...actions);
const target = fc.record({
  organizationId: fc.constantFrom('o1', 'o2'),
  vaultId: fc.constantFrom('v1', 'v2', 'v3', 'v4', undefined),
});
const origin = { address: '127.0.0.1', requestId: '', userAgent: '' };
const callerWith = (given: Grant): Caller => ({
  ...given,
  kind: 'api-key',
  id: 'c',
  name: 'c',
  organizationId: 'o1',
  origin,
  proof: unstored,
});
/** As the guard decides. */
const allows = (caller: Caller, action: Action, { organizationId, vaultId }: Target) =>
  caller.organizationId === organizationId && granted(caller, action, vaultId);
const everywhere = [...vaults, 'v4', undefined].map(vaultId => ({ organizationId: 'o1', vaultId }));

describe('policy', () => {
  it('the table says what it says: managing is not reading, reading about is not revealing', () => {
    assert.ok(actions.every(one => roleAllows('owner', one)));
    assert.deepEqual(
      actions.filter(one => !roleAllows('admin', one)),
      // Whoever says what a value is used for could have it sent to themselves, or certify themselves as anybody.
      [
        'secrets:reveal',
        'keys:reveal',
        'keys:use',
        'issuers:write',
        'authorities:write',
        'profiles:write',
        'use-rules:write',
        'approvals:write',
        'proposals:bypass',
      ],
    );
    const can = (role: Role, ...wanted: Action[]) => wanted.every(one => roleAllows(role, one));
    assert.ok(can('editor', 'secrets:write', 'secrets:reveal', 'access-keys:write'));
    assert.ok(
      !can('editor', 'api-keys:write') && !can('editor', 'members:write') && !can('editor', 'logs:read'),
    );
    assert.ok(actions.every(one => !roleAllows('viewer', one) || one.endsWith(':read')));
    assert.ok(!can('viewer', 'logs:read'));
    assert.deepEqual(
      actions.filter(one => roleAllows('auditor', one)),
      actions.filter(one => one.endsWith(':read')),
    );
  });

  it('a reader reveals and changes nothing; a writer changes what is in a vault and nothing else, and reveals nothing', () => {
    const beyond = (role: Role) =>
      actions.filter(one => roleAllows(role, one) && !roleAllows('viewer', one)).sort();
    assert.deepEqual(beyond('reader'), ['keys:reveal', 'keys:use', 'secrets:reveal']);
    assert.deepEqual(beyond('writer'), [
      'certificates:write',
      'keys:write',
      'proposals:write',
      'secrets:write',
    ]);
    for (const role of ['reader', 'writer'] as const)
      assert.ok(
        actions.every(one => !roleAllows(role, one) || roleAllows('editor', one)),
        role,
      );
  });

  it('a role that this version doesn’t know allows nothing, in the organization or in a vault', () => {
    for (const role of ['steward', 'Reader', 'reader ', 'editor until 2030-01-01T00:00:00.000Z']) {
      const given = {
        ...grantOfRole(role as Role),
        vaultRoles: new Map([['v1', [{ role: role as GrantedRole, until: null }]]]),
      };
      for (const one of actions) assert.ok(!holds(given, one) && !granted(given, one, 'v1'), one);
    }
  });

  it('another organization is never allowed anything', () => {
    fc.assert(
      fc.property(grant, action, (given, action) => {
        assert.ok(!allows(callerWith(given), action, { organizationId: 'o2', vaultId: 'v1' }));
      }),
    );
  });

  it('narrower never allows more: fewer scopes, fewer vaults', () => {
    fc.assert(
      fc.property(
        grant,
        fc.subarray([...actions]),
        fc.subarray(vaults),
        action,
        target,
        (given, scopes, vaultIds, action, target) => {
          const narrower = callerWith({
            ...given,
            scopes: (given.scopes ?? [...actions]).filter(scope => scopes.includes(scope)),
            vaultIds: (given.vaultIds ?? vaults).filter(id => vaultIds.includes(id)),
          });
          if (allows(narrower, action, target)) assert.ok(allows(callerWith(given), action, target));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('whoever is given vaults reaches those, and nothing of the organization as a whole', () => {
    fc.assert(
      fc.property(grant, action, target, (given, action, target) => {
        fc.pre(given.vaultIds !== null);
        if (!allows(callerWith(given), action, target)) return;
        assert.ok(target.vaultId !== undefined && given.vaultIds!.includes(target.vaultId));
      }),
    );
  });

  it('a role in a vault adds to that in the organization, and gives nothing that belongs to no vault', () => {
    fc.assert(
      fc.property(grant, vaultRoles, action, target, (given, more, action, target) => {
        const before = allows(callerWith({ ...given, vaultRoles: new Map() }), action, target);
        const after = allows(callerWith({ ...given, vaultRoles: more }), action, target);
        assert.ok(after || !before, 'nothing is taken away');
        if (before || !after) return;
        assert.ok(target.vaultId !== undefined && Object.hasOwn(vaultPermissions, action));
        assert.ok(more.get(target.vaultId)!.some(({ role }) => roleAllows(role, action)));
      }),
      { numRuns: 2000 },
    );
  });

  it('what is within another never has more than that one', () => {
    fc.assert(
      fc.property(grant, grant, action, target, (given, within, action, target) => {
        const inner = callerWith({ ...given, within });
        if (!allows(inner, action, target)) return;
        assert.ok(allows(callerWith({ ...given, within: null }), action, target));
        assert.ok(allows(callerWith(within), action, target));
      }),
      { numRuns: 2000 },
    );
  });

  it('where something is allowed is said in one list, which agrees with every single answer', () => {
    fc.assert(
      fc.property(grant, fc.subarray([...actions], { minLength: 1, maxLength: 4 }), (given, wanted) => {
        const list = vaultsAllowing(given, ...wanted);
        for (const vaultId of [...vaults, 'v4', undefined]) {
          const isListed = list === null || (vaultId !== undefined && list.includes(vaultId));
          assert.equal(
            isListed,
            wanted.every(action => granted(given, action, vaultId)),
            `${vaultId}`,
          );
        }
        assert.equal(holds(given, wanted[0]!), vaultsAllowing(given, wanted[0]!)?.length !== 0);
      }),
      { numRuns: 3000 },
    );
  });

  it('whoever may read one type may read all of them, so that no list of all types shows more than it should', () => {
    for (const role of roles)
      assert.equal(new Set(resourceReads.map(action => roleAllows(role, action))).size, 1, role);
  });

  it('a member with the role none may know who they are, and nothing else', () => {
    assert.deepEqual(
      actions.filter(one => roleAllows('none', one)),
      ['organization:read'],
    );
  });

  it('nobody grants more than they have: every action of what is granted is the maker’s, wherever it is aimed', () => {
    let granted = 0;
    fc.assert(
      fc.property(grant, grant, (maker, wanted) => {
        if (!mayGrant(maker, wanted)) return;
        granted++;
        const pairs = actions.flatMap(action => everywhere.map(target => ({ action, target })));
        for (const { action, target } of pairs) {
          if (!allows(callerWith(wanted), action, target)) continue;
          assert.ok(allows(callerWith(maker), action, target));
          const end = earliest(wanted.until, endOfAll(wanted, [action], target.vaultId ?? ''));
          assert.ok(allowsUntil(maker, action, end, target.vaultId), 'for as long as it is given');
        }
      }),
      { numRuns: 2000 },
    );
    assert.ok(granted > 20, 'the property was tried on grants that pass');
  });

  it('a role in a vault is given on until it ends, and no longer', () => {
    const inVault = (until: number | null, whole: number | null = null): Grant => ({
      ...grantOfRole('none', whole),
      vaultRoles: new Map([['v1', [{ role: 'editor', until }]]]),
    });
    for (const until of [1, 2]) assert.ok(mayGrant(inVault(2), inVault(until)));
    assert.ok(mayGrant(inVault(2), inVault(null, 2)), 'what ends as a whole');
    assert.ok(mayGrant(inVault(null), inVault(null)));
    for (const until of [3, null]) assert.ok(!mayGrant(inVault(2), inVault(until)));
    assert.ok(!mayGrant(inVault(2), inVault(null, 3)));
  });

  it('grants chain: what a grantee may grant, their maker may too', () => {
    fc.assert(
      fc.property(grant, grant, grant, (first, second, third) => {
        if (mayGrant(first, second) && mayGrant(second, third)) assert.ok(mayGrant(first, third));
      }),
      { numRuns: 2000 },
    );
  });

  it('an owner may grant everything; an admin can grant no reveal, not even through an owner', () => {
    const all = grantOfRole;
    for (const role of roles) assert.ok(mayGrant(all('owner'), all(role)));
    assert.ok(!mayGrant(all('admin'), all('owner')) && !mayGrant(all('admin'), all('editor')));
    assert.ok(mayGrant(all('admin'), { ...all('owner'), scopes: ['secrets:read'] }));
    assert.ok(!mayGrant({ ...all('owner'), vaultIds: ['v1'] }, all('viewer')));
    for (const until of [null, 3])
      assert.ok(!mayGrant({ ...all('owner'), until: 2 }, { ...all('viewer'), until }));
    for (const until of [1, 2])
      assert.ok(mayGrant({ ...all('owner'), until: 2 }, { ...all('viewer'), until }));
    assert.ok(!mayGrant({ ...all('owner'), vaultIds: ['v1'] }, { ...all('viewer'), vaultIds: ['v1', 'v2'] }));
  });

  it('a role or scope in another case, with spaces, or from the prototype, allows nothing', () => {
    for (const name of [
      'Owner',
      'OWNER',
      'owner ',
      ' owner',
      'oWner',
      'constructor',
      '__proto__',
      'toString',
      '',
    ]) {
      const caller = callerWith(grantOfRole(name as Role));
      for (const action of actions) {
        assert.ok(!allows(caller, action, { organizationId: 'o1' }), `${name} ${action}`);
        assert.ok(!holds({ ...grantOfRole('owner'), scopes: [action.toUpperCase() as Action] }, action));
      }
    }
    for (const name of ['Secrets:read', 'secrets:READ', 'secrets:*', '*', 'secrets:read ', 'constructor']) {
      assert.ok(!holds(grantOfRole('owner'), name as Action));
    }
  });
});

describe('an access key’s narrowings', () => {
  const reader = (names: string[] | null): Reader =>
    ({ kinds: null, names: names === null ? [] : [names] }) as unknown as Reader;
  const sees = (pattern: string, name: string) => readerSeesName(reader([pattern]), name);

  it('a pattern is a name with stars, and nothing else', () => {
    assert.ok(sees('DB_*', 'DB_URL') && sees('DB_*', 'DB_') && sees('*', '') && sees('*_KEY', 'A_KEY'));
    assert.ok(sees('a*b*c', 'aXbYc') && sees('a*b*c', 'abc') && !sees('a*b*c', 'acb'));
    assert.ok(!sees('DB_*', 'db_url') && !sees('DB', 'DB_URL') && !sees('a*a', 'a') && sees('a*a', 'aa'));
    assert.ok(!sees('ab*ba', 'aba'));
  });

  it('characters that mean something elsewhere mean themselves: . + ? / [ ] ( ) ^ $ % _ \\', () => {
    for (const sign of [
      '.',
      '+',
      '?',
      '/',
      '[a]',
      '(a)',
      '^',
      '$',
      '%',
      '_',
      '\\',
      '{1}',
      '|',
      '**'.slice(2),
    ]) {
      const pattern = `a${sign}b`;
      assert.ok(sees(pattern, pattern));
      for (const other of ['aXb', 'ab', 'aab', 'aXXb', 'a/b/c', '']) {
        if (other !== pattern) assert.ok(!sees(pattern, other), `${pattern} saw ${other}`);
      }
    }
  });

  it('*, + and / in a resource’s name never widen what a key sees', () => {
    for (const name of ['*', 'DB_*', '+', 'a/b', '/', 'DB_/../X']) {
      assert.ok(!sees('OTHER', name));
      assert.ok(!sees('OTHER_*', name));
    }
  });

  it('agrees with a plain definition of matching', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const plain = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
    const matches = (pattern: string, name: string): boolean => {
      if (pattern === '') return name === '';
      if (pattern[0] !== '*') return name[0] === pattern[0] && matches(pattern.slice(1), name.slice(1));
      return matches(pattern.slice(1), name) || (name !== '' && matches(pattern, name.slice(1)));
    };
    fc.assert(
      fc.property(letters, plain, (pattern, name) =>
        assert.equal(sees(pattern, name), matches(pattern, name)),
      ),
      { numRuns: 3000 },
    );
  });

  it('ends, whatever a pattern’s author thought of: what goes back for every star would not', () => {
    for (let turn = 0; turn < 200; turn++) assert.ok(!sees(`${'*a'.repeat(120)}*b`, 'a'.repeat(255)));
  });

  it('more patterns see more, null sees all, and kinds are what they say', () => {
    assert.ok(readerSeesName(reader(null), 'x') && !readerSeesName(reader([]), 'x'));
    for (const kind of resourceKinds) {
      assert.ok(readerSeesKind({ kinds: [kind] } as unknown as Reader, kind));
      assert.ok(
        !readerSeesKind({ kinds: resourceKinds.filter(one => one !== kind) } as unknown as Reader, kind),
      );
      assert.ok(readerSeesKind({ kinds: null } as unknown as Reader, kind));
    }
  });
});

describe('addresses', () => {
  it('an IPv4 address written as IPv6 is the IPv4 address', () => {
    assert.equal(plainAddress('::ffff:10.0.0.1'), '10.0.0.1');
    const inside = addressSet(['10.0.0.0/8', '2001:db8::/32']);
    assert.ok(inside('10.1.2.3') && inside('::ffff:10.1.2.3') && inside('2001:db8::1'));
    assert.ok(!inside('11.0.0.1') && !inside('2001:db9::1') && !inside('') && !inside('10.0.0.1, 1.2.3.4'));
  });

  it('a range is an address, a slash and a length', () => {
    for (const good of ['10.0.0.0/8', '0.0.0.0/0', '::/0', '1.2.3.4/32', '2001:db8::/128'])
      assert.ok(isCidr(good));
    for (const bad of [
      '',
      '10.0.0.0',
      '10.0.0.0/33',
      '::/129',
      '10.0.0/8',
      '10.0.0.0/8/8',
      'x/8',
      '10.0.0.0/-1',
      '10.0.0.0/ 8',
    ]) {
      assert.ok(!isCidr(bad), bad);
    }
  });

  it('a range written as IPv4 in IPv6 holds the IPv4 addresses of it', () => {
    const inside = addressSet(['::ffff:10.0.0.0/104']);
    assert.ok(inside('10.1.2.3') && !inside('11.1.2.3'));
  });
});
