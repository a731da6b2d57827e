/** What a grant gives, case by case and over every grant of a small world. Properties of random grants are in policy. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Action,
  actions,
  allows,
  type Grant,
  type GrantedRole,
  grantOfRole,
  holds,
  mayGrant,
  mayOffer,
  noVaultRoles,
  outlives,
  type Role,
  readsValue,
  resourceReads,
  resourceWrites,
  roleAllows,
  roles,
  seeing,
  shownByAccessKey,
  shownByEvents,
  shownByPublicHalf,
  type VaultRoles,
  vaultsAllowing,
} from '../src/access/policy.ts';
import { eventKinds, permissions, vaultPermissions } from '../src/contract/names.ts';

const places = ['v1', 'v2', undefined] as const;
const sample: Action[] = ['vaults:read', 'secrets:reveal', 'webhooks:write', 'organization:read'];

/** The contract in its plainest words: everything that takes away is asked, and then everything that gives. */
function isGiven(grant: Grant, action: Action, vault: string | undefined): boolean {
  const by = (role: Role) => (permissions[action] as readonly Role[]).includes(role);
  const isVaults = Object.keys(vaultPermissions).includes(action);
  const inVault = vault === undefined ? [] : (grant.vaultRoles.get(vault) ?? []);
  const taken = [
    grant.scopes !== null && !grant.scopes.includes(action),
    grant.vaultIds !== null && !grant.vaultIds.includes(vault ?? 'the organization'),
    grant.within !== null && !isGiven(grant.within, action, vault),
  ];
  const given = [by(grant.role), isVaults && inVault.some(one => by(one.role))];
  return !taken.includes(true) && given.includes(true);
}

/** Roles without an end. */
function inVaults(roles: Record<string, GrantedRole[]>, until: number | null = null): VaultRoles {
  return new Map(Object.entries(roles).map(([id, own]) => [id, own.map(role => ({ role, until }))]));
}

const someVaultRoles: VaultRoles[] = [
  noVaultRoles,
  inVaults({ v1: ['editor'] }),
  inVaults({ v1: ['viewer'], v2: ['admin', 'editor'] }),
];
const plain: Grant[] = (['owner', 'viewer', 'none'] as const).flatMap(role =>
  someVaultRoles.flatMap(vaultRoles =>
    [null, [], ['vaults:read', 'secrets:reveal'] as const].flatMap(scopes =>
      [null, [], ['v1'], ['v1', 'v2']].map(vaultIds => ({
        ...grantOfRole(role),
        vaultRoles,
        scopes,
        vaultIds,
      })),
    ),
  ),
);
const outer: (Grant | null)[] = [null, ...plain.filter((_, index) => index % 7 === 3)];
const world: Grant[] = plain.flatMap(own => outer.map(within => ({ ...own, within })));
/** Everything that a grant gives, in one comparable text. */
const everything = new Map(
  world.map(grant => [
    grant,
    new Set(
      actions.flatMap(action =>
        places.flatMap(vault => (isGiven(grant, action, vault) ? `${action} ${vault}` : [])),
      ),
    ),
  ]),
);

describe('a grant', () => {
  it('gives what its roles give and nothing takes away, in every grant of a small world', () => {
    for (const grant of world)
      for (const action of sample)
        for (const vault of places)
          assert.equal(
            allows(grant, action, vault),
            isGiven(grant, action, vault),
            JSON.stringify([grant, action, vault]),
          );
  });

  it('is told by the list of vaults where it gives all that is asked: null for everywhere', () => {
    const asked: Action[][] = [['vaults:read'], ['vaults:read', 'secrets:reveal'], ['webhooks:write']];
    for (const grant of world)
      for (const wanted of asked) {
        const given = (vault?: string) => wanted.every(action => isGiven(grant, action, vault));
        const listed = vaultsAllowing(grant, ...wanted);
        if (given()) assert.equal(listed, null);
        else assert.deepEqual([...listed!].sort(), ['v1', 'v2'].filter(given), JSON.stringify(grant));
      }
    assert.equal(vaultsAllowing(grantOfRole('none')), null, 'nothing is asked');
  });

  it('holds an action that it gives anywhere', () => {
    for (const grant of world)
      for (const action of sample)
        assert.equal(
          holds(grant, action),
          places.some(vault => isGiven(grant, action, vault)),
        );
  });

  it('is of a role alone without any restriction, and ends when it is said to', () => {
    const whole = { role: 'editor', vaultRoles: new Map(), scopes: null, vaultIds: null, within: null };
    assert.deepEqual(grantOfRole('editor'), { ...whole, until: null });
    assert.deepEqual(grantOfRole('editor', 5), { ...whole, until: 5 });
  });

  it('allows a role what the list says, and nothing that is not on it', () => {
    for (const role of roles)
      for (const action of actions)
        assert.equal(roleAllows(role, action), (permissions[action] as readonly Role[]).includes(role));
    for (const name of ['toString', 'secrets:*', ''])
      assert.equal(roleAllows('owner', name as Action), false);
  });
});

describe('whoever grants', () => {
  it('grants what they have themselves everywhere, and no action more', () => {
    const makers = world.filter((_, index) => index % 11 === 5);
    const wanted = world.filter((_, index) => index % 13 === 7);
    const answers = new Set<boolean>();
    for (const maker of makers)
      for (const grant of wanted) {
        const own = everything.get(maker)!;
        const isHad = [...everything.get(grant)!].every(one => own.has(one));
        assert.equal(mayGrant(maker, grant), isHad, JSON.stringify([maker, grant]));
        answers.add(isHad);
      }
    assert.equal(answers.size, 2);
  });

  const ends: [until: number | null, wanted: number | null, isLonger: boolean][] = [
    [null, null, false],
    [null, 5, false],
    [5, null, true],
    [5, 6, true],
    [5, 5, false],
    [5, 4, false],
  ];
  for (const [until, wanted, isLonger] of ends)
    it(`until ${until} ${isLonger ? 'does not reach' : 'reaches'} as far as ${wanted}`, () => {
      assert.equal(outlives({ until }, wanted), isLonger);
      assert.equal(mayGrant(grantOfRole('owner', until), grantOfRole('viewer', wanted)), !isLonger);
    });

  const offers: [maker: Partial<Grant>, role: Role, isOffered: boolean][] = [
    [{ role: 'owner' }, 'owner', true],
    [{ role: 'admin' }, 'owner', false],
    [{ role: 'admin' }, 'admin', true],
    [{ role: 'admin' }, 'auditor', true],
    [{ role: 'viewer' }, 'viewer', true],
    [{ role: 'viewer' }, 'editor', false],
    [{ role: 'viewer' }, 'none', true],
    [{ role: 'none' }, 'viewer', false],
    // Those of a vault are enough only where nothing else is had.
    [{ role: 'none', vaultRoles: inVaults({ v1: ['viewer'] }) }, 'viewer', true],
    [{ role: 'none', vaultRoles: inVaults({ v1: ['viewer'] }) }, 'editor', false],
    [{ role: 'none', vaultRoles: inVaults({ v1: ['owner'] }) }, 'owner', true],
    [{ role: 'viewer', vaultRoles: inVaults({ v1: ['owner'] }) }, 'editor', false],
    [{ role: 'viewer', vaultRoles: inVaults({ v1: ['owner'] }) }, 'viewer', true],
    [{ role: 'owner', scopes: ['secrets:read'] }, 'viewer', false],
  ];
  for (const [maker, role, isOffered] of offers)
    it(`${isOffered ? 'offers' : 'does not offer'} ${role} with ${JSON.stringify([maker.role, ...(maker.vaultRoles ?? [])])}`, () =>
      assert.equal(mayOffer({ ...grantOfRole('none'), ...maker }, role), isOffered));
});

describe('what is shown', () => {
  it('by the name of an action is what reading of its kind takes', () => {
    assert.equal(seeing('secrets:reveal'), 'secrets:read');
    assert.equal(seeing('access-keys:write'), 'access-keys:read');
    assert.equal(seeing('logs:read'), 'logs:read');
  });

  it('of every kind has its own reads and writes', () => {
    const kinds = ['vaults', 'secrets', 'keys', 'certificates'];
    assert.deepEqual(
      resourceReads,
      kinds.map(kind => `${kind}:read`),
    );
    assert.deepEqual(
      resourceWrites,
      kinds.map(kind => `${kind}:write`),
    );
    assert.deepEqual(readsValue, {
      secret: 'secrets:reveal',
      key: 'keys:reveal',
      certificate: 'certificates:read',
    });
    assert.deepEqual(shownByPublicHalf, ['keys:read']);
  });

  const names: Action[] = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];
  const values: Action[] = [...names, 'secrets:reveal', 'keys:reveal'];
  const keys: [shown: Parameters<typeof shownByAccessKey>[0], actions: Action[]][] = [
    [{ kinds: null, namesOnly: false, mayUse: false }, values],
    [{ kinds: null, namesOnly: false, mayUse: true }, values],
    [{ kinds: null, namesOnly: true, mayUse: true }, values],
    [{ kinds: null, namesOnly: true, mayUse: false }, names],
    [{ kinds: [], namesOnly: false, mayUse: false }, ['vaults:read']],
    [{ kinds: ['key'], namesOnly: false, mayUse: false }, ['vaults:read', 'keys:read', 'keys:reveal']],
    [{ kinds: ['key'], namesOnly: true, mayUse: false }, ['vaults:read', 'keys:read']],
    [{ kinds: ['certificate'], namesOnly: false, mayUse: false }, ['vaults:read', 'certificates:read']],
  ];
  for (const [shown, wanted] of keys)
    it(`by an access key with ${JSON.stringify(shown)} takes ${wanted.join(', ')}`, () =>
      assert.deepEqual([...new Set(shownByAccessKey(shown))].sort(), [...wanted].sort()));

  const told: Record<string, readonly Action[]> = {
    resource: resourceReads,
    access_key: ['access-keys:read'],
    approval: ['approvals:read'],
    role: ['members:read'],
    stage: ['vaults:read', 'secrets:read'],
    proposal: ['proposals:read', ...resourceReads],
    lease: ['leases:read'],
    run: ['runs:read'],
    secret: ['vaults:read', 'secrets:read'],
    rotation: ['vaults:read', 'secrets:read'],
    webhook: ['webhooks:read'],
  };
  for (const kind of eventKinds)
    it(`by ${kind} is what its subject takes`, () =>
      assert.deepEqual(shownByEvents([kind]), told[kind.split('.')[0]!]));
  it('by events of several subjects is what all of them take, and by none nothing', () => {
    assert.deepEqual(shownByEvents([...eventKinds].reverse()), Object.values(told).flat());
    assert.deepEqual(shownByEvents([]), []);
  });
});
