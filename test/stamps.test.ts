/** Stamps of every release hold for ever: which columns they cover, and in which order, is frozen in vectors. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { type Stamps, stampsWith } from '../src/domain/kernel/stamps.ts';
import { Keyring } from '../src/keyring/keyring.ts';
import { keyFile } from '../src/keyring/root-key/key-file.ts';
import { columns } from '../src/store/integrity/stamp-columns.ts';

const vector = (name: string) =>
  JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8'));
/** By kind: the stamp of the first release, and those of migrations that added columns. */
const frozen: Readonly<Record<string, Readonly<Record<string, string>>>> = vector('stamps');

type Row = Readonly<Record<string, unknown>>;
type Vouch = (row: Row) => Row;

const tables: Readonly<Record<string, keyof typeof columns>> = {
  organization: 'organizations',
  member: 'members',
  memberGroup: 'member_groups',
  account: 'accounts',
  passkey: 'passkeys',
  session: 'sessions',
  resource: 'resources',
  stage: 'stages',
  credential: 'credentials',
  identity: 'identities',
  webhook: 'webhooks',
  event: 'events',
  version: 'versions',
  toolSession: 'mcp_sessions',
  lockOut: 'lock_outs',
  deviceLogin: 'device_logins',
  oauthGrant: 'oauth_grants',
};

const isCovered = (how: unknown) =>
  how === 'stamped' ||
  how === 'stamp' ||
  (typeof how === 'object' && ('since' in how! || 'sealedStamped' in how!));

const isTampered = (error: unknown) => error instanceof Failure && error.code === 'INTERNAL_ERROR';

describe('a stamp', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-test-'));
  let stamps: Stamps;

  before(async () => {
    const { rootKeyFile, wrapped } = vector('keyring');
    const path = join(folder, 'root.key');
    writeFileSync(path, rootKeyFile, { mode: 0o400 });
    const root = await keyFile(path).open();
    stamps = stampsWith(await Keyring.unwrap(root, Buffer.from(wrapped, 'hex')));
  });
  after(() => rmSync(folder, { recursive: true }));

  const treatments = (kind: string): [string, unknown][] => Object.entries(columns[tables[kind]!]);
  /** Each column holds its own name. */
  function rowOf(kind: string, stamp: string): Row {
    const names = treatments(kind).flatMap(([name, how]) => (how === 'stamp' ? [] : name));
    const values = names.map(name => [name, `${tables[kind]}.${name}`]);
    return { ...Object.fromEntries(values), stamp: Buffer.from(stamp, 'hex') };
  }
  function vouchOf(kind: string): Vouch {
    if (kind === 'event') return stamps.believeEvent as unknown as Vouch;
    if (kind === 'version') return stamps.believeVersion as unknown as Vouch;
    return (stamps as unknown as Record<string, { vouched: Vouch }>)[kind]!.vouched;
  }

  it('of the newest form vouches for the row as it is, and for no other', () => {
    assert.deepEqual(Object.keys(frozen).sort(), Object.keys(tables).sort());
    for (const [kind, forms] of Object.entries(frozen)) {
      const row = rowOf(kind, Object.values(forms).at(-1)!);
      assert.deepEqual(vouchOf(kind)(row), row, kind);
      for (const [name, how] of treatments(kind)) {
        const value = how === 'stamp' ? Buffer.alloc(32) : 'edited';
        const edited = () => vouchOf(kind)({ ...row, [name]: value });
        if (isCovered(how)) assert.throws(edited, isTampered, `${kind}.${name}`);
        else edited();
      }
    }
  });

  it('of an earlier form vouches for no later column: what stands there is not looked at', () => {
    const row = rowOf('session', frozen.session!.first!);
    for (const used_at of ['sessions.used_at', 'edited', null]) {
      const vouched = vouchOf('session')({ ...row, used_at });
      assert.equal(vouched.used_at, 'sessions.updated_at', 'as long ago as the last thing it vouches for');
    }
    assert.equal(vouchOf('session')(row).proven_at, null, 'nobody proved themselves again then');
    assert.throws(() => vouchOf('session')({ ...row, updated_at: 'edited' }));
    const { oidc_issuer, oidc_subject } = vouchOf('account')(rowOf('account', frozen.account!.first!));
    assert.deepEqual([oidc_issuer, oidc_subject], [null, null]);
    const key = vouchOf('credential')(rowOf('credential', frozen.credential!.first!));
    assert.deepEqual([key.identity_id, key.identity_revision], [null, null]);
  });

  it('is the one of the oldest release that may run beside this one, where nothing stands in later columns', () => {
    const { member, credential } = stamps as unknown as Record<
      string,
      { stamp(row: Row): { stamp: Buffer } }
    >;
    const plain = { ...rowOf('member', ''), grants: '[]' };
    assert.equal(member!.stamp(plain).stamp.toString('hex'), frozen.member!.first);
    assert.equal(member!.stamp(rowOf('member', '')).stamp.toString('hex'), frozen.member!['012']);
    assert.equal(credential!.stamp(rowOf('credential', '')).stamp.toString('hex'), frozen.credential!['009']);
  });

  it('of that release holds for no row that has something in later columns', () => {
    const row = { ...rowOf('member', frozen.member!.first!), grants: '[]' };
    assert.deepEqual(vouchOf('member')(row), row);
    assert.throws(() => vouchOf('member')({ ...row, grants: '[{"vault_id":"x","role":"owner"}]' }));
    assert.throws(() => vouchOf('member')({ ...row, grants: null }));
    const given = rowOf('member', frozen.member!['012']!);
    assert.throws(() => vouchOf('member')({ ...given, grants: '[]' }), 'nor is what was given taken away');
  });

  it('is believed at the newest revision that the audit log knows of, and with its version', () => {
    const { check, believe } = stamps.resource as unknown as Record<'check' | 'believe', Vouch>;
    const row = rowOf('resource', frozen.resource!.first!);
    const audited: Row = { ...row, audited_revision: row.revision };
    assert.deepEqual(check(audited), audited);
    assert.deepEqual(believe(audited), row);
    assert.deepEqual(believe({ ...audited, value: 'sealed' }), { ...row, value: 'sealed' });
    for (const wrong of [
      { ...audited, value: null },
      { ...audited, audited_revision: 'resources.earlier' },
      { ...audited, audited_revision: null },
      { ...audited, name: 'edited' },
    ]) {
      assert.throws(() => check(wrong), isTampered);
      assert.throws(() => believe(wrong), isTampered);
    }
  });

  it('is renewed with each revision', () => {
    const { revise, vouched } = stamps.resource;
    const before = { ...rowOf('resource', frozen.resource!.first!), revision: 7 } as unknown as Parameters<
      typeof vouched
    >[0];
    const after = revise(before, { name: 'renamed' }, 1_000);
    assert.deepEqual([after.name, after.revision, after.updated_at], ['renamed', 8, 1_000]);
    assert.equal(vouched(after), after);
    assert.throws(() => vouched({ ...after, revision: 9 }), isTampered);
  });
});
