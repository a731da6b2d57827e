/** What a delete, a purge and a restore leave of a resource and of what was counted, and vaults themselves: row by row, in the domain alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { type DomainWorld, openDomain } from './domain-world.ts';
import { refusalOf } from './refusal-of.ts';

const missing = 'NOT_FOUND: Resource not found';
const page = { page: 1, limit: 100 };
const day = 24 * 3_600_000;

let world: DomainWorld;
let count = 0;
before(async () => {
  world = await openDomain();
});
after(() => world.close());

const by = (more: Partial<Caller>): Caller => ({ ...world.operator, ...more });
const newName = () => `N${++count}`;
const newVault = async (more: object = {}) =>
  (await world.domain.vaults.create(world.operator, { name: newName(), ...more })).id;
const secretIn = async (vault_id: string, more: object = {}) =>
  (await world.domain.secrets.create(world.operator, { vault_id, name: newName(), value: 'x', ...more })).id;
const restore = (id: string, caller = world.operator) => world.domain.resources.restore(caller, id);
const remove = (id: string, purge = false) => world.domain.resources.remove(world.operator, id, purge);
const eventsOf = (id: string) =>
  world.sql('SELECT type FROM events WHERE resource_id = ? ORDER BY id', id).map(({ type }) => type);
const totals = async () => [
  (await world.domain.secrets.list(world.operator, page)).pagination.total,
  (await world.domain.vaults.list(world.operator, page)).pagination.total,
];
const numberOf = (table: string, where: string, id: string) =>
  world.sql(`SELECT count(*) AS number FROM ${table} WHERE ${where} = ?`, id)[0]!.number;

/** A rule for its use, which goes with what it is for. */
const ruleFor = (secret_id: string) =>
  world.domain.useRules.create(world.operator, {
    secret_id,
    name: newName(),
    hosts: ['example.org'],
    methods: ['GET'],
    paths: ['/**'],
    place: { type: 'bearer' },
    approval: 'never',
  } as never);

describe('a secret that is deleted', () => {
  it('is out of sight and out of the counts, and comes back with both', async () => {
    const vault = await newVault();
    const [id] = [await secretIn(vault, { tags: { a: 'b' } }), await secretIn(vault)];
    const [secrets, vaults] = await totals();
    await remove(id);
    assert.equal((await world.audits(1))[0]!.action, 'secret.deleted');
    assert.deepEqual(await totals(), [Number(secrets) - 1, vaults]);
    assert.equal(await refusalOf(world.domain.secrets.get(world.operator, id)), missing);
    assert.equal(await refusalOf(remove(id)), missing, 'it is deleted once');
    const deleted = { ...page, state: 'deleted' } as never;
    assert.equal((await world.domain.secrets.list(world.operator, deleted)).data.length, 1);
    const restored = await restore(id);
    assert.deepEqual([restored.deleted_at, restored.tags], [null, { a: 'b' }]);
    assert.deepEqual(await totals(), [secrets, vaults]);
    assert.equal(await refusalOf(restore(id)), missing, 'what is there is not restored');
    assert.deepEqual(eventsOf(id), ['resource.created', 'resource.deleted', 'resource.updated']);
  });

  it('is restored for thirty days', async () => {
    const vault = await newVault();
    const [one, two] = [await secretIn(vault), await secretIn(vault)];
    for (const id of [one, two]) await remove(id);
    world.pass(30 * day - 1);
    await restore(one);
    world.pass(1);
    assert.equal(await refusalOf(restore(two)), missing);
  });

  it('is restored by callers who could read it, where access keys can', async () => {
    const vault = await newVault();
    const id = await secretIn(vault);
    await remove(id);
    await world.domain.accessKeys.create(world.operator, { vault_id: vault, name: 'reader' });
    const writer = by({ scopes: ['secrets:write', 'secrets:read'] });
    assert.match(await refusalOf(restore(id, writer)), /^FORBIDDEN: Existing access keys could then read/);
    await restore(id);
  });

  it('for good takes its rules and its kept answers along, from the trash without another event', async () => {
    for (const isInTrash of [false, true]) {
      const vault = await newVault();
      const [id, other] = [await secretIn(vault), await secretIn(vault)];
      await ruleFor(id);
      await ruleFor(other);
      world.sql(
        "INSERT INTO kept_answers (vault_id, answer, sealed, read_at) VALUES (?, '', x'00', 0)",
        vault,
      );
      const [secrets, vaults] = await totals();
      if (isInTrash) await remove(id);
      await remove(id, true);
      assert.equal((await world.audits(1))[0]!.action, 'secret.purged');
      assert.deepEqual(await totals(), [Number(secrets) - 1, vaults]);
      assert.deepEqual(eventsOf(id), ['resource.created', 'resource.deleted']);
      assert.equal(numberOf('resources', 'id', id), 0);
      assert.deepEqual(
        [numberOf('use_rules', 'resource_id', id), numberOf('use_rules', 'resource_id', other)],
        [0, 1],
      );
      assert.equal(numberOf('kept_answers', 'vault_id', vault), 0);
      assert.equal(await refusalOf(restore(id)), missing);
    }
  });
});

describe('a vault that is deleted', () => {
  it('takes what is in it out of the counts, and brings it back', async () => {
    const vault = await newVault({ description: 'kept' });
    const id = await secretIn(vault, { tags: { a: 'b' } });
    await secretIn(vault);
    const [secrets, vaults] = await totals();
    await remove(vault);
    assert.equal((await world.audits(1))[0]!.action, 'vault.deleted');
    assert.deepEqual(await totals(), [Number(secrets) - 2, Number(vaults) - 1]);
    assert.equal(await refusalOf(world.domain.secrets.reveal(world.operator, id, undefined)), missing);
    const deleted = { ...page, state: 'deleted' } as never;
    const [shown] = (await world.domain.vaults.list(world.operator, deleted)).data;
    assert.equal(shown?.description, 'kept');
    await restore(vault);
    assert.deepEqual(await totals(), [secrets, vaults]);
    assert.ok(await world.domain.secrets.reveal(world.operator, id, undefined));
  });

  it('for good takes all along that is in it', async () => {
    for (const isInTrash of [false, true]) {
      const vault = await newVault();
      const id = await secretIn(vault);
      await ruleFor(id);
      const [secrets, vaults] = await totals();
      if (isInTrash) await remove(vault);
      await remove(vault, true);
      assert.equal((await world.audits(1))[0]!.action, 'vault.purged');
      assert.deepEqual(await totals(), [Number(secrets) - 1, Number(vaults) - 1]);
      assert.deepEqual(
        [
          numberOf('resources', 'vault_id', vault),
          numberOf('versions', 'resource_id', id),
          numberOf('use_rules', 'resource_id', id),
        ],
        [0, 0, 0],
      );
    }
  });
});

describe('a vault', () => {
  it('has no description and no tags where nothing is said', async () => {
    const { description, tags } = await world.domain.vaults.create(world.operator, { name: newName() });
    assert.deepEqual([description, tags], ['', {}]);
    const whole = { name: newName(), description: 'd', tags: { a: 'b' } };
    const made = await world.domain.vaults.create(world.operator, whole);
    assert.deepEqual([made.description, made.tags], ['d', { a: 'b' }]);
    const renamed = await world.domain.vaults.update(world.operator, made.id, { name: newName() });
    assert.deepEqual([renamed.description, renamed.tags], ['d', { a: 'b' }]);
  });

  it('is renamed by callers who know of all vaults, and otherwise changed by those who are given it', async () => {
    const name = newName();
    const { id } = await world.domain.vaults.create(world.operator, { name });
    const given = by({ vaultIds: [id] });
    const update = (body: object, caller = given) => refusalOf(world.domain.vaults.update(caller, id, body));
    const refused = 'FORBIDDEN: Renaming a vault requires a role in the organization';
    assert.equal(await update({ name: newName() }), refused);
    assert.equal(await update({ name: newName(), description: 'x' }), refused);
    for (const body of [{ name }, { description: 'x' }, { name, description: 'y' }, {}])
      assert.equal(await update(body), 'done', JSON.stringify(body));
    assert.equal(await update({ name: newName() }, world.operator), 'done');
  });

  it('is counted for those who may see it, by what they may read', async () => {
    const [one, two] = [await newVault(), await newVault()];
    await secretIn(one);
    await secretIn(one);
    const generate = { key_type: 'EC', curve: 'P-256' } as const;
    await world.domain.keys.create(world.operator, { vault_id: one, name: newName(), generate });
    await secretIn(two);
    const counts = async (ids?: string[], caller = world.operator) =>
      new Map(
        (await world.domain.vaults.counts(caller, ids)).data.map(
          ({ vault_id, secrets, keys, certificates }) => [vault_id, [secrets, keys, certificates]],
        ),
      );
    assert.deepEqual(
      [...(await counts([one, two])).entries()].sort(),
      [
        [one, [2, 1, 0]],
        [two, [1, 0, 0]],
      ].sort(),
    );
    assert.deepEqual([...(await counts([two])).keys()], [two]);
    const all = await counts();
    assert.deepEqual(
      [all.get(one), all.get(two)],
      [
        [2, 1, 0],
        [1, 0, 0],
      ],
    );
    const given = by({ vaultIds: [one] });
    assert.deepEqual([...(await counts(undefined, given)).keys()], [one]);
    assert.deepEqual([...(await counts([one, two], given)).keys()], [one]);
    assert.deepEqual([...(await counts([two], given)).keys()], []);
    assert.deepEqual([...(await counts([], given)).keys()], []);
    const reader = by({ scopes: ['vaults:read', 'keys:read'] });
    assert.deepEqual((await counts([one], reader)).get(one), [null, 1, null]);
    assert.deepEqual((await counts([two], reader)).get(two), [null, 0, null]);
  });

  it('is one of a hundred that are counted', async () => {
    const ids = [];
    for (let at = 0; at < 101; at++) {
      ids.push(await newVault());
      await secretIn(ids[at]!);
    }
    assert.equal((await world.domain.vaults.counts(world.operator, ids)).data.length, 100);
  });
});
