/** Approvals: for which calls one is good, until when, by whom it is given, and how it is shown. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { grantOfRole } from '../src/access/policy.ts';
import { type ApprovalReference, Failure } from '../src/contract/errors.ts';
import { type Approvals, approvalsWith } from '../src/domain/uses/approval-decisions.ts';
import { presentApproval, type SealedRequest } from '../src/domain/uses/approval-records.ts';
import {
  type ApprovedCall,
  approvalIn,
  approvalRequestsWith,
  fingerprintOf,
} from '../src/domain/uses/approval-requests.ts';
import { approversWith } from '../src/domain/uses/approvers.ts';
import type { ApprovalRow } from '../src/store/records/approvals.ts';
import { type Asking, asking, takes } from './asking.ts';
import { BareUses, newId, organizationId, vaultId } from './bare-uses.ts';

const minute = 60_000;
const rule = { id: newId(), name: 'rule', revision: 1 };
const resource = { id: newId(), version: 1, revision: 1 };
const callOf = (asked: string, said: Partial<ApprovedCall> = {}): ApprovedCall => ({
  tool: 'secrets.use',
  rule,
  resource,
  asked: [asked],
  shown: { tool: 'secrets.use', secret: 'S' } as ApprovedCall['shown'],
  ...said,
});

describe('what an approval is bound to', () => {
  const reader = { id: 'key', narrowing: null };
  const call = callOf('one');
  const others: [what: string, print: string][] = [
    ['another call', fingerprintOf(reader, callOf('two'))],
    ['another access key', fingerprintOf({ ...reader, id: 'other' }, call)],
    ['a restricted one', fingerprintOf({ ...reader, narrowing: { id: 'a' } as never }, call)],
    ['one that is restricted otherwise', fingerprintOf({ ...reader, narrowing: { id: 'b' } as never }, call)],
    ['another tool', fingerprintOf(reader, { ...call, tool: 'keys.sign' })],
    ['another rule', fingerprintOf(reader, { ...call, rule: { ...rule, id: 'r' } })],
    ['a changed rule', fingerprintOf(reader, { ...call, rule: { ...rule, revision: 2 } })],
    ['another secret', fingerprintOf(reader, { ...call, resource: { ...resource, id: 's' } })],
    ['a new version', fingerprintOf(reader, { ...call, resource: { ...resource, version: 2 } })],
  ];
  it('tells each call from each other', () => {
    const prints = new Set([fingerprintOf(reader, call), ...others.map(([, print]) => print)]);
    assert.equal(prints.size, 1 + others.length, JSON.stringify(others));
    assert.equal(fingerprintOf(reader, callOf('one')), fingerprintOf(reader, call));
  });
});

describe('the approval of a call', () => {
  let world: BareUses;
  let sealed: string[];
  let approver: object | undefined;
  let most: number | undefined;
  let failure: Error | null;
  let failing: string;
  beforeEach(() => {
    world = new BareUses();
    sealed = [];
    approver = { member: { state: 'active', role: 'editor', grants: '[]', updated_at: 5 }, groups: [] };
    failure = null;
    failing = 'approval.requested';
  });

  const vault = {
    sealer: {
      seal: (_: unknown, text: Buffer) => {
        sealed.push(text.toString());
        return Buffer.alloc(0);
      },
    },
  } as never;
  const take = (call: ApprovedCall): Promise<string> => {
    const { store, guard, ...parts } = world.parts;
    const approvals = {
      ...store.approvals,
      fewerWaiting: (asked: { most: number }) => {
        most = asked.most;
        return [];
      },
    };
    const used: typeof guard.used = async (...given) => {
      if (failure !== null && given[1] === failing) throw failure;
      return guard.used(...given);
    };
    const requests = approvalRequestsWith({
      ...parts,
      guard: { ...guard, used },
      store: { ...store, approvals },
      holders: { byMember: async () => approver, fresh: async () => approver },
    } as never);
    return requests.take({ reader: world.reader, origin: {} as never }, vault, call);
  };
  async function waits(call: ApprovedCall): Promise<Failure & { readonly approval: ApprovalReference }> {
    const error = await take(call).then(
      () => assert.fail('was approved'),
      thrown => thrown,
    );
    assert.ok(error instanceof Failure && error.approval !== undefined, String(error));
    return error as Failure & { readonly approval: ApprovalReference };
  }
  /** The approver had what they have when they decided. */
  const decide = (state: ApprovalRow['state'], said: Partial<ApprovalRow> = {}) => {
    world.approvals = world.approvals.map(row => ({
      ...row,
      state,
      decided_by: 'them',
      updated_at: 5,
      ...said,
    }));
  };

  it('is asked for once, and waits for ten minutes', async () => {
    const first = await waits(callOf('one'));
    assert.equal(first.message, 'Forbidden: a person has to approve this call first');
    assert.deepEqual([first.code, first.because], ['FORBIDDEN', 'approval_required']);
    const [row] = world.approvals;
    assert.deepEqual(
      [row!.state, row!.scope, row!.decided_by, row!.expires_at, row!.vault_id],
      ['pending', 'call', null, world.time + 10 * minute, vaultId],
    );
    const { approval } = await waits(callOf('one'));
    assert.deepEqual(approval, { id: row!.id, expires_at: new Date(row!.expires_at).toISOString() });
    assert.equal(world.approvals.length, 1);
    assert.notEqual((await waits(callOf('two'))).approval.id, row!.id);
    assert.deepEqual([world.approvals.length, world.changes.length, most], [2, 2, 20]);
  });

  it('is told of beside the refusal, and no other failure tells of one', async () => {
    const failure = await waits(callOf('one'));
    const { id, expires_at } = failure.approval;
    assert.deepEqual(approvalIn(failure, 'https://vault'), {
      approval: { id, url: `https://vault/approvals/${id}`, expires_at },
    });
    assert.deepEqual(approvalIn(new Failure('FORBIDDEN'), 'https://vault'), {});
  });

  const names: [what: string, said: object, shown: unknown[]][] = [
    ['by its name', {}, ['agent', null, null]],
    ['by the name of the one that created it', { parentName: 'parent' }, ['parent', 'agent', null]],
    ['by its restriction', { narrowing: { id: 'n' } }, ['agent', null, 'n']],
  ];
  for (const [what, said, shown] of names)
    it(`shows the access key ${what}`, async () => {
      world.reader = { ...world.reader, ...said };
      await waits(callOf('one'));
      const { access_key, own_name, restriction, secret } = JSON.parse(sealed[0]!);
      assert.deepEqual([access_key, own_name, restriction, secret], [...shown, 'S']);
    });

  it('is used up by the call', async () => {
    await waits(callOf('one'));
    decide('approved');
    world.changes = [];
    assert.equal(await take(callOf('one')), world.approvals[0]!.id);
    assert.deepEqual(world.changes, ['approval.used']);
  });

  it('is good for no other call', async () => {
    await waits(callOf('one'));
    decide('approved');
    assert.notEqual((await waits(callOf('two'))).approval.id, world.approvals[0]!.id);
  });

  it('of all calls under a rule stands, for calls under this rule', async () => {
    await waits(callOf('one'));
    decide('approved', { scope: 'rule' });
    world.changes = [];
    assert.equal(await take(callOf('one')), world.approvals[0]!.id);
    assert.equal(await take(callOf('two')), world.approvals[0]!.id);
    assert.deepEqual(world.changes, []);
    await waits(callOf('one', { rule: { ...rule, revision: 2 } }));
  });

  it('was refused: that stands', async () => {
    await waits(callOf('one'));
    decide('refused');
    const refused = await waits(callOf('one'));
    assert.equal(refused.message, 'Forbidden: a person refused this call');
    assert.deepEqual([refused.because, refused.approval.id], ['approval_refused', world.approvals[0]!.id]);
    assert.equal(world.approvals.length, 1);
  });

  it('is none where it was used', async () => {
    await waits(callOf('one'));
    decide('used');
    await waits(callOf('one'));
    assert.equal(world.approvals.length, 2);
  });

  for (const scope of ['call', 'rule'] as const)
    it(`is none where its approver may not approve any more: ${scope}`, async () => {
      await waits(callOf('one'));
      decide('approved', { scope });
      approver = undefined;
      await waits(callOf('one'));
      assert.equal(world.approvals.length, 2);
    });

  it('is tried three times where its approver changes meanwhile', async () => {
    await waits(callOf('one'));
    decide('approved');
    world.stale = 2;
    assert.equal(await take(callOf('one')), world.approvals[0]!.id);
    world.stale = 3;
    await waits(callOf('one'));
    assert.equal(world.approvals.length, 2);
  });

  it('fails with what failed', async () => {
    failure = new Failure('UNAVAILABLE');
    await assert.rejects(take(callOf('one')), { code: 'UNAVAILABLE' });
    failure = null;
    await waits(callOf('one'));
    decide('approved');
    failure = new Failure('UNAVAILABLE');
    failing = 'approval.used';
    await assert.rejects(take(callOf('one')), { code: 'UNAVAILABLE' });
  });

  it('is not asked for where too many wait', async () => {
    world.stale = 1;
    await assert.rejects(take(callOf('one')), {
      code: 'RATE_LIMITED',
      message: 'At most 20 calls with an access key can wait for approval at a time',
      retryAfter: 60,
      because: 'too_many_calls',
    });
  });

  it('rests on what its approver had when it was given, and has when it is used', async () => {
    const row = { vault_id: vaultId, updated_at: 5, decided_by: 'them' } as ApprovalRow;
    const conditions = () =>
      approversWith({
        store: world.parts.store,
        holders: { byMember: async () => approver, fresh: async () => approver } as never,
        now: () => 5,
      }).conditions(row);
    const member = (said: object) => ({
      member: { id: 'm', revision: 1, state: 'active', role: 'editor', grants: '[]', updated_at: 5, ...said },
      groups: [],
    });
    approver = member({});
    assert.equal((await conditions())!.length, 1);
    for (const bad of [
      undefined,
      member({ state: 'invited' }),
      member({ role: 'viewer' }),
      member({ updated_at: 6 }),
    ]) {
      approver = bad;
      assert.equal(await conditions(), null);
    }
  });
});

describe('an approval, as it is shown', () => {
  const now = 1_000;
  const row = { id: 'a', expires_at: now + 1, state: 'pending', created_at: 0, updated_at: 0 } as ApprovalRow;
  const request = {
    rule: 'r',
    access_key: 'k',
    own_name: 'o',
    restriction: 'n',
    secret: 'S',
  } as SealedRequest;
  const states: [state: ApprovalRow['state'], expires: number, shown: string][] = [
    ['pending', 1, 'pending'],
    ['pending', 0, 'expired'],
    ['approved', 1, 'approved'],
    ['approved', 0, 'expired'],
    ['approved', -1, 'expired'],
    ['used', 1, 'used'],
    ['used', -1, 'used'],
    ['refused', 1, 'refused'],
    ['refused', -1, 'refused'],
  ];
  for (const [state, expires, shown] of states)
    it(`is ${shown} where it is ${state} and ${expires} ms are left`, () => {
      const found = presentApproval({ ...row, state, expires_at: now + expires }, request, now);
      assert.equal(found.state, shown);
    });

  it('names the access key as it was sealed, also by an earlier version', () => {
    const { own_name, restriction, request: shown } = presentApproval(row, request, now);
    assert.deepEqual([own_name, restriction, shown], ['o', 'n', { secret: 'S' }]);
    const { own_name: _, restriction: __, ...earlier } = request;
    const old = presentApproval(row, earlier, now);
    assert.deepEqual([old.own_name, old.restriction], [null, null]);
  });
});

describe('those who decide about calls', () => {
  const id = newId();
  let now: number;
  let row: ApprovalRow;
  let changes: { verb: string; lasts: unknown; row: ApprovalRow; touches: readonly string[] }[];
  let vaults: readonly string[] | null;
  let asked: Record<string, unknown>[];
  let approvals: Asking<Approvals, typeof takes.approvals>;
  const person = {
    ...grantOfRole('editor'),
    kind: 'member',
    id: 'person',
    organizationId,
  } as unknown as Caller;
  beforeEach(() => {
    now = 100 * minute;
    row = {
      id,
      organization_id: organizationId,
      vault_id: vaultId,
      state: 'pending',
      scope: 'call',
      expires_at: now + 1,
      created_at: 0,
      updated_at: 0,
      decided_by: null,
      revision: 1,
      request: Buffer.alloc(0),
    } as unknown as ApprovalRow;
    changes = [];
    vaults = null;
    asked = [];
    const parts = {
      now: () => now,
      stamps: {
        approval: {
          believe: <T>(given: T) => given,
          revise: (before: object, changed: object) => ({ ...before, ...changed }),
        },
      },
      guard: {
        admit: async (caller: Caller, action: string) => ({ caller, action, vaults }),
        found: async (_: unknown, found: unknown) => {
          if (found === undefined) throw new Failure('NOT_FOUND');
          return found;
        },
        change: async (_: unknown, verb: string, change: Record<string, never>) => {
          const { subjects, statements, touches } = change as unknown as {
            subjects: { lasts: unknown }[];
            statements: ApprovalRow[];
            touches: string[];
          };
          changes.push({ verb, lasts: subjects[0]!.lasts, row: statements[0]!, touches });
        },
      },
      store: {
        runs: { ofAccessKeys: async () => ({ keys: [], rows: [] }) },
        approvals: {
          byId: async (_: string, of: string) => (of === id ? row : undefined),
          update: (updated: ApprovalRow) => updated,
          page: async (filter: Record<string, unknown>) => {
            asked.push(filter);
            return { rows: [row], total: 1 };
          },
        },
      },
    };
    const sealer = { open: () => Buffer.from(JSON.stringify({ rule: 'r', access_key: 'k', secret: 'S' })) };
    const own = approvalsWith(parts as never, { openVault: async () => ({ sealer }) } as never);
    approvals = asking(parts.guard as never, own, takes.approvals);
  });

  it('approve one call, for as long as it was asked for', async () => {
    const { state, scope, decided_by, request } = await approvals.approve(person, id, 'call');
    assert.deepEqual([state, scope, decided_by, request], ['approved', 'call', 'person', { secret: 'S' }]);
    const [change] = changes;
    assert.deepEqual([change!.verb, change!.lasts], ['approval.approved', 'as before']);
    assert.equal(change!.row.expires_at, now + 1);
    assert.deepEqual(change!.touches, [id, `approvals:${organizationId}`]);
  });

  it('approve all calls under a rule, for an hour', async () => {
    const { expires_at } = await approvals.approve(person, id, 'rule');
    assert.equal(expires_at, new Date(now + 60 * minute).toISOString());
    const until = now + 60 * minute;
    assert.deepEqual([changes[0]!.verb, changes[0]!.lasts], ['approval.approved', { until, madeWith: [] }]);
  });

  it('approve no longer than their role in the vault lasts', async () => {
    const until = now + minute;
    const vaultRoles = new Map([[vaultId, [{ role: 'editor' as const, until }]]]);
    const { expires_at } = await approvals.approve({ ...person, role: 'none', vaultRoles }, id, 'rule');
    assert.equal(expires_at, new Date(until).toISOString());
  });

  it('refuse one', async () => {
    assert.equal((await approvals.refuse(person, id)).state, 'refused');
    assert.deepEqual([changes[0]!.verb, changes[0]!.lasts], ['approval.refused', 'as before']);
  });

  for (const decide of ['approve', 'refuse'] as const) {
    it(`are people who are signed in: ${decide}`, async () => {
      for (const kind of ['api-key', 'operator']) {
        const key = { ...person, kind } as unknown as Caller;
        await assert.rejects(approvals[decide](key, id, 'call'), {
          code: 'FORBIDDEN',
          message: 'Only a signed-in person can approve or refuse a call',
        });
      }
    });

    for (const state of ['approved', 'refused', 'used'] as const)
      it(`are too late where it was ${state}: ${decide}`, async () => {
        row = { ...row, state };
        const message = 'This call was already approved or refused';
        await assert.rejects(approvals[decide](person, id, 'call'), { code: 'CONFLICT', message });
        assert.deepEqual(changes, []);
      });

    it(`are too late where it expired: ${decide}`, async () => {
      now += 1;
      const message = 'The request has expired';
      await assert.rejects(approvals[decide](person, id, 'call'), { code: 'CONFLICT', message });
      assert.deepEqual(changes, []);
    });
  }

  const query = { page: 1, limit: 10 } as const;
  it('see those that wait, or all, in the vaults that they are given', async () => {
    const { data, pagination } = await approvals.list(person, { ...query, state: 'waiting' } as never);
    assert.deepEqual([data[0]!.id, pagination.total], [id, 1]);
    await approvals.list(person, { ...query, state: 'all' } as never);
    vaults = [vaultId];
    await approvals.list(person, query as never);
    assert.deepEqual(
      asked.map(({ vaultIds, waitingAt }) => [vaultIds, waitingAt]),
      [
        [undefined, now],
        [undefined, undefined],
        [[vaultId], now],
      ],
    );
    vaults = [];
    assert.deepEqual((await approvals.list(person, query as never)).pagination.total, 0);
    assert.equal(asked.length, 3, 'nothing is looked for where there is nothing to see');
    assert.equal((await approvals.get(person, id)).id, id);
  });
});
