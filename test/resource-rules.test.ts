/** What is stored of secrets, keys and certificates, what a change leaves as it was, and what is refused: row by row, in the domain alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import type { Failure } from '../src/contract/errors.ts';
import { manySecretsWith } from '../src/domain/resources/many-secrets.ts';
import { type DomainWorld, minute, openDomain } from './domain-world.ts';
import { refusalOf } from './refusal-of.ts';

const missing = 'NOT_FOUND: Resource not found';
const page = { page: 1, limit: 100 };
const iso = (time: number) => new Date(time).toISOString();

let world: DomainWorld;
let vaultId: string;
let count = 0;
before(async () => {
  world = await openDomain();
  vaultId = await newVault();
});
after(() => world.close());

const by = (more: Partial<Caller>): Caller => ({ ...world.operator, ...more });
const newName = () => `N${++count}`;
const newVault = async (more: object = {}) =>
  (await world.domain.vaults.create(world.operator, { name: newName(), ...more })).id;
const secret = (more: object = {}) =>
  world.domain.secrets.create(world.operator, { vault_id: vaultId, name: newName(), value: 'x', ...more });
const reveal = async (id: string, version?: number) =>
  world.domain.secrets.reveal(world.operator, id, version);
const update = (id: string, body: object) => world.domain.secrets.update(world.operator, id, body);
const eventsOf = (id: string) =>
  world.sql('SELECT type FROM events WHERE resource_id = ? ORDER BY id', id).map(({ type }) => type);

describe('a secret', () => {
  it('is created as the body says, and plainly where it says nothing', async () => {
    const plain = await secret();
    const { content_type, tags, enabled, activation_date, expiration_date, version } = plain;
    assert.deepEqual(
      [content_type, tags, enabled, activation_date, expiration_date, version],
      ['text/plain', {}, true, null, null, 1],
    );
    const [first] = (await world.domain.secrets.versions(world.operator, plain.id, page)).data;
    assert.deepEqual([first!.content_type, first!.current], ['text/plain', true]);
    const [from, to] = [world.now() - 1, world.now() + minute];
    const whole = await secret({
      content_type: 'a/b',
      tags: { team: 'a' },
      enabled: false,
      activation_date: from,
      expiration_date: to,
    });
    assert.deepEqual(
      [whole.content_type, whole.tags, whole.enabled, whole.activation_date, whole.expiration_date],
      ['a/b', { team: 'a' }, false, iso(from), iso(to)],
    );
    assert.deepEqual(eventsOf(whole.id), ['resource.created']);
  });

  it('keeps what a change leaves out', async () => {
    const dates = { activation_date: world.now() - 1, expiration_date: world.now() + minute };
    const { id, ...whole } = await secret({
      content_type: 'a/b',
      tags: { team: 'a' },
      enabled: false,
      ...dates,
    });
    const changes: [object, object][] = [
      [{ name: 'RENAMED' }, { name: 'RENAMED' }],
      [{ enabled: true }, { enabled: true }],
      [{ enabled: false }, { enabled: false }],
      [{ content_type: 'c/d' }, { content_type: 'c/d' }],
      [{ tags: { team: 'b' } }, { tags: { team: 'b' } }],
      [{ activation_date: null }, { activation_date: null }],
      [{ expiration_date: null }, { expiration_date: null }],
      [{ value: 'y' }, { version: 2 }],
      [{}, {}],
    ];
    let expected: object = whole;
    for (const [body, changed] of changes) {
      expected = { ...expected, ...changed };
      await update(id, body);
      assert.deepEqual(await world.domain.secrets.get(world.operator, id), { ...expected, id });
      const [{ details } = { details: {} }] = await world.audits(1);
      assert.equal((details as { changed: string[] }).changed.length, Object.keys(body).length);
    }
    assert.deepEqual(eventsOf(id), ['resource.created', ...changes.map(() => 'resource.updated')]);
    const [newest, oldest] = (await world.domain.secrets.versions(world.operator, id, page)).data;
    assert.deepEqual([newest!.current, oldest!.current, oldest!.version], [true, false, 1]);
  });

  it('is found by the tags that it has, and by no others', async () => {
    const found = async (tag: string) =>
      (await world.domain.secrets.list(world.operator, { ...page, tag } as never)).data.map(({ id }) => id);
    const { id } = await secret({ tags: { tier: 'one', zone: 'x' } });
    assert.deepEqual(await found('tier=one'), [id]);
    await update(id, { name: newName() });
    assert.deepEqual(await found('tier=one'), [id], 'a change that says nothing of them leaves them');
    await update(id, { tags: { tier: 'two' } });
    assert.deepEqual(
      [await found('tier=one'), await found('zone=x'), await found('tier=two')],
      [[], [], [id]],
    );
    await update(id, { tags: {} });
    assert.deepEqual(await found('tier=two'), []);
  });

  it('shows a version with the type that it had; the current one with the type that it has', async () => {
    const { id } = await secret({ content_type: 'a/a', value: 'one' });
    await update(id, { value: 'two', content_type: 'b/b' });
    await update(id, { content_type: 'c/c' });
    const shown = async (version?: number) => {
      const { value, content_type, version: number } = await reveal(id, version);
      return [number, value, content_type];
    };
    assert.deepEqual(await shown(), [2, 'two', 'c/c']);
    assert.deepEqual(await shown(2), [2, 'two', 'c/c']);
    assert.deepEqual(await shown(1), [1, 'one', 'a/a']);
    for (const wrong of [0, 3])
      assert.equal(
        await refusalOf(reveal(id, wrong)),
        'INVALID_REQUEST: version is not a version of this secret',
      );
    await world.domain.secrets.rollback(world.operator, id, 1);
    assert.deepEqual(await shown(), [3, 'one', 'a/a']);
    assert.match(
      await refusalOf(world.domain.secrets.rollback(world.operator, id, 9)),
      /^INVALID_REQUEST: version /,
    );
  });

  const orders: [object, object, boolean][] = [
    [{}, { activation_date: 5 }, true],
    [{}, { expiration_date: 5 }, true],
    [{}, { expiration_date: -30_000_000 }, true],
    [{ expiration_date: 5 }, { activation_date: 4 }, true],
    [{ expiration_date: 5 }, { activation_date: 5 }, false],
    [{ expiration_date: 5 }, { activation_date: 6 }, false],
    [{ activation_date: 5 }, { expiration_date: 6 }, true],
    [{ activation_date: 5 }, { expiration_date: 5 }, false],
    [{ activation_date: 5, expiration_date: 9 }, { activation_date: 10, expiration_date: 11 }, true],
    [{ activation_date: 5, expiration_date: 9 }, { activation_date: 10, expiration_date: null }, true],
    [{ activation_date: 5, expiration_date: 9 }, { activation_date: null, expiration_date: 4 }, true],
    [{ activation_date: 5, expiration_date: 9 }, { name: 'OTHER' }, true],
  ];
  for (const [first, change, isInOrder] of orders)
    it(`with ${JSON.stringify(first)} is ${isInOrder ? '' : 'not '}changed to ${JSON.stringify(change)}`, async () => {
      const at = (dates: object) =>
        Object.fromEntries(
          Object.entries(dates).map(([key, value]) => [
            key,
            typeof value === 'number' ? world.now() + value * minute : value,
          ]),
        );
      const { id } = await secret(at(first));
      const named = 'name' in change ? { name: newName() } : at(change);
      assert.match(
        await refusalOf(update(id, named)),
        isInOrder ? /^done$/ : /^INVALID_REQUEST: expiration_date /,
      );
      const generate = { key_type: 'EC', curve: 'P-256' } as const;
      const body = { vault_id: vaultId, name: newName(), generate, ...at(first) };
      if (isInOrder) return;
      const key = await world.domain.keys.create(world.operator, body);
      assert.match(
        await refusalOf(world.domain.keys.update(world.operator, key.id, at(change))),
        /^INVALID_REQUEST: expiration_date /,
      );
    });
});

describe('what access keys can read', () => {
  it('is changed by callers who could not read it, to values of their own alone', async () => {
    const vault_id = await newVault();
    await world.domain.accessKeys.create(world.operator, { vault_id, name: 'reader' });
    const [shown, hidden, other] = [
      await secret({ vault_id }),
      await secret({ vault_id, enabled: false }),
      await secret({ vault_id, enabled: false }),
    ];
    const writer = by({ scopes: ['secrets:write', 'secrets:read'] });
    const { secrets } = world.domain;
    const change = (id: string, body: object) => refusalOf(secrets.update(writer, id, body));
    const refused = /^FORBIDDEN: Existing access keys could then read what you may not read yourself/;
    assert.equal(await change(shown.id, { value: 'own' }), 'done');
    assert.match(await refusalOf(secrets.rollback(writer, shown.id, 1)), refused);
    assert.match(await change(hidden.id, { enabled: true }), refused);
    assert.equal(await change(hidden.id, { enabled: true, value: 'own' }), 'done');
    const [written] = await secrets.writeAll(writer, [
      { id: other.id, changes: { value: 'own', enabled: true } },
    ]);
    assert.equal(written!.status, 'fulfilled');
    await secrets.rollback(world.operator, shown.id, 1);
  });
});

describe('a resource of any type', () => {
  it('is listed by what the caller may read', async () => {
    const { resources } = world.domain;
    const reader = by({ scopes: ['secrets:read'] });
    assert.match(await refusalOf(resources.list(reader, page as never)), /^FORBIDDEN/);
    assert.match(await refusalOf(resources.list(reader, { ...page, type: 'key' } as never)), /^FORBIDDEN/);
    const listed = await resources.list(reader, { ...page, type: 'secret' } as never);
    assert.ok(listed.data.every(({ type }) => type === 'secret'));
    assert.ok(
      (await resources.list(world.operator, page as never)).data.some(({ type }) => type === 'vault'),
    );
  });

  it('names the vault that it is in, and a vault none', async () => {
    const { resources } = world.domain;
    const { id } = await secret();
    assert.equal((await resources.get(world.operator, id)).vault_id, vaultId);
    assert.equal((await resources.get(world.operator, vaultId)).vault_id, null);
    assert.equal((await resources.update(world.operator, id, () => ({ value: 'y' }))).vault_id, vaultId);
    const changed = await resources.update(world.operator, vaultId, () => ({ description: 'd' }));
    assert.equal(changed.vault_id, null);
  });

  it('is changed by those alone who may write something', async () => {
    const { id } = await secret();
    const { resources } = world.domain;
    const reader = by({ role: 'viewer' });
    assert.match(await refusalOf(resources.remove(reader, id, false)), /^FORBIDDEN/);
    assert.match(await refusalOf(resources.update(reader, id, () => ({}))), /^FORBIDDEN/);
    await resources.remove(by({ scopes: ['secrets:write', 'secrets:read'] }), id, false);
  });

  it('has nothing sealed beside it where it has no labels', async () => {
    const labelsOf = async (more: object) =>
      world.sql('SELECT labels FROM resources WHERE id = ?', (await secret(more)).id)[0]!.labels;
    assert.equal(await labelsOf({}), null);
    assert.notEqual(await labelsOf({ tags: { a: 'b' } }), null);
  });
});

describe('several secrets that are written at once', () => {
  const written = async (caller: Caller, items: readonly object[]) =>
    (await world.domain.secrets.writeAll(caller, items as never)).map(outcome =>
      outcome.status === 'fulfilled'
        ? `${outcome.value.name} ${outcome.value.version}`
        : (outcome.reason as Failure).code,
    );
  const item = (name: string) => ({ vault_id: vaultId, name, value: 'x' });

  it('are created and changed, each with an outcome of its own', async () => {
    const [a, b] = [newName(), await secret()];
    const items = [item(a), { id: b.id, changes: { value: 'y' } }, { id: vaultId, changes: { value: 'z' } }];
    assert.deepEqual(await written(world.operator, items), [`${a} 1`, `${b.name} 2`, 'NOT_FOUND']);
    const verbs = (await world.audits(2)).map(({ action }) => action);
    assert.deepEqual(verbs.sort(), ['secret.created', 'secret.updated']);
    assert.equal((await reveal(b.id)).value, 'y');
  });

  it('have outcomes where all of them fail', async () => {
    const items = [
      { ...item('A'), vault_id: keptId() },
      { id: keptId(), changes: {} },
    ];
    assert.deepEqual(await written(world.operator, items), ['NOT_FOUND', 'NOT_FOUND']);
  });
  const keptId = () => '01999999-9999-7999-8999-999999999999';

  it('are stored one by one where a name is taken, the first of a name first', async () => {
    const [taken, fresh] = [await secret(), newName()];
    const items = [item(taken.name), item(fresh), item(fresh), { id: taken.id, changes: { value: 'y' } }];
    const expected = ['CONFLICT', `${fresh} 1`, 'CONFLICT', `${taken.name} 2`];
    assert.deepEqual(await written(world.operator, items), expected);
  });

  it('are all refused at once where their caller may not write any more', async () => {
    const key = await world.domain.apiKeys.create(world.operator, { name: 'writer', role: 'owner' });
    const caller = await world.domain.authenticate.apiKey(key.token!, world.origin);
    await world.domain.apiKeys.remove(world.operator, key.id, false);
    const name = newName();
    const before = (await world.audits(100)).filter(({ outcome }) => outcome === 'denied').length;
    assert.deepEqual(await written(caller, [item(name), item(newName())]), ['UNAUTHORIZED', 'UNAUTHORIZED']);
    const denied = (await world.audits(100)).filter(({ outcome }) => outcome === 'denied');
    assert.equal(denied.length - before, 1, 'and written down once');
    assert.deepEqual(await written(world.operator, [item(name)]), [`${name} 1`]);
    const unauthorized = 'UNAUTHORIZED: Unauthorized';
    assert.equal(await refusalOf(world.domain.secrets.create(caller, item(newName()))), unauthorized);
    const after = (await world.audits(100)).filter(({ outcome }) => outcome === 'denied');
    assert.equal(after.length - before, 2, 'which is the same for a single one');
  });
});

describe('several secrets', () => {
  const newReader = async () => {
    const key = await world.domain.apiKeys.create(world.operator, { name: 'copying', role: 'owner' });
    return world.domain.authenticate.apiKey(key.token!, world.origin);
  };
  const copy = async (secret_ids: string[], vault_id: string, move?: boolean, caller = world.operator) =>
    (await world.domain.manySecrets.copy(caller, { secret_ids, vault_id, move } as never)).map(outcome =>
      outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Failure).code,
    );

  it('are revealed together', async () => {
    const [one, two] = [await secret({ value: 'one' }), await secret({ value: 'two' })];
    const { data } = await world.domain.manySecrets.reveal(world.operator, [one.id, two.id]);
    assert.deepEqual(
      data.map(({ value }) => value),
      ['one', 'two'],
    );
    assert.deepEqual(
      (await world.audits(2)).map(({ action, details }) => [action, details]),
      [one, two].map(() => ['secret.revealed', { version: 1 }]),
    );
    assert.equal(
      await refusalOf(world.domain.manySecrets.reveal(world.operator, [one.id, vaultId])),
      missing,
    );
  });

  it('are copied with all that they have, into a new version where there is one of the name', async () => {
    const target = await newVault();
    const dates = { activation_date: world.now() - 1, expiration_date: world.now() + minute };
    const whole = await secret({
      value: 'v',
      content_type: 'a/b',
      tags: { t: 'u' },
      enabled: false,
      ...dates,
    });
    const plain = await secret();
    const [first, second] = await copy([whole.id, plain.id], target);
    const own = { id: '', vault_id: '', created_at: '', updated_at: '' };
    assert.deepEqual({ ...(first as object), ...own }, { ...whole, ...own });
    assert.deepEqual({ ...(second as object), ...own }, { ...plain, ...own });
    const [again] = await copy([whole.id], target);
    assert.equal((again as { version: number }).version, 2);
    assert.ok(await world.domain.secrets.get(world.operator, whole.id), 'and stay where they are');
  });

  it('are moved, but for those that could not be copied or are there already', async () => {
    const target = await newVault();
    const [here, there] = [await secret(), await secret({ vault_id: target })];
    const outcomes = await copy([here.id, there.id], target, true);
    assert.deepEqual([typeof outcomes[0], outcomes[1]], ['object', 'CONFLICT']);
    assert.equal(await refusalOf(world.domain.secrets.get(world.operator, here.id)), missing);
    assert.ok(await world.domain.secrets.get(world.operator, there.id));
    const reader = await newReader();
    assert.deepEqual(await copy([there.id], target, true, reader), ['CONFLICT'], 'where all of them are');
    assert.ok(await world.domain.secrets.get(world.operator, there.id));
  });

  it('that were purged meanwhile are not found, and one that was not copied is not removed', async () => {
    // Stand-ins: what was found has no version any more, or can't be written.
    const dates = { activation_date: null, expiration_date: null, created_at: 0, updated_at: 0 };
    const row = { id: 's', vault_id: 'v', attributes: '{}', ...dates };
    const guard = {
      reveal: async (_p: unknown, _v: unknown, _s: unknown, open: () => unknown) => open(),
    };
    let version: object | null = null;
    const records = {
      find: async () => row,
      version: async () => version,
      vaultOf: async () => ({}),
      openLabels: () => ({ tags: {} }),
      openValue: () => 'x',
      references: { opened: () => null, shared: () => null },
      openVault: async () => ({ row: { id: 'target' } }),
    };
    const removed: string[] = [];
    let outcome: object = { status: 'rejected' };
    const secrets = {
      writeAll: async () => [outcome],
      remove: async (_: Caller, id: string) => removed.push(id),
    };
    const store = { resources: { byName: async () => undefined } };
    const many = manySecretsWith({ guard, store } as never, records as never, secrets as never);
    assert.equal(await refusalOf(many.reveal({ caller: {} } as never, ['s'])), missing);
    version = { value: 'sealed' };
    const move = () =>
      many.copy({} as never, {} as never, { secret_ids: ['s'], vault_id: 'target', move: true });
    await move();
    assert.deepEqual(removed, []);
    outcome = { status: 'fulfilled' };
    await move();
    assert.deepEqual(removed, ['s']);
  });
});

describe('secrets of vaults, compared', () => {
  const compareVaults = (vault_ids: string[], more: object = {}, caller = world.operator) =>
    world.domain.comparisons.compareVaults(caller, {
      vault_ids,
      page: 1,
      limit: 50,
      different: false,
      ...more,
    });

  it('with values that are sent, are the same or not, or not there', async () => {
    const { id, name } = await secret({ value: 'right' });
    const items = [
      { name, value: 'right' },
      { name, value: 'wrong' },
      { name: 'NONE', value: '' },
    ];
    const { results } = await world.domain.comparisons.compare(world.operator, { vault_id: vaultId, items });
    assert.deepEqual(results, [
      { name, id, version: 1, same: true },
      { name, id, version: 1, same: false },
      { name: 'NONE', id: null, version: null, same: false },
    ]);
  });

  it('with one another, are numbered by their values', async () => {
    const vaults = [await newVault(), await newVault(), await newVault()];
    const put = (at: number, name: string, value: string) => secret({ vault_id: vaults[at], name, value });
    for (const at of [0, 1, 2]) await put(at, 'SAME', 'x');
    for (const [at, value] of ['x', 'y', 'x'].entries()) await put(at, 'DIFFERENT', value);
    for (const [at, value] of ['x', 'y', 'y'].entries()) await put(at, 'OTHERWISE', value);
    await put(1, 'ALONE', 'x');
    const shown = async (more: object = {}, caller = world.operator) =>
      (await compareVaults(vaults, more, caller)).rows.map(({ name, cells }) => [
        name,
        ...cells.map(cell => (cell === null ? null : cell.value)),
      ]);
    const different = [
      ['ALONE', null, 1, null],
      ['DIFFERENT', 1, 2, 1],
      ['OTHERWISE', 1, 2, 2],
    ];
    assert.deepEqual(await shown(), [...different, ['SAME', 1, 1, 1]]);
    assert.deepEqual(await shown({ different: true }), different);
    assert.deepEqual(await shown({ page: 2, limit: 3 }), [['SAME', 1, 1, 1]]);
    const reader = by({ role: 'viewer' });
    const names = (await compareVaults(vaults, {}, reader)).rows;
    assert.deepEqual(
      names.map(({ cells }) => cells.map(cell => cell && [cell.version, cell.value])),
      [
        [null, [1, null], null],
        ...Array.from({ length: 3 }, () => Array.from({ length: 3 }, () => [1, null])),
      ],
    );
    const [denied] = await world.audits(1);
    assert.notEqual(denied!.outcome, 'denied', 'which is no refusal');
    const one = by({
      role: 'none',
      vaultRoles: new Map([
        [vaults[0]!, [{ role: 'editor', until: null }]],
        [vaults[1]!, [{ role: 'viewer', until: null }]],
      ]),
    });
    const partly = (await compareVaults(vaults.slice(0, 2), {}, one)).rows;
    assert.ok(
      partly.every(({ cells }) => cells.every(cell => cell === null || cell.value === null)),
      'all or none',
    );
  });

  it('are 1,200 values a minute, and whole vaults count as twenty', async () => {
    const caller = by({ id: 'comparing' });
    world.pass();
    const items = Array.from({ length: 100 }, (_, at) => ({ name: `NAME${at}`, value: '' }));
    const compare = (number: number) =>
      world.domain.comparisons.compare(caller, { vault_id: vaultId, items: items.slice(0, number) });
    for (let at = 0; at < 11; at++) await compare(100);
    await compare(79);
    await compareVaults([vaultId], {}, caller);
    await compare(1);
    world.pass(minute - 1_000);
    await assert.rejects(compare(1), { code: 'RATE_LIMITED', retryAfter: 1 });
    const [{ outcome, details } = { outcome: '', details: {} }] = await world.audits(1);
    assert.deepEqual([outcome, details], ['denied', { reason: 'rate limit' }]);
    await assert.rejects(compareVaults([vaultId], {}, caller), { code: 'RATE_LIMITED' });
    await world.domain.comparisons.compare(world.operator, { vault_id: vaultId, items });
    world.pass(1_000);
    await compare(1);
  });
});
