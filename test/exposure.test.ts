/** Which changes show something to existing access keys: the decision by itself. That every change asks is tested over HTTP, in shown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import type { Restrictions } from '../src/domain/credentials/credential.ts';
import { checkExposureWith } from '../src/domain/credentials/exposure.ts';
import { guardWith } from '../src/domain/kernel/guard.ts';
import type { Parts } from '../src/domain/kernel/parts.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';

const now = 1_000;
const editor: Caller = { ...trustedCaller('operator', 'o', 'o', 'org', ''), role: 'editor' };
/** Writes, and reads certificates, but no other value. */
const admin: Caller = { ...editor, role: 'admin' };

interface Key {
  readonly narrowing?: Restrictions;
  readonly expiration_date?: number | null;
}

/** The access keys and identities of a vault, by their restrictions. */
interface World {
  readonly keys?: readonly Key[];
  readonly identities?: readonly Restrictions[];
  /** Whether templates refer to it, or to something in it. */
  readonly referred?: boolean;
}

function checkIn({ keys = [], identities = [], referred = false }: World) {
  const asked: unknown[] = [];
  const answer =
    (rows: readonly object[]) =>
    async (organization: string, ...rest: string[]) => {
      asked.push([organization, rest.at(-1)]);
      return rows;
    };
  const rows = keys.map(({ narrowing = {}, expiration_date = null }) => ({
    kind: 'access-key',
    narrowing: JSON.stringify(narrowing),
    expiration_date,
    revoked_at: null,
  }));
  const believed = { believe: (row: object) => row };
  const denied: unknown[] = [];
  const ledger = { refusals: { denial: async (entry: unknown) => void denied.push(entry) } };
  const guard = guardWith({ ledger: ledger as never, authority: null as never, now: () => now });
  const check = checkExposureWith({
    store: {
      credentials: { ofVault: answer(rows) },
      identities: { ofVault: answer(identities.map(one => ({ narrowing: JSON.stringify(one) }))) },
      references: { hasReferrers: async () => referred, hasReferrersInto: async () => referred },
    },
    stamps: { credential: believed, identity: believed },
    guard,
    now: () => now,
  } as unknown as Parts);
  return { check, asked };
}

const resource = {
  organization_id: 'org',
  vault_id: 'vault',
  type: 'secret',
  name: 'A',
  enabled: 1,
  activation_date: null,
  expiration_date: null,
  deleted_at: null,
  attributes: '{}',
} as ResourceRow;
const vault = { type: 'vault', name: 'vault' };

async function isShown(
  world: World,
  before: Partial<ResourceRow>,
  after: Partial<ResourceRow>,
  value: 'same' | 'new' | 'earlier' = 'same',
  caller = admin,
): Promise<boolean> {
  const was = { ...resource, ...before };
  try {
    await checkIn(world).check(caller, was, { ...was, ...after }, value);
    return false;
  } catch (error) {
    assert.ok(error instanceof Failure && error.code === 'FORBIDDEN', String(error));
    assert.match(error.message, /^Existing access keys could then read/);
    return true;
  }
}

const open: World = { keys: [{}] };
const disabled = { enabled: 0 } as const;
const enabled = { enabled: 1 } as const;
const renamed = { name: 'B' };

describe('a change by somebody who may not read the value', () => {
  const dates: [string, Partial<ResourceRow>, Partial<ResourceRow>, boolean][] = [
    ['that changes nothing', {}, {}, false],
    ['that gives another name', {}, renamed, false],
    ['that disables', {}, disabled, false],
    ['that gives what is disabled another name', disabled, renamed, false],
    ['that enables', disabled, enabled, true],
    ['that restores', { deleted_at: 5 }, { deleted_at: null }, true],
    ['that restores what is disabled', { deleted_at: 5, enabled: 0 }, { deleted_at: null }, false],
    ['that enables what is deleted', { deleted_at: 5, enabled: 0 }, enabled, false],
    ['that lets what is over last', { expiration_date: now }, { expiration_date: now + 1 }, true],
    ['that leaves what is over', { expiration_date: now }, renamed, false],
    ['that lets it last', { expiration_date: now + 1 }, { expiration_date: null }, false],
    ['that begins earlier', { activation_date: now + 9 }, { activation_date: now + 8 }, true],
    ['that begins as before', { activation_date: now + 9 }, {}, false],
    ['that begins later', { activation_date: now + 9 }, { activation_date: now + 10 }, false],
    ['that begins at once', { activation_date: now + 9 }, { activation_date: null }, true],
    ['that enables what begins later', { activation_date: now + 9, enabled: 0 }, enabled, true],
  ];
  for (const [what, before, after, expected] of dates)
    it(`${what} shows ${expected ? 'something' : 'nothing'} to a key that sees everything`, async () => {
      assert.equal(await isShown(open, before, after), expected);
      assert.equal(await isShown({}, before, after), false, 'there is no key');
      assert.equal(await isShown(open, before, after, 'same', editor), false, 'they may read it');
    });

  it('of a vault shows all that lies in it', async () => {
    assert.equal(await isShown(open, { ...vault, ...disabled }, enabled), true);
    assert.equal(await isShown(open, vault, renamed), false);
    const named = { keys: [{ narrowing: { names: ['elsewhere'] } }] };
    assert.equal(await isShown(named, { ...vault, ...disabled }, enabled), true);
    const certificates = { keys: [{ narrowing: { kinds: ['certificate'] as const } }] };
    assert.equal(await isShown(certificates, { ...vault, ...disabled }, enabled), false);
  });

  it('of what everybody may read who writes shows nothing', async () => {
    assert.equal(await isShown(open, { type: 'certificate', ...disabled }, enabled), false);
    assert.equal(await isShown(open, { type: 'key', ...disabled }, enabled), true);
  });

  const values: ['same' | 'new' | 'earlier', Partial<ResourceRow>, boolean][] = [
    ['same', {}, false],
    ['new', {}, false],
    ['new', disabled, false],
    ['earlier', {}, true],
    ['earlier', disabled, true],
  ];
  for (const [value, before, expected] of values)
    it(`with ${value} value of ${before.enabled === 0 ? 'what was disabled' : 'what was read'} shows ${expected ? 'it' : 'nothing'}`, async () => {
      assert.equal(await isShown(open, before, enabled, value), expected);
    });

  const names: [readonly string[] | null, boolean, boolean][] = [
    [null, false, true],
    [['A'], false, false],
    [['B'], true, true],
    [['A', 'B'], false, true],
    [['*'], false, true],
    [['C'], false, false],
  ];
  for (const [patterns, byName, byEnabling] of names) {
    const narrowing: Restrictions = { names: patterns };
    for (const [whose, world] of Object.entries({
      'a key': { keys: [{ narrowing }] },
      'an identity': { identities: [narrowing] },
    }))
      it(`that renames A to B, for ${whose} of ${patterns ?? 'all'}`, async () => {
        assert.equal(await isShown(world, {}, renamed), byName);
        assert.equal(await isShown(world, disabled, { ...renamed, ...enabled }), byEnabling);
      });
  }

  const keys: [string, Restrictions, boolean][] = [
    ['sees all', {}, true],
    ['sees names only', { names_only: true }, false],
    ['sees names only, and uses values', { names_only: true, may_use: true }, true],
    ['uses values', { may_use: true }, true],
    ['sees secrets', { kinds: ['key', 'secret'] }, true],
    ['sees no secrets', { kinds: ['key'] }, false],
  ];
  for (const [what, narrowing, expected] of keys)
    it(`that enables shows ${expected ? 'it' : 'nothing'} to one that ${what}`, async () => {
      assert.equal(await isShown({ keys: [{ narrowing }] }, disabled, enabled), expected);
      assert.equal(await isShown({ identities: [narrowing] }, disabled, enabled), expected);
      assert.equal(
        await isShown({ keys: [{ narrowing: { kinds: [] } }, { narrowing }] }, disabled, enabled),
        expected,
      );
    });

  it('shows nothing to a key that is over', async () => {
    const until = (expiration_date: number) => ({ keys: [{ expiration_date }] });
    assert.equal(await isShown(until(now), disabled, enabled), false);
    assert.equal(await isShown(until(now + 1), disabled, enabled), true);
  });

  it('looks at the keys and identities of its own vault alone, and at none where nothing can be shown', async () => {
    const looks = async (before: ResourceRow, caller: Caller) => {
      const { check, asked } = checkIn({});
      await check(caller, before, resource, 'same');
      return asked;
    };
    const was = { ...resource, ...disabled };
    assert.deepEqual(await looks(was, admin), [
      ['org', 'vault'],
      ['org', 'vault'],
    ]);
    assert.deepEqual(await looks(was, editor), [], 'they may read it');
    assert.deepEqual(await looks(resource, admin), [], 'nothing changes');
  });

  it('shows it to the readers of templates that contain it, unless they could read it before', async () => {
    const referred = { referred: true };
    assert.equal(await isShown(referred, disabled, enabled), true);
    assert.equal(await isShown(referred, { deleted_at: 5 }, { deleted_at: null }), true);
    assert.equal(await isShown(referred, {}, {}, 'earlier'), true);
    assert.equal(await isShown(referred, {}, renamed), false, 'a template refers to it by its id');
    assert.equal(await isShown(referred, disabled, enabled, 'new'), false, 'a value of their own');
    assert.equal(await isShown(referred, { ...vault, deleted_at: 5 }, { deleted_at: null }), true);
    assert.equal(await isShown(referred, disabled, enabled, 'same', editor), false);
    assert.equal(await isShown(referred, { ...disabled, type: 'key' }, enabled), false, 'only secrets');
  });
});
