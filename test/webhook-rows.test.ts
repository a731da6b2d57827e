/** Webhooks: who makes and changes them, what is sent where, and with which secrets. The store and the guard are stand-ins. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import { testKind } from '../src/contract/names.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import {
  newDelivery,
  type WebhookDeliveries,
  webhookDeliveriesWith,
} from '../src/domain/webhooks/deliveries.ts';
import { type WebhookTargets, webhookTargetsWith } from '../src/domain/webhooks/targets.ts';
import { type Webhooks, webhooksWith } from '../src/domain/webhooks/webhooks.ts';
import type { DeliveryRow } from '../src/store/records/deliveries.ts';
import type { StoredEvent } from '../src/store/records/outbox.ts';
import type { WebhookRow } from '../src/store/records/webhooks.ts';
import { type Asking, asking, takes } from './asking.ts';

const newId = idGenerator(Date.now);
const [organizationId, other, vault, secondVault] = [newId(), newId(), newId(), newId()];
const day = 24 * 3_600_000;
const query = { page: 1, limit: 10 };
const caller = { id: 'caller', organizationId } as unknown as Caller;
const url = 'https://hooks.example.com/x';

interface Change {
  readonly subjects: readonly {
    readonly lasts?: unknown;
    readonly revision: number;
    readonly details?: object;
  }[];
  readonly statements: readonly unknown[];
  readonly touches: readonly string[];
}

let now: number;
let rows: WebhookRow[];
let deliveries: DeliveryRow[];
let vaults: readonly string[] | null;
let changes: { verb: string; lasts: unknown; statements: unknown[]; details: unknown }[];
let shown: string[];
let refused: Set<string>;
let stale: number;
let asked: number;
let needed: unknown[][];
let forged: Set<unknown>;
let errors: unknown[];
let failing: Map<string, number>;
let webhooks: Asking<Webhooks, typeof takes.webhooks>;
let targets: WebhookTargets;
let sent: Asking<WebhookDeliveries, typeof takes.webhookDeliveries>;

beforeEach(() => {
  now = 1_000_000;
  [rows, deliveries, vaults, changes, shown] = [[], [], null, [], []];
  [refused, stale, asked, needed, forged, errors, failing] = [new Set(), 0, 0, [], new Set(), [], new Map()];
  const believe = <T>(row: T) => {
    if (row === undefined) throw new TypeError('nothing');
    const isForged = forged.has(row) || (row as { payload?: string }).payload === 'forged';
    if (isForged) throw new Failure('INTERNAL_ERROR');
    return row;
  };
  const parts = {
    now: () => now,
    newId,
    keyring: {
      organizationSealer: (of: string) => ({
        seal: (place: { version: number }, text: Buffer) => `${of} ${place.version} ${text}`,
        open: (place: { version: number }, sealed: string) => {
          assert.ok(sealed.startsWith(`${of} ${place.version} `), sealed);
          return Buffer.from(sealed.split(' ')[2]!);
        },
      }),
    },
    keyringSync: {
      requireCurrent: async () => 'keyring is current',
      ensureKeysFor: async (...sealed: unknown[]) => {
        needed.push(sealed);
      },
    },
    stamps: {
      webhook: {
        believe,
        create: (now: number, row: object) => ({ ...row, created_at: now, updated_at: now, revision: 1 }),
        revise: (before: WebhookRow, columns: object, time: number) => ({
          ...before,
          ...columns,
          updated_at: time,
          revision: before.revision + 1,
        }),
      },
      believeEvent: believe,
      stampEvent: <T>(event: T) => event,
    },
    guard: {
      admit: async (by: Caller, action: string) => ({ caller: by, action, vaults }),
      found: async (_: unknown, row: unknown) => {
        if (row === undefined) throw new Failure('NOT_FOUND');
        return row;
      },
      mayShow: async (_: unknown, actions: readonly string[]) => {
        shown.push(actions.join());
        if (refused.has('shown')) throw new Failure('FORBIDDEN');
      },
      change: async (_: unknown, verb: string, { subjects, statements }: Change) => {
        if (stale-- > 0) throw new StaleChange();
        const [{ lasts, details }] = subjects as [Change['subjects'][0]];
        for (const statement of statements) if (typeof statement === 'function') statement();
        const told = statements.map(one => (typeof one === 'function' ? 'webhook' : one));
        changes.push({ verb, lasts, statements: told, details });
      },
    },
    store: {
      webhooks: {
        byId: async (_: string, id: string) => rows.find(row => row.id === id),
        anywhere: async (id: string) => rows.find(row => row.id === id),
        enabledOf: async (ids: readonly string[]) =>
          rows
            .filter(row => row.enabled === 1 && ids.includes(row.organization_id))
            .map(row => Object.assign(row, { begins_after: 5 })),
        failing: async () => failing,
        page: async () => {
          asked++;
          return { rows, total: rows.length };
        },
        insert: (row: WebhookRow) => [() => rows.push(row)],
        update: (row: WebhookRow) => () => {
          rows = rows.map(one => (one.id === row.id ? row : one));
        },
        remove: (_: string, revision: number) => [`remove ${revision}`],
        forgive: () => 'forgive',
        arrive: (_: string, at: number) => `arrive ${at}`,
      },
      outbox: { add: ({ type }: { type: string }) => `event ${type}` },
      deliveries: {
        byId: async (_: string, id: string) => deliveries.find(row => row.id === id),
        page: async () => {
          asked++;
          return { rows: deliveries, total: deliveries.length };
        },
        addAll: (added: DeliveryRow[]) => `deliver ${added[0]!.event}`,
        again: (_: string, at: number) => `again ${at}`,
      },
    },
  };
  const records = {
    checkVaults: async (_: unknown, ids: readonly string[]) => {
      if (!ids.every(id => id === vault || id === secondVault))
        throw new Failure('NOT_FOUND', { field: 'vault_ids', reason: 'is not the id of a vault' });
    },
  };
  const egress = {
    refusalOf: ({ protocol }: URL) => (protocol === 'https:' ? null : 'must begin with https://'),
  };
  const own = webhooksWith(parts as never, records as never, egress as never);
  webhooks = asking(parts.guard as never, own, takes.webhooks);
  targets = webhookTargetsWith(parts as never, error => errors.push(error));
  const ownSent = webhookDeliveriesWith(parts as never, own);
  sent = asking(parts.guard as never, ownSent, takes.webhookDeliveries);
});

const create = (said: object = {}) =>
  webhooks.create(caller, { url, events: ['resource.created'], ...said } as never);
const update = (said: object) => webhooks.update(caller, rows[0]!.id, said as never);

describe('a webhook', () => {
  it('is made with what was said, and shows its secret once', async () => {
    const { id, secret, ...made } = await create({ vault_ids: [vault], name: 'Hook', enabled: false });
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(
      [
        made.name,
        made.url,
        made.events,
        made.vault_ids,
        made.enabled,
        made.disabled_reason,
        made.failing_since,
      ],
      ['Hook', url, ['resource.created'], [vault], false, null, null],
    );
    assert.deepEqual(changes, [
      {
        verb: 'webhook.created',
        lasts: 'without end',
        statements: ['keyring is current', 'webhook'],
        details: undefined,
      },
    ]);
    assert.ok(!('secret' in (await webhooks.get(caller, id))));
    assert.equal(shown.length, 1);
  });

  it('is enabled, of all vaults, and named after its host, where nothing else is said', async () => {
    const { name, vault_ids, enabled } = await create();
    assert.deepEqual([name, vault_ids, enabled, rows[0]!.vault_ids], ['hooks.example.com', null, true, null]);
    assert.equal((await create({ vault_ids: null })).vault_ids, null);
  });

  it('leads where the service may connect to, and tells of vaults that are there', async () => {
    await assert.rejects(create({ url: 'http://hooks.example.com' }), {
      code: 'INVALID_REQUEST',
      field: 'url',
      reason: 'must begin with https://',
    });
    const missing = { code: 'NOT_FOUND', field: 'vault_ids', reason: 'is not the id of a vault' };
    await assert.rejects(create({ vault_ids: [vault, newId()] }), missing);
    await create();
    await assert.rejects(update({ url: 'http://hooks.example.com' }), { field: 'url' });
    await assert.rejects(update({ vault_ids: [newId()] }), missing);
    assert.equal(changes.length, 1);
  });

  it('is made and changed by those who may see what it tells', async () => {
    await create();
    refused.add('shown');
    await assert.rejects(create(), { code: 'FORBIDDEN' });
    await assert.rejects(update({ name: 'x' }), { code: 'FORBIDDEN' });
    assert.equal(changes.length, 1);
  });

  const updates: [said: object, changed: Partial<WebhookRow>, lasts: string, begins: boolean][] = [
    [{}, {}, 'as before', false],
    [{ name: 'New' }, { name: 'New' }, 'as before', false],
    [
      { url: 'https://other.example.com/' },
      { url: 'https://other.example.com/', name: 'other.example.com' },
      'without end',
      true,
    ],
    [
      { url: 'https://other.example.com/', name: 'New' },
      { url: 'https://other.example.com/', name: 'New' },
      'without end',
      true,
    ],
    [{ url }, {}, 'as before', true],
    [{ events: ['resource.deleted'] }, { events: '["resource.deleted"]' }, 'without end', false],
    [{ vault_ids: [secondVault] }, { vault_ids: JSON.stringify([secondVault]) }, 'without end', false],
    [{ vault_ids: null }, { vault_ids: null }, 'without end', false],
    [{ enabled: false }, { enabled: 0, disabled_reason: null }, 'as before', false],
    [{ enabled: true }, { disabled_reason: null }, 'as before', true],
  ];
  for (const [said, changed, lasts, begins] of updates)
    it(`is changed by ${JSON.stringify(said)}`, async () => {
      await create({ vault_ids: [vault] });
      rows = [{ ...rows[0]!, disabled_reason: 'failing' as never }];
      const before = rows[0]!;
      stale = 1;
      await update(said);
      assert.deepEqual(rows[0], { ...before, ...changed, updated_at: now, revision: 2 });
      const { verb, lasts: said2, statements } = changes[1]!;
      assert.deepEqual([verb, said2], ['webhook.updated', lasts]);
      assert.deepEqual(statements.slice(1), begins ? ['forgive', `arrive ${now}`] : []);
    });

  it('keeps a name of its own when its URL changes', async () => {
    await create({ name: 'Mine' });
    assert.equal((await update({ url: 'https://other.example.com/' })).name, 'Mine');
  });

  it('tells more once it is enabled again', async () => {
    await create({ enabled: false });
    assert.equal((await update({ enabled: true })).enabled, true);
    assert.equal(changes[1]!.lasts, 'without end');
  });

  it('gets a new secret, beside which the old one is good for a day', async () => {
    const { secret: first, id } = await create();
    const { secret } = await webhooks.rotateSecret(caller, id);
    assert.notEqual(secret, first);
    assert.deepEqual([changes[1]!.verb, changes[1]!.lasts], ['webhook.secret_rotated', 'without end']);
    assert.deepEqual(changes[1]!.statements, ['webhook', 'keyring is current']);
    assert.equal(rows[0]!.previous_until, now + day);
    assert.deepEqual((await targets.target(id))!.secrets, [secret, first]);
    now += day - 1;
    assert.deepEqual((await targets.target(id))!.secrets, [secret, first]);
    now += 1;
    assert.deepEqual((await targets.target(id))!.secrets, [secret]);
  });

  it('is removed as it was found', async () => {
    const { id } = await create();
    await webhooks.remove(caller, id);
    assert.deepEqual([changes[1]!.verb, changes[1]!.statements], ['webhook.deleted', ['remove 1']]);
    await assert.rejects(webhooks.remove(caller, newId()), { code: 'NOT_FOUND' });
  });

  it('is seen by those who see all vaults, and since when it fails', async () => {
    const { id } = await create();
    failing.set(id, 5_000);
    const { data, pagination } = await webhooks.list(caller, query as never);
    assert.deepEqual([data[0]!.failing_since, pagination.total], [new Date(5_000).toISOString(), 1]);
    failing.clear();
    assert.equal((await webhooks.get(caller, id)).failing_since, null);
    vaults = [vault];
    assert.deepEqual((await webhooks.list(caller, query as never)).data, []);
    assert.equal(asked, 1);
  });
});

const event = (said: Partial<StoredEvent> = {}): StoredEvent =>
  ({
    id: newId(),
    position: 6,
    organization_id: organizationId,
    vault_id: vault,
    resource_id: newId(),
    type: 'resource.created',
    payload: '{}',
    created_at: 1,
    ...said,
  }) as unknown as StoredEvent;

describe('an event', () => {
  const cases: [what: string, said: Partial<StoredEvent>, isAll: boolean, isSome: boolean][] = [
    ['that is asked for', {}, true, true],
    ['of another kind', { type: 'resource.deleted' }, false, false],
    ['of another organization', { organization_id: other }, false, false],
    ['of another vault', { vault_id: secondVault }, true, false],
    ['of no vault', { vault_id: null }, true, false],
    ['from before it listened', { position: 5 }, false, false],
  ];
  for (const [what, said, isAll, isSome] of cases)
    it(`goes to webhooks that want it: one ${what}`, async () => {
      const all = await create();
      const some = await create({ vault_ids: [vault] });
      await create({ enabled: false });
      const told = event(said);
      const found = (await targets.wanting([told])).get(told)!;
      assert.deepEqual(found, [...(isAll ? [all.id] : []), ...(isSome ? [some.id] : [])]);
      for (const [id, isTaken] of [
        [all.id, isAll],
        [some.id, isSome],
      ] as const) {
        const delivery = deliveryOf(id, told);
        // When it was written no longer matters: it was wanted then.
        assert.equal((await targets.target(id))!.takes(delivery), isTaken || said.position === 5);
      }
      assert.deepEqual(errors, []);
    });

  const deliveryOf = (id: string, told: StoredEvent) =>
    ({ ...newDelivery(newId(), id, told, 1), ...toldAs(told) }) as never;
  /** As the delivery has it, in whatever names it is stored there. */
  const toldAs = (told: StoredEvent) => ({
    payload: told.payload,
    event_created_at: told.created_at,
    stamp: null,
    event_stamp: null,
  });

  it('goes to webhooks of its own organization, also among others', async () => {
    const { id } = await create();
    const [own, foreign] = [event(), event({ organization_id: other })];
    const found = await targets.wanting([foreign, own]);
    assert.deepEqual([found.get(own), found.get(foreign)], [[id], []]);
  });

  it('that is not as it was written goes to nobody, and is told to the operator', async () => {
    await create();
    const bad = event();
    forged.add(bad);
    assert.deepEqual((await targets.wanting([bad])).get(bad), []);
    assert.equal(errors.length, 1);
    const unwanted = event({ type: 'resource.deleted' });
    forged.add(unwanted);
    assert.deepEqual((await targets.wanting([unwanted])).get(unwanted), []);
    assert.equal(errors.length, 1, 'nobody would have been told of it');
    const [{ id }] = rows as [WebhookRow];
    assert.equal((await targets.target(id))!.takes(deliveryOf(id, event({ payload: 'forged' }))), false);
    assert.equal(errors.length, 2);
  });

  it('that is a test goes to the webhook that it tests, whatever that wants', async () => {
    const [one, two] = [await create({ vault_ids: [vault] }), await create()];
    const told = event({ type: testKind, resource_id: one.id, vault_id: null });
    assert.equal((await targets.target(one.id))!.takes(deliveryOf(one.id, told)), true);
    assert.equal((await targets.target(two.id))!.takes(deliveryOf(two.id, told)), false);
    const foreign = { ...told, organization_id: other };
    assert.equal((await targets.target(one.id))!.takes(deliveryOf(one.id, foreign)), false);
  });
});

describe('where an event is sent', () => {
  it('is a webhook that is there and as it was written', async () => {
    const { id } = await create();
    const { url: to, enabled } = (await targets.target(id))!;
    assert.deepEqual([to, enabled], [url, true]);
    await update({ enabled: false });
    assert.equal((await targets.target(id))!.enabled, false);
    assert.equal(await targets.target(newId()), null);
    assert.deepEqual(errors, []);
    forged.add(rows[0]);
    assert.equal(await targets.target(id), null);
    assert.equal(errors.length, 1);
    rows[0]!.enabled = 1;
    const told = event();
    assert.deepEqual((await targets.wanting([told])).get(told), []);
  });

  it('has its secrets once the keys for them are there', async () => {
    const { id, secret } = await create();
    assert.deepEqual((await targets.target(id))!.secrets, [secret]);
    const [{ secret: sealed }] = rows as [WebhookRow];
    assert.deepEqual(needed, [[sealed, sealed]]);
    rows = [{ ...rows[0]!, previous_secret: 'before' as never, previous_until: null }];
    assert.deepEqual((await targets.target(id))!.secrets, [secret], 'nothing says until when');
    assert.deepEqual(needed[1], [sealed, 'before']);
    rows = [{ ...rows[0]!, previous_secret: null, previous_until: now + 1 }];
    assert.deepEqual((await targets.target(id))!.secrets, [secret]);
  });

  it('is switched off once, by the service, with the reason', async () => {
    const { id } = await create();
    stale = 1;
    await targets.disable(id, 'failing' as never);
    assert.deepEqual([rows[0]!.enabled, rows[0]!.disabled_reason], [0, 'failing']);
    assert.deepEqual(changes[1], {
      verb: 'webhook.disabled',
      lasts: undefined,
      statements: ['webhook', 'event webhook.disabled'],
      details: { reason: 'failing' },
    });
    await targets.disable(id, 'failing' as never);
    await targets.disable(newId(), 'failing' as never);
    assert.equal(changes.length, 2);
  });
});

describe('a delivery', () => {
  beforeEach(async () => {
    const { id } = await create();
    deliveries = [newDelivery(newId(), id, event(), 7_000)];
  });
  const again = () => sent.redeliver(caller, deliveries[0]!.id);

  it('is due at once, until it is said when it is tried again', async () => {
    const { state, next_attempt_at, attempts } = await sent.get(caller, deliveries[0]!.id);
    assert.deepEqual([state, next_attempt_at, attempts], ['pending', new Date(7_000).toISOString(), []]);
    deliveries = [{ ...deliveries[0]!, next_attempt_at: 9_000 }];
    assert.equal((await sent.get(caller, deliveries[0]!.id)).next_attempt_at, new Date(9_000).toISOString());
    await assert.rejects(sent.get(caller, newId()), { code: 'NOT_FOUND' });
  });

  it('is seen by those who see all vaults', async () => {
    assert.equal((await sent.list(caller, query as never)).data.length, 1);
    vaults = [vault];
    const { data, pagination } = await sent.list(caller, query as never);
    assert.deepEqual([data, pagination.total, asked], [[], 0, 1]);
  });

  it('is sent again, unless its webhook is disabled', async () => {
    const { state, next_attempt_at, finished_at } = await again();
    assert.deepEqual([state, next_attempt_at, finished_at], ['pending', new Date(now).toISOString(), null]);
    assert.deepEqual(changes[1], {
      verb: 'webhook.redelivered',
      lasts: undefined,
      statements: [`again ${now}`, `arrive ${now}`],
      details: { delivery_id: deliveries[0]!.id },
    });
    rows = [{ ...rows[0]!, enabled: 0 }];
    await assert.rejects(again(), { code: 'CONFLICT', message: 'The webhook is disabled' });
    assert.equal(changes.length, 2);
    deliveries = [{ ...deliveries[0]!, event: testKind }];
    await again();
    assert.equal(changes.length, 3);
  });

  it('of a test is sent whether the webhook is enabled or not', async () => {
    rows = [{ ...rows[0]!, enabled: 0 }];
    const { event: kind, state } = await sent.test(caller, rows[0]!.id);
    assert.deepEqual([kind, state], [testKind, 'pending']);
    assert.deepEqual(changes[1]!.statements, [`event ${testKind}`, `deliver ${testKind}`, `arrive ${now}`]);
  });
});
