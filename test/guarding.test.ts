/** What the guard decides, and what it writes down, before anything is stored. That it is asked for everything is tested in permits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import { type Guard, guardWith } from '../src/domain/kernel/guard.ts';
import { type Permit, permitFor, vaultsAsked } from '../src/domain/kernel/permits.ts';
import type { GuardedChange, SubjectChange } from '../src/domain/kernel/subjects.ts';
import type { AuditEntry } from '../src/logs/entries.ts';
import { type Change, ChangeRefused, type Ledger } from '../src/logs/ledger.ts';
import type { Statement, WriteRefusal } from '../src/store/engine/engine.ts';

const owner = trustedCaller('operator', 'owner', 'owner', 'org', 'request');
const viewer: Caller = { ...owner, id: 'viewer', role: 'viewer' };
/** Writes in one vault, and sees another. */
const some: Caller = {
  ...owner,
  id: 'some',
  role: 'none',
  vaultRoles: new Map([
    ['v1', [{ role: 'editor', until: null }]],
    ['v2', [{ role: 'viewer', until: null }]],
  ]),
};

const statement = (sql: string): Statement => ({ sql, parameters: [] });
const change = statement('change');
const secret = (vaultId?: string) => ({
  type: 'webhook',
  id: 's',
  name: 'S',
  revision: 2,
  vaultId,
  lasts: 'as before' as const,
});

interface Committed {
  readonly entries: readonly AuditEntry[];
  readonly change: Change | null;
}

/** A guard over a log in memory, which refuses the first changes as it is told. */
function started(refusals: readonly (WriteRefusal | Error)[] = []) {
  const committed: Committed[] = [];
  const denied: AuditEntry[] = [];
  const state = { attempts: 0, isOver: false, now: 0, renewed: (by: Caller): Caller | null => by, asked: 0 };
  const ledger = {
    refusals: { denial: async (entry: AuditEntry) => void denied.push(entry) },
    commit: async (entries: readonly AuditEntry[], change: Change | null = null) => {
      const refusal = refusals[state.attempts++];
      if (refusal instanceof Error) throw refusal;
      if (refusal !== undefined) throw new ChangeRefused(refusal);
      committed.push({ entries, change });
      return 'receipt';
    },
  } as unknown as Ledger;
  const authority = {
    conditions: ({ proof }: Caller) => proof.rows.map(({ id }) => statement(id)),
    isOver: () => state.isOver,
    renewed: async (by: Caller) => {
      state.asked++;
      return state.renewed(by);
    },
    again: async () => null,
  };
  const guard: Guard = guardWith({ ledger, authority, now: () => state.now });
  const reasons = () => denied.map(({ action, details }) => [action, details.reason]);
  return { guard, state, committed, denied, reasons };
}

async function outcomeOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return (await run()) ?? null;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error.code;
  }
}

describe('a permit', () => {
  it('is given for where an action is allowed, and refused where that is nowhere', async () => {
    const { guard, denied } = started();
    assert.equal((await guard.admit(owner, 'secrets:write')).vaults, null);
    assert.deepEqual((await guard.admit(some, 'secrets:read')).vaults, ['v1', 'v2']);
    assert.deepEqual((await guard.admit(some, 'secrets:read', 'secrets:write')).vaults, ['v1']);
    assert.equal(denied.length, 0);
    assert.equal(await outcomeOf(() => guard.admit(viewer, 'secrets:write')), 'FORBIDDEN');
    assert.equal(await outcomeOf(() => guard.admit(viewer, 'secrets:read', 'webhooks:write')), 'FORBIDDEN');
    const apart: Caller = {
      ...some,
      vaultIds: ['v2'],
      vaultRoles: new Map([['v1', [{ role: 'editor', until: null }]]]),
    };
    assert.equal(await outcomeOf(() => guard.admit(apart, 'secrets:read')), 'FORBIDDEN');
    assert.deepEqual(
      denied.map(({ action, outcome, actor }) => [action, outcome, actor.id]),
      [
        ['secrets:write', 'denied', 'viewer'],
        ['webhooks:write', 'denied', 'viewer'],
        ['secrets:read', 'denied', 'some'],
      ],
    );
  });

  it('for two actions that are held in no vault together is refused by the first', async () => {
    const { guard, denied } = started();
    const vaultRoles: Caller['vaultRoles'] = new Map([
      ['v1', [{ role: 'auditor', until: null }]],
      ['v2', [{ role: 'editor', until: null }]],
    ]);
    const apart = () => guard.admit({ ...some, vaultRoles }, 'logs:read', 'secrets:write');
    assert.equal(await outcomeOf(apart), 'FORBIDDEN');
    assert.equal(denied[0]!.action, 'logs:read');
  });

  it('for any of some actions is for the first that is held, and refused by the first of all', async () => {
    const { guard, denied } = started();
    const any = ['webhooks:write', 'secrets:write', 'secrets:read'] as const;
    assert.equal((await guard.admitAny(owner, any)).action, 'webhooks:write');
    const { action, vaults } = await guard.admitAny(some, any);
    assert.deepEqual([action, vaults], ['secrets:write', ['v1']]);
    assert.equal(denied.length, 0);
    const neither = () => guard.admitAny(viewer, ['webhooks:write', 'secrets:write']);
    assert.equal(await outcomeOf(neither), 'FORBIDDEN');
    assert.equal(denied[0]!.action, 'webhooks:write');
  });

  it('within another is for where both are, and refused where that is nowhere', async () => {
    const { guard, denied } = started();
    const reading = await guard.admit(some, 'secrets:read');
    const writing = await guard.admit(some, 'secrets:write');
    assert.deepEqual(await guard.within(reading, writing), { ...reading, vaults: ['v1'] });
    assert.deepEqual(await guard.within(reading, await guard.admit(owner, 'logs:read')), reading);
    assert.equal((await guard.within(await guard.admit(owner, 'keys:read'), writing)).vaults?.length, 1);
    const elsewhere = { ...writing, vaults: ['v3'] };
    assert.equal(await outcomeOf(() => guard.within(reading, elsewhere)), 'FORBIDDEN');
    assert.deepEqual([denied.length, denied[0]!.action], [1, 'secrets:read']);
  });

  it('is taken for one of some actions only where it is', async () => {
    const permit = await started().guard.admit(owner, 'secrets:read');
    assert.equal(permitFor(permit, 'keys:read', 'secrets:read'), permit);
    assert.throws(() => permitFor(permit, 'keys:read'), /a permit for secrets:read is none for keys:read/);
  });

  const lists: [readonly string[] | null, string | undefined, readonly string[] | undefined][] = [
    [null, undefined, undefined],
    [['v1'], undefined, ['v1']],
    [null, 'v1', ['v1']],
    [['v1', 'v2'], 'v1', ['v1']],
    [['v2'], 'v1', []],
  ];
  for (const [vaults, asked, shown] of lists)
    it(`for ${vaults ?? 'all'} shows, where ${asked ?? 'all'} is asked for, ${shown ?? 'all'}`, () =>
      assert.deepEqual(vaultsAsked({ vaults } as Permit, asked), shown));

  const rows: [Caller, 'secrets:write' | 'webhooks:read', string | null | undefined, string | null][] = [
    [owner, 'secrets:write', 'v1', null],
    [owner, 'secrets:write', undefined, null],
    [some, 'secrets:write', 'v1', null],
    [some, 'secrets:write', 'v2', 'FORBIDDEN'],
    [some, 'secrets:write', 'v3', 'NOT_FOUND'],
    [some, 'secrets:write', null, 'NOT_FOUND'],
    [owner, 'webhooks:read', null, null],
  ];
  for (const [caller, action, vaultId, expected] of rows)
    it(`of ${caller.id} for ${action} in ${vaultId} is ${expected ?? 'good'}`, async () => {
      const { guard, denied } = started();
      const permit = await guard.admit(caller, action);
      const row = { organization_id: 'org' };
      const found = await outcomeOf(() => guard.found(permit, row, vaultId));
      assert.equal(found, expected ?? row);
      assert.equal(denied.length, expected === 'FORBIDDEN' ? 1 : 0);
      for (const foreign of [undefined, { organization_id: 'other' }, { organization_id: null }])
        assert.equal(await outcomeOf(() => guard.found(permit, foreign, vaultId)), 'NOT_FOUND');
    });

  it('is needed in the very vault that is changed or revealed, and for the whole organization', async () => {
    for (const [vaultId, expected] of [
      ['v1', 'receipt'],
      ['v2', 'FORBIDDEN'],
      [undefined, 'FORBIDDEN'],
    ] as const) {
      const { guard, denied, committed } = started();
      const permit = await guard.admit(some, 'secrets:write');
      const subjects = [secret('v1'), secret(vaultId)] as const;
      const done = await outcomeOf(() =>
        guard.change(permit, 'secret.updated', { subjects, statements: [] }),
      );
      assert.equal(done, expected);
      const reveal = await guard.admit(some, 'secrets:reveal');
      const revealed = { ...secret(vaultId), details: {} };
      const shown = await outcomeOf(() => guard.reveal(reveal, 'secret.revealed', [revealed], () => 'value'));
      assert.equal(shown, expected === 'receipt' ? 'value' : expected);
      assert.deepEqual([denied.length, committed.length], expected === 'receipt' ? [0, 2] : [2, 0]);
    }
  });
});

describe('what somebody would show', () => {
  const rows: [Caller, readonly string[] | undefined, string | null][] = [
    [owner, undefined, null],
    [owner, ['v1', 'v3'], null],
    [some, ['v1'], null],
    [some, ['v1', 'v2'], 'FORBIDDEN'],
    [some, undefined, 'FORBIDDEN'],
  ];
  for (const [caller, vaultIds, expected] of rows)
    it(`by ${caller.id} in ${vaultIds ?? 'all'} is ${expected ?? 'theirs to show'}`, async () => {
      const { guard, denied } = started();
      const show = () => guard.mayShow(caller, ['secrets:read', 'secrets:write'], vaultIds);
      assert.equal(await outcomeOf(show), expected);
      assert.equal(denied.length, expected === null ? 0 : 1);
    });

  it('says what is missing, and why', async () => {
    const { guard } = started();
    const show = (because?: string) =>
      guard.mayShow(viewer, ['secrets:write'], undefined, because === undefined ? {} : { because });
    await assert.rejects(show(), /^Failure: You can’t grant access that you don’t have: .* secrets:write$/);
    await assert.rejects(show('Because'), /^Failure: Because: .* secrets:write$/);
    assert.equal(await outcomeOf(() => guard.mayShow(viewer, [])), null);
  });
});

describe('a role in a vault that ends', () => {
  const until = 1_000;
  const there: Caller = { ...some, vaultRoles: new Map([['v1', [{ role: 'editor', until }]]]) };

  it('shows what lasts no longer than it', async () => {
    const { guard, denied } = started();
    const show = (end?: number | null) =>
      outcomeOf(() =>
        guard.mayShow(there, ['secrets:reveal'], ['v1'], end === undefined ? {} : { until: end }),
      );
    assert.deepEqual(
      [await show(), await show(until), await show(until + 1), await show(null)],
      [null, null, 'FORBIDDEN', 'FORBIDDEN'],
    );
    assert.equal(denied.length, 2);
  });

  it('leaves nothing behind that lasts longer', async () => {
    const { guard } = started();
    const permit = await guard.admit(there, 'access-keys:write');
    const subject = { type: 'access-key', id: 'k', name: 'k', vaultId: 'v1', revision: 1 };
    const leave = (lasts: SubjectChange['lasts']) =>
      outcomeOf(() =>
        guard.change(permit, 'access-key.created', {
          subjects: [{ ...subject, ...(lasts === undefined ? {} : { lasts }) }],
          statements: [change],
        }),
      );
    assert.equal(await leave({ until, madeWith: [] }), 'receipt');
    assert.equal(await leave('as before'), 'receipt');
    for (const end of [until + 1, null])
      assert.equal(await leave({ until: end, madeWith: [] }), 'FORBIDDEN', `${end}`);
    assert.equal(await leave('without end'), 'FORBIDDEN');
  });
});

describe('a change', () => {
  it('of what a vault contains needs a review, whose part is stored with it', async () => {
    const { guard, committed } = started();
    const subjects = [{ ...secret(), type: 'secret' }] as const;
    const without = { subjects, statements: [change] };
    await assert.rejects(guard.own(owner, 'secret.updated', without), /did not pass review/);
    const key = { ...owner, kind: 'access-key' };
    assert.throws(() => guard.used(key, 'secret.updated', without), /did not pass review/);
    assert.equal(committed.length, 0);
    const more = {
      subjects: [{ ...secret(), verb: 'proposal.bypassed' }],
      statements: [statement('reviewed')],
    };
    await guard.own(owner, 'secret.updated', { ...without, reviewed: more as never });
    const [{ entries, change: stored }] = committed as [Committed];
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['secret.updated', 'proposal.bypassed'],
    );
    assert.deepEqual(stored!.statements, [statement('reviewed'), change]);
  });

  const proven: Caller = {
    ...owner,
    proof: { rows: [{ table: 'members', id: 'row', revision: 1 }], until: null },
  };
  const wanted = (more: Partial<GuardedChange> = {}): GuardedChange => ({
    subjects: [secret()],
    statements: [change],
    ...more,
  });
  const own = (guard: Guard, more?: Partial<GuardedChange>, by = proven) =>
    guard.own(by, 'secret.updated', wanted(more));

  it('is stored with its entries, on what proved the caller', async () => {
    const { guard, committed } = started();
    const subjects = [
      { ...secret('v1'), details: { fields: ['name'] } },
      { ...secret(), verb: 'secret.deleted' },
    ] as const;
    assert.equal(await own(guard, { subjects, touches: ['s'] }), 'receipt');
    const [{ entries, change: stored }] = committed as [Committed];
    assert.deepEqual(stored, { statements: [statement('row'), change], touches: ['s'] });
    assert.deepEqual(
      entries.map(({ action, outcome, revision, vault_id, details }) => [
        action,
        outcome,
        revision,
        vault_id,
        details,
      ]),
      [
        ['secret.updated', 'allowed', 2, 'v1', { fields: ['name'] }],
        ['secret.deleted', 'allowed', 2, null, {}],
      ],
    );
    await own(guard);
    assert.deepEqual(committed[1]!.change!.touches, []);
    await own(guard, { statements: [] }, owner);
    assert.equal(committed[2]!.change, null, 'there is nothing to store but the entry');
  });

  const refused: [WriteRefusal, string | undefined, Partial<Failure>][] = [
    ['stale', undefined, { code: 'CONFLICT' }],
    ['ownerless', undefined, { code: 'CONFLICT', field: '' }],
    ['taken', undefined, { code: 'CONFLICT', field: 'name', reason: 'is already in use' }],
    ['taken', 'email', { code: 'CONFLICT', field: 'email', reason: 'is already in use' }],
  ];
  for (const [refusal, unique, expected] of refused)
    it(`that is ${refusal}${unique ? ` by its ${unique}` : ''} is a conflict, and not tried again`, async () => {
      const { guard, state, denied } = started([refusal]);
      await assert.rejects(own(guard, unique === undefined ? {} : { unique }), (error: Failure) => {
        assert.equal(error instanceof StaleChange, refusal === 'stale');
        assert.equal(/last owner/.test(error.message), refusal === 'ownerless');
        for (const [member, value] of Object.entries(expected))
          assert.equal(error[member as keyof Failure], value);
        return true;
      });
      assert.deepEqual([state.attempts, denied.length], [1, 0]);
    });

  it('that fails otherwise fails as it did', async () => {
    const error = new Error('as planned');
    const { guard } = started([error, error]);
    await assert.rejects(own(guard), error);
    await assert.rejects(guard.used(owner, 'access-key.updated', wanted()), error);
  });

  it('is tried again for a caller who may still do it, five times in all', async () => {
    const few = started(['unauthorized', 'unauthorized', 'unauthorized', 'unauthorized']);
    assert.equal(await own(few.guard), 'receipt');
    const many = started(Array.from({ length: 9 }, () => 'unauthorized' as const));
    assert.equal(await outcomeOf(() => own(many.guard)), 'UNAUTHORIZED');
    assert.equal(many.state.attempts, 5);
    assert.deepEqual(many.reasons(), [['secret.updated', 'authority withdrawn']]);
  });

  it('is refused to a caller who is over, or may not do it any more', async () => {
    const withdrawn = started(['unauthorized']);
    withdrawn.state.renewed = () => null;
    assert.equal(await outcomeOf(() => own(withdrawn.guard)), 'UNAUTHORIZED');
    assert.equal(withdrawn.state.attempts, 1);
    assert.equal(withdrawn.denied[0]!.subject!.id, 's');
    const over = started();
    over.state.isOver = true;
    over.state.renewed = () => null;
    assert.equal(await outcomeOf(() => own(over.guard)), 'UNAUTHORIZED');
    assert.equal(over.state.attempts, 0);
  });

  it('is refused where it would outlast who makes it, and one who is over is refused for that', async () => {
    const rows = [{ table: 'credentials' as const, id: 'key', revision: 1 }];
    const key: Caller = { ...owner, kind: 'api-key', id: 'key', until: 9, proof: { rows, until: 9 } };
    const person: Caller = { ...owner, kind: 'member', proof: { rows: [], until: 9, provenAt: null } };
    const subjects = [secret(), { ...secret(), verb: 'webhook.created', lasts: 'without end' }] as const;
    const { guard, state, reasons, committed } = started();
    assert.equal(await outcomeOf(() => own(guard, { subjects }, key)), 'FORBIDDEN');
    assert.deepEqual(reasons(), [['webhook.created', 'outlasts its creator']]);
    assert.equal(await outcomeOf(() => own(guard, { subjects }, person)), 'PROOF_REQUIRED');
    assert.equal(reasons().length, 1, 'to be asked for a proof is no refusal');
    assert.equal(committed.length, 0);
    const given = { subjects: [{ ...secret(), lasts: 'without end' }], statements: [change] } as const;
    assert.equal(await outcomeOf(() => guard.own(key, 'api-key.created', given)), 'FORBIDDEN');
    assert.deepEqual(reasons()[1], ['api-key.created', 'outlasts its creator']);
    assert.equal(await own(guard, { subjects }, owner), 'receipt');
    state.isOver = true;
    state.renewed = () => null;
    assert.equal(await outcomeOf(() => own(guard, { subjects }, key)), 'UNAUTHORIZED');
  });

  it('by a key that is used is its own, and may be overtaken', async () => {
    const { guard, committed } = started(['stale']);
    const use = (more?: Partial<GuardedChange>) => guard.used(owner, 'access-key.updated', wanted(more));
    await assert.rejects(use(), StaleChange);
    await use();
    await use({ touches: ['s'] });
    assert.deepEqual(
      committed.map(one => one.change!.touches),
      [[], ['s']],
    );
  });

  it('by the operator is written down for each whom they act for', async () => {
    const { guard, committed } = started();
    const other = { ...owner, organizationId: 'other' };
    const deed = { subject: secret(), details: { a: 1 }, statements: [change], touches: ['s'] };
    await guard.operate([owner, other], 'keyring.root_key_changed', deed);
    const [{ entries, change: stored }] = committed as [Committed];
    assert.deepEqual(
      entries.map(one => [one.organization_id, one.details]),
      [
        ['org', { a: 1 }],
        ['other', { a: 1 }],
      ],
    );
    assert.deepEqual(stored, { statements: [change], touches: ['s'] });
  });
});

describe('what the guard writes down', () => {
  it('of the service’s own work is what it did, with what it carries on', async () => {
    const error = new Error('as planned');
    const { guard, committed } = started([undefined as never, undefined as never, 'stale', error]);
    const maintain = (more = {}) =>
      guard.maintain('audit_logs.pruned' as Parameters<Guard['maintain']>[0], {
        details: { n: 1 },
        statements: [change],
        ...more,
      });
    assert.equal(await maintain(), 'done');
    await maintain({ carried: [secret(), { ...secret(), details: { a: 1 } }] });
    assert.equal(await maintain(), 'refused');
    await assert.rejects(maintain(), error);
    assert.deepEqual(
      committed.map(({ entries }) => entries.map(one => [one.organization_id, one.revision, one.details])),
      [
        [[null, null, { n: 1 }]],
        [
          [null, 2, {}],
          [null, 2, { a: 1 }],
          [null, null, { n: 1 }],
        ],
      ],
    );
  });

  it('of a failed proof is who was claimed, if there is one, and why', async () => {
    const { guard, committed } = started();
    const claimed = { organizationId: 'org', subject: { type: 'member', id: 'm', name: 'M' } };
    await guard.unproven(owner.origin, 'session.started', claimed, 'wrong code');
    await guard.unproven(owner.origin, 'session.started', null);
    assert.deepEqual(
      committed.flatMap(({ entries }) =>
        entries.map(one => [one.organization_id, one.actor.id, one.outcome, one.subject?.id, one.details]),
      ),
      [
        ['org', 'nobody', 'denied', 'm', { reason: 'wrong code' }],
        [null, 'nobody', 'denied', undefined, {}],
      ],
    );
    assert.equal(committed[1]!.entries[0]!.subject, null);
  });

  it('of a caller who asks too often, or is withdrawn, is why', async () => {
    const { guard, reasons } = started();
    await guard.limited(owner, 'secret.revealed', secret());
    await guard.withdrawn(owner, 'secrets:read');
    assert.deepEqual(reasons(), [
      ['secret.revealed', 'rate limit'],
      ['secrets:read', 'authority withdrawn'],
    ]);
  });
});

describe('what is sent bit by bit', () => {
  async function* numbers(count: number, each = () => {}) {
    for (let at = 0; at < count; at++) {
      each();
      yield at;
    }
  }
  const sent = async (entries: AsyncIterable<unknown>) => {
    let count = 0;
    for await (const _ of entries) count++;
    return count;
  };

  it('asks at its beginning and after each 500 entries whether the caller may have it', async () => {
    const { guard, state } = started();
    const permit = await guard.admit(owner, 'secrets:read');
    const send = (count: number) => sent(guard.during(permit, 'secret.revealed', numbers(count)));
    for (const [count, asked] of [
      [1, 1],
      [500, 1],
      [501, 2],
      [1_001, 3],
    ] as const) {
      state.asked = 0;
      assert.deepEqual([await send(count), state.asked], [count, asked]);
    }
  });

  it('asks once a second too, however slowly it goes', async () => {
    const { guard, state } = started();
    const permit = await guard.admit(owner, 'secrets:read');
    const send = (pause: number) =>
      sent(
        guard.during(
          permit,
          'secret.revealed',
          numbers(5, () => (state.now += pause)),
        ),
      );
    await send(1_000);
    assert.equal(state.asked, 5);
    state.asked = 0;
    await send(499);
    assert.equal(state.asked, 2);
  });

  it('ends where the caller may not have it any more, and that is written down', async () => {
    const { guard, state, reasons } = started();
    const permit = await guard.admit(owner, 'secrets:read');
    await guard.confirm(permit);
    state.renewed = () => null;
    assert.equal(
      await outcomeOf(() => sent(guard.during(permit, 'secret.revealed', numbers(3)))),
      'UNAUTHORIZED',
    );
    assert.equal(await outcomeOf(() => guard.confirm(permit)), 'UNAUTHORIZED');
    assert.deepEqual(reasons(), [
      ['secret.revealed', 'authority withdrawn'],
      ['secrets:read', 'authority withdrawn'],
    ]);
  });
});
