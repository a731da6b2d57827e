import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { publicBytes } from '../src/base/bytes.ts';
import { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import { type AuditEntry, auditText } from '../src/logs/entries.ts';
import { type Unit, UnitsRefused } from '../src/store/engine/engine.ts';
import type { CredentialRow } from '../src/store/records/credentials.ts';
import type { NewAuditRow } from '../src/store/records/logs.ts';
import type { MemberRow, OrganizationRow } from '../src/store/records/organizations.ts';
import type { RequestBlockRow, RequestIndexRow } from '../src/store/records/request-logs.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';
import { type Location, openStore, peekKeyring, type Store } from '../src/store/store.ts';
import { digestFrom, sealedFrom, stampFrom } from './bytes.ts';
import { engines, eventually } from './harness.ts';
import { dataRoot, freshDatabase } from './postgres.ts';

const newId = idGenerator(Date.now);
const stamp = stampFrom(Buffer.alloc(32, 7));
const times = { created_at: 1_000, updated_at: 2_000, revision: 1, stamp };
const one = (...statements: Unit['statements']): Unit[] => [{ statements }];

const organizationRow = (name: string): OrganizationRow => ({
  ...times,
  id: newId(),
  name,
  plan: 'pro',
  enterprise_limit: 0,
});

function resourceRow(organizationId: string, type: string, name: string, vaultId?: string): ResourceRow {
  const id = newId();
  return {
    ...times,
    id,
    organization_id: organizationId,
    vault_id: vaultId ?? id,
    type,
    name,
    name_search: name.toLowerCase(),
    enabled: 1,
    activation_date: null,
    expiration_date: null,
    content_type: null,
    attributes: '{}',
    labels: null,
    vault_key: null,
    version: type === 'vault' ? 0 : 1,
    deleted_at: null,
  };
}

const credentialRow = (
  organizationId: string,
  name: string,
  more: Partial<CredentialRow> = {},
): CredentialRow => ({
  ...times,
  id: newId(),
  organization_id: organizationId,
  kind: 'access-key',
  name,
  name_search: name.toLowerCase(),
  digest: digestFrom(randomBytes(32)),
  vault_id: null,
  key_id: null,
  role: null,
  narrowing: '{}',
  narrowing_key: null,
  expiration_date: null,
  max_uses: null,
  identity_id: null,
  identity_revision: null,
  created_by: 'test',
  revoked_at: null,
  uses: 0,
  last_used_at: null,
  ...more,
});

const memberRow = (organizationId: string, email: string): MemberRow => ({
  ...times,
  id: newId(),
  organization_id: organizationId,
  email,
  email_key: email.toLowerCase(),
  role: 'viewer',
  state: 'active',
  grants: '[]',
});

const link = () => ({ id: newId(), writer: newId(), seq: 1, hash: 'A'.repeat(43), mark: 'B'.repeat(43) });
const auditRow = (
  organization_id: string,
  subject_id: string | null,
  revision: number | null,
  action = 'thing.changed',
): NewAuditRow => ({
  ...link(),
  entry: JSON.stringify({ organization_id, action, subject: { id: subject_id, name: 'ü' }, revision }),
});
const block = (): RequestBlockRow => ({ ...link(), text: '{"x":"ü\\u0000"}' });
const filed = (
  organization_id: string,
  { id: block_id }: RequestBlockRow,
  part: Partial<RequestIndexRow>,
): RequestIndexRow => ({
  organization_id,
  block_id,
  part: 0,
  vault_id: null,
  access_key_id: null,
  status: 200,
  ip_address: '10.0.0.1',
  entries: 1,
  requests: null,
  ...part,
});

const refusedAs =
  (...expected: [number, string][]) =>
  (error: unknown) => {
    assert.ok(error instanceof UnitsRefused, String(error));
    assert.deepEqual([...error.refusals].sort(), expected);
    return true;
  };

describe('the connection that writes to SQLite', () => {
  it('syncs every commit, keeps a log ahead of the file, holds references, and overwrites what is deleted', async test => {
    const folder = mkdtempSync(join(dataRoot(), 'strongroom-store-'));
    const store = await openStore({ engine: 'sqlite', path: join(folder, 'strongroom.db'), serves: true });
    test.after(async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    });
    const pragma = async (name: string) => {
      const asked = { sql: `PRAGMA ${name}`, parameters: [], returning: true };
      const [rows] = await store.commit(one(asked));
      return Object.values(rows![0]![0]!)[0];
    };
    assert.equal(await pragma('synchronous'), 2, 'FULL');
    assert.equal(await pragma('journal_mode'), 'wal');
    assert.equal(await pragma('foreign_keys'), 1);
    assert.equal(await pragma('secure_delete'), 2, 'FAST');
  });
});

describe('a deadlock on PostgreSQL', () => {
  /**
   * Two rows, held by somebody else and by us, each of whom then wants the other. The server looks for a deadlock once,
   * a second after somebody began to wait: it ends ours, which began first, unless the machine was slower than that.
   */
  async function meet(test: TestContext, independent: boolean): Promise<void> {
    const url = await freshDatabase();
    const store = await openStore({ engine: 'postgres', url });
    const [ours, theirs] = [organizationRow('ours'), organizationRow('theirs')];
    await store.commit(one(store.organizations.insert(ours), store.organizations.insert(theirs)));
    const other = new pg.Client(url);
    await other.connect();
    test.after(async () => {
      await other.end();
      await store.close();
    });
    const take = (id: string) => other.query('UPDATE organizations SET plan = plan WHERE id = $1', [id]);
    const plan = ({ id }: OrganizationRow) => ({
      sql: "UPDATE organizations SET plan = 'free' WHERE id = $1",
      parameters: [id],
    });
    // The parts of one statement run from the last to the first: ours comes first in both.
    const unit: Unit = independent
      ? { statements: [plan(theirs), plan(ours)], independent }
      : { statements: [plan(ours), plan(theirs)] };
    const oursWasEnded = async () => {
      await other.query('BEGIN');
      await take(theirs.id);
      const committed = store.commit([unit]);
      committed.catch(() => {});
      await eventually('our transaction waits for a lock', async () => {
        const waiting =
          'SELECT 1 FROM pg_locks WHERE NOT granted AND pid = ANY (SELECT pid FROM pg_stat_activity WHERE datname = current_database())';
        return (await other.query(waiting)).rows.length > 0;
      });
      const taken = await take(ours.id).then(
        () => true,
        () => false,
      );
      await other.query(taken ? 'COMMIT' : 'ROLLBACK');
      await committed;
      return taken;
    };
    await eventually('our transaction is the one that was ended', oursWasEnded);
    for (const { id } of [ours, theirs]) assert.equal((await store.organizations.byId(id))?.plan, 'free');
  }

  it('is tried again, and nobody notices: a change', test => meet(test, false));
  it('is tried again, and nobody notices: what runs as one statement', test => meet(test, true));
});

for (const engine of engines) {
  describe(`the store on ${engine}`, () => {
    let store: Store;
    let location: Location;
    let folder: string;
    let organization: OrganizationRow;

    before(async () => {
      folder = mkdtempSync(join(dataRoot(), 'strongroom-store-'));
      location =
        engine === 'sqlite'
          ? { engine, path: join(folder, 'strongroom.db'), serves: true }
          : { engine, url: await freshDatabase() };
      assert.equal(await peekKeyring(location), undefined);
      store = await openStore(location);
      organization = organizationRow('Acme');
      await store.commit(one(store.organizations.insert(organization), ...audited(organization.id, 1)));
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    });

    const audited = (subjectId: string, revision: number) => [
      store.logs.appendAudits([auditRow(organization.id, subjectId, revision)]),
    ];
    const vaultOf = async (name: string) => {
      const row = resourceRow(organization.id, 'vault', name);
      await store.commit(
        one(
          store.resources.insert(row),
          ...audited(row.id, 1),
          ...store.resources.countVault(organization.id, row.id, 1),
        ),
      );
      return row;
    };
    const put = async (vault: ResourceRow, name: string, more: Partial<ResourceRow> = {}, value = 'v') => {
      const row = { ...resourceRow(organization.id, 'secret', name, vault.id), ...more };
      const version = {
        ...times,
        resource_id: row.id,
        version: 1,
        content_type: null,
        attributes: '{}',
        created_by: 'x',
      };
      const { updated_at, revision, ...columns } = version;
      await store.commit(
        one(
          store.resources.insert(row),
          store.resources.insertVersion({ ...columns, value: sealedFrom(value) }),
          ...(row.deleted_at === null ? [store.resources.count([row], 1)] : []),
          ...audited(row.id, 1),
        ),
      );
      return row;
    };
    const page = { page: 1, limit: 100 };
    const total = async (filter: { type?: string; vaultIds?: string[] }) =>
      (await store.resources.page({ organizationId: organization.id, now: 0, ...filter }, page)).total;

    it('keeps the first of two keyrings, and holds and replaces only what is still there', async () => {
      const [first, second, third] = ['1', '2', '3'].map(sealedFrom);
      const kept = async () => Buffer.from((await store.keyring.read())!);
      assert.equal(await store.keyring.read(), undefined);
      assert.equal(await peekKeyring(location), undefined);
      await store.keyring.setOnce(first!);
      await store.keyring.setOnce(second!);
      assert.deepEqual(await kept(), first);
      assert.deepEqual(Buffer.from((await peekKeyring(location))!), first);
      await store.commit(one(store.keyring.requireCurrent(first!), store.keyring.replace(first!, third!)));
      await assert.rejects(
        store.commit(one(store.keyring.replace(first!, second!))),
        refusedAs([0, 'stale']),
      );
      await assert.rejects(store.commit(one(store.keyring.requireCurrent(first!))), refusedAs([0, 'stale']));
      assert.deepEqual(await kept(), third);
    });

    it('finds organizations by id and name, and says of none that it is the newest', async () => {
      const { audited_revision, ...row } = (await store.organizations.byId(organization.id))!;
      assert.equal(audited_revision, null);
      assert.deepEqual({ ...row, stamp: Buffer.from(row.stamp) }, organization);
      assert.equal((await store.organizations.byName('Acme'))?.id, organization.id);
      assert.equal(await store.organizations.byName('acme'), undefined);
      assert.equal(await store.organizations.byId(newId()), undefined);
      assert.equal((await store.organizations.all()).length, 1);
      await assert.rejects(
        store.commit(one(store.organizations.insert(organizationRow('Acme')))),
        refusedAs([0, 'taken']),
      );
    });

    it('updates a row only where its revision is the one that was read', async () => {
      const next = { ...organization, plan: 'free', revision: 2 };
      await store.commit(one(store.organizations.update(next), ...audited(next.id, 2)));
      await assert.rejects(store.commit(one(store.organizations.update(next))), refusedAs([0, 'stale']));
      const row = await store.organizations.byId(organization.id);
      assert.equal(row?.plan, 'free');
      assert.equal(row?.revision, 2);
    });

    it('members: inserted, found, listed, changed, removed; one address is one member', async () => {
      const member = memberRow(organization.id, 'Bob_1@example.org');
      await store.commit(one(store.organizations.insertMember(member)));
      const twin = { ...memberRow(organization.id, 'x'), email_key: member.email_key };
      await assert.rejects(
        store.commit(one(store.organizations.insertMember(twin))),
        refusedAs([0, 'taken']),
      );
      assert.equal((await store.organizations.member(organization.id, member.id))?.email, member.email);
      assert.equal(await store.organizations.member(newId(), member.id), undefined);
      const found = await store.organizations.memberPage(organization.id, page, { q: 'bob' });
      assert.deepEqual([found.total, found.rows.length], [1, 1]);
      for (const q of ['%', '_', '\\', 'bobx', 'b%b']) {
        const none = await store.organizations.memberPage(organization.id, page, { q });
        assert.equal(none.total, q === '_' ? 1 : 0, q);
      }
      await store.commit(one(store.organizations.updateMember({ ...member, role: 'owner', revision: 2 })));
      await assert.rejects(
        store.commit(one(store.organizations.removeMember(member.id, 1))),
        refusedAs([0, 'stale']),
      );
      await store.commit(one(store.organizations.removeMember(member.id, 2)));
      assert.equal((await store.organizations.memberPage(organization.id, page)).total, 0);
    });

    it('a unit takes effect whole or not at all', async () => {
      const vault = await vaultOf('whole');
      const good = resourceRow(organization.id, 'secret', 'half', vault.id);
      const clash = { ...resourceRow(organization.id, 'secret', 'half', vault.id) };
      await assert.rejects(
        store.commit(one(store.resources.insert(good), store.resources.insert(clash))),
        refusedAs([0, 'taken']),
      );
      assert.equal(await store.resources.byId(organization.id, good.id), undefined);
    });

    it('a submission is refused whole, names every unit at fault, and the others pass when sent again', async () => {
      const vault = await vaultOf('submission');
      const taken = await put(vault, 'taken');
      const units: Unit[] = [
        { statements: [store.resources.insert(resourceRow(organization.id, 'secret', 'a', vault.id))] },
        { statements: [store.resources.insert(resourceRow(organization.id, 'secret', 'taken', vault.id))] },
        { statements: [store.resources.update({ ...taken, revision: 9 })] },
        { statements: [store.resources.insert(resourceRow(organization.id, 'secret', 'b', vault.id))] },
        { statements: [store.resources.insert(resourceRow(organization.id, 'secret', 'b', vault.id))] },
      ];
      await assert.rejects(store.commit(units), refusedAs([1, 'taken'], [2, 'stale'], [4, 'taken']));
      assert.equal(await store.resources.byName(vault.id, 'secret', 'a'), undefined);
      await store.commit([units[0]!, units[3]!]);
      assert.ok(await store.resources.byName(vault.id, 'secret', 'a'));
      assert.ok(await store.resources.byName(vault.id, 'secret', 'b'));
    });

    it('of many writers that change one row at once exactly one wins, and nobody hangs', async () => {
      const vault = await vaultOf('contended');
      const row = await put(vault, 'row');
      const writers = Array.from({ length: 24 }, (_, index) =>
        store.commit(one(store.resources.update({ ...row, revision: 2, attributes: `{"by":${index}}` }))),
      );
      const outcomes = await Promise.allSettled(writers);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') refusedAs([0, 'stale'])(outcome.reason);
      }
      assert.equal((await store.resources.byId(organization.id, row.id))?.revision, 2);
    });

    it('of many writers that take one name at once exactly one gets it; counters lose nothing', async () => {
      const vault = await vaultOf('names');
      const makers = Array.from({ length: 16 }, () => put(vault, 'same'));
      const outcomes = await Promise.allSettled(makers);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      await Promise.all(Array.from({ length: 40 }, (_, index) => put(vault, `n${index}`)));
      assert.equal(await total({ type: 'secret', vaultIds: [vault.id] }), 41);
    });

    it('rows that cross each other in two orders end, without a deadlock that anybody sees', async () => {
      const vault = await vaultOf('crossing');
      const [a, b] = [await put(vault, 'a'), await put(vault, 'b')];
      // In an organization of its own, so that the two have no total in common.
      const touch = ({ id }: ResourceRow) =>
        store.resources.count([{ organization_id: id, vault_id: id, type: 'secret' }], 1);
      await Promise.all(
        Array.from({ length: 30 }, (_, turn) =>
          store.commit([...one(touch(turn % 2 === 0 ? a : b)), ...one(touch(turn % 2 === 0 ? b : a))]),
        ),
      );
    });

    it('names in any script come back as they went in, and are compared by their characters', async () => {
      const vault = await vaultOf('unicode');
      const names = [
        'ü',
        'ﬁ',
        '日本語',
        '🔑 key',
        'a\tb',
        "o'brien",
        '"quoted"',
        '%',
        '_',
        '\\',
        'İ',
        '‮x',
        'x'.repeat(255),
      ];
      for (const name of names) await put(vault, name);
      for (const name of names) {
        assert.equal((await store.resources.byName(vault.id, 'secret', name))?.name, name);
      }
      assert.equal(await store.resources.byName(vault.id, 'secret', 'u'), undefined);
      const search = async (q: string) =>
        (
          await store.resources.page(
            { organizationId: organization.id, vaultIds: [vault.id], q, type: 'secret', now: 0 },
            page,
          )
        ).rows.map(({ name }) => name);
      assert.deepEqual(await search('%'), ['%']);
      assert.deepEqual(await search('_'), ['_']);
      assert.deepEqual(await search('\\'), ['\\']);
      assert.deepEqual(await search('KEY'), ['🔑 key']);
      assert.deepEqual(await search('本'), ['日本語']);
    });

    it('NUL in a text is refused before anything is stored, in writes and in reads', async () => {
      const vault = await vaultOf('nul');
      const bad = (error: unknown) => error instanceof Failure && error.code === 'INVALID_REQUEST';
      await assert.rejects(put(vault, 'a\0b'), bad);
      await assert.rejects(
        async () => store.logs.appendAudits([{ ...auditRow(organization.id, null, null), mark: '\0' }]),
        bad,
      );
      await assert.rejects(async () => store.resources.byName(vault.id, 'secret', 'a\0b'), bad);
      assert.equal(await total({ type: 'secret', vaultIds: [vault.id] }), 0);
      await put(vault, 'fine', {}, 'a value \0 with NUL, as bytes');
    });

    it('bytes come back as they went in, up to 64 KiB and beyond', async () => {
      const vault = await vaultOf('big');
      for (const size of [0, 1, 65_536, 300_000]) {
        const bytes = sealedFrom(randomBytes(size));
        const row = await put(vault, `b${size}`);
        const next = { ...row, revision: 2, version: 2, labels: bytes };
        const version = {
          resource_id: row.id,
          version: 2,
          content_type: 'x',
          attributes: '{}',
          created_at: 5,
          created_by: 'y',
          stamp,
        };
        await store.commit(
          one(store.resources.update(next), store.resources.insertVersion({ ...version, value: bytes })),
        );
        const read = await store.resources.withValue(vault.id, row.id);
        assert.deepEqual(
          [read!.value, read!.labels!].map(read => Buffer.from(read)),
          [bytes, bytes],
        );
        const stored = (await store.resources.version(row.id, 2))!;
        assert.deepEqual(
          { ...stored, value: Buffer.from(stored.value), stamp: Buffer.from(stored.stamp) },
          { ...version, value: bytes },
        );
        const { rows, total } = await store.resources.versionPage(row.id, { page: 1, limit: 1 });
        assert.deepEqual([rows.map(({ version }) => version), total], [[2], 2]);
      }
    });

    it('another organization’s resource is not found, nor one of another vault', async () => {
      const vault = await vaultOf('mine');
      const row = await put(vault, 'x');
      assert.equal(await store.resources.byId(newId(), row.id), undefined);
      assert.equal(await store.resources.withValue(newId(), row.id), undefined);
      assert.equal(await store.resources.vault(row.id), undefined);
      assert.equal((await store.resources.vault(vault.id))?.id, vault.id);
    });

    it('what was deleted is handed out by no look-up of the living, alone or with its vault', async () => {
      const vault = await vaultOf('living');
      const row = await put(vault, 'gone', { deleted_at: 5 });
      const reads = async ({ id, vault_id, name }: ResourceRow) => [
        await store.resources.withValue(vault_id, id),
        await store.resources.byName(vault_id, 'secret', name),
        (await store.resources.stretchWithValues(vault_id, 'secret', undefined, 10)).rows.find(
          one => one.id === id,
        ),
        (await store.outbox.expiringAmong([id]))[0],
      ];
      assert.deepEqual(await reads(row), [undefined, undefined, undefined, undefined]);
      const there = await put(vault, 'there', { expiration_date: 9 });
      assert.deepEqual(
        (await reads(there)).map(found => found?.id),
        Array(4).fill(there.id),
      );
      const buried = resourceRow(organization.id, 'vault', 'buried');
      await store.commit(one(store.resources.insert({ ...buried, deleted_at: 5 })));
      assert.equal(await store.resources.vault(buried.id), undefined);
      assert.deepEqual(
        await reads(await put(buried, 'inside', { expiration_date: 9 })),
        Array(4).fill(undefined),
      );
    });

    it('pages are newest first, and stable while others add to the list', async () => {
      const vault = await vaultOf('pages');
      const made: string[] = [];
      for (let index = 0; index < 25; index++) made.unshift((await put(vault, `p${index}`)).id);
      const filter = { organizationId: organization.id, type: 'secret', vaultIds: [vault.id], now: 0 };
      const asOf = made[0]!;
      const seen: string[] = [];
      for (let number = 1; number <= 3; number++) {
        const { rows, total } = await store.resources.page(filter, { page: number, limit: 10, asOf });
        assert.equal(total, 25);
        seen.push(...rows.map(({ id }) => id));
        for (let more = 0; more < 7; more++) await put(vault, `later ${number} ${more}`);
      }
      assert.deepEqual(seen, made);
      assert.equal((await store.resources.page(filter, { page: 99, limit: 10 })).rows.length, 0);
    });

    it('filters by state, tag and vault, and counts what it lists', async () => {
      const vault = await vaultOf('filters');
      const now = 10_000;
      const rows = {
        plain: await put(vault, 'plain'),
        off: await put(vault, 'off', { enabled: 0 }),
        later: await put(vault, 'later', { activation_date: now + 1 }),
        past: await put(vault, 'past', { expiration_date: now }),
        gone: await put(vault, 'gone', { deleted_at: 5 }),
      };
      const names = async (more: object) => {
        const filter = {
          organizationId: organization.id,
          vaultIds: [vault.id],
          type: 'secret',
          now,
          ...more,
        };
        const { rows, total } = await store.resources.page(filter, page);
        if ('state' in more || 'tagIndex' in more) assert.equal(total, rows.length);
        return rows.map(({ name }) => name).sort();
      };
      assert.deepEqual(await names({ state: 'active' }), ['plain']);
      assert.deepEqual(await names({ state: 'disabled' }), ['off']);
      assert.deepEqual(await names({ state: 'inactive' }), ['later']);
      assert.deepEqual(await names({ state: 'expired' }), ['past']);
      assert.deepEqual(await names({ state: 'deleted' }), ['gone']);
      assert.deepEqual(await names({}), ['later', 'off', 'past', 'plain']);
      const tagged = ({ id }: ResourceRow, ...indexes: string[]) =>
        indexes.map(tag_index => ({ organization_id: organization.id, tag_index, resource_id: id }));
      await store.commit(
        one(store.resources.addTags([...tagged(rows.plain, 't1', 't2'), ...tagged(rows.off, 't2')])),
      );
      assert.deepEqual(await names({ tagIndex: 't2' }), ['off', 'plain']);
      await store.commit(one(store.resources.clearTags(rows.plain.id)));
      assert.deepEqual(await names({ tagIndex: 't2' }), ['off']);
      assert.equal(await names({ tagIndex: 't1' }).then(list => list.length), 0);
      const due = await store.resources.deletedBefore(6, 100);
      assert.ok(due.some(({ id }) => id === rows.gone.id));
      assert.equal((await store.resources.deletedBefore(5, 100)).length, 0);
    });

    it('reads a vault with its values a stretch at a time', async () => {
      const vault = await vaultOf('stretches');
      const ids: string[] = [];
      for (let index = 0; index < 7; index++)
        ids.push((await put(vault, `s${index}`, {}, `value ${index}`)).id);
      const read: string[] = [];
      let after: string | undefined;
      for (;;) {
        const { rows } = await store.resources.stretchWithValues(vault.id, 'secret', after, 3);
        read.push(...rows.map(({ id }) => id));
        if (rows.length < 3) break;
        after = rows.at(-1)!.id;
      }
      assert.deepEqual(read, ids);
    });

    it('counts stay right through create, delete, restore, purge and the end of a vault', async () => {
      const secretsBefore = await total({ type: 'secret' });
      const allBefore = await total({});
      const vault = await vaultOf('counted');
      const [a, b] = [await put(vault, 'a'), await put(vault, 'b')];
      const counts = async () => [
        (await total({ type: 'secret' })) - secretsBefore,
        (await total({})) - allBefore,
        await total({ type: 'secret', vaultIds: [vault.id] }),
      ];
      assert.deepEqual(await counts(), [2, 3, 2]);
      const remove = (row: ResourceRow, deleted_at: number | null, revision: number, change: 1 | -1) =>
        store.commit(
          one(store.resources.update({ ...row, deleted_at, revision }), store.resources.count([a], change)),
        );
      await remove(a, 5, 2, -1);
      assert.deepEqual(await counts(), [1, 2, 1]);
      await remove(a, null, 3, 1);
      assert.deepEqual(await counts(), [2, 3, 2]);
      await store.commit(one(store.resources.purge(a.id, 3), store.resources.count([a], -1)));
      assert.deepEqual(await counts(), [1, 2, 1]);
      assert.equal(await store.resources.version(a.id, 1), undefined);
      await store.commit(
        one(
          store.resources.update({ ...vault, deleted_at: 5, revision: 2 }),
          ...store.resources.countVault(organization.id, vault.id, -1),
        ),
      );
      assert.deepEqual((await counts()).slice(0, 2), [0, 0]);
      assert.equal(await store.resources.byId(organization.id, b.id), undefined);
      await store.commit(
        one(
          store.resources.update({ ...vault, deleted_at: null, revision: 3 }),
          ...store.resources.countVault(organization.id, vault.id, 1),
        ),
      );
      assert.deepEqual(await counts(), [1, 2, 1]);
      await store.commit(
        one(
          ...store.resources.countVault(organization.id, vault.id, -1),
          ...store.resources.purgeContents(vault),
          store.resources.purge(vault.id, 3),
        ),
      );
      assert.deepEqual(await counts(), [0, 0, 0]);
      assert.equal(await store.resources.byId(organization.id, b.id), undefined);
    });

    it('credentials: inserted, found, listed, changed, revoked; uses are counted once each', async () => {
      const vault = await vaultOf('credentials');
      const row = credentialRow(organization.id, 'Deploy', { vault_id: vault.id });
      const other = credentialRow(organization.id, 'other', { kind: 'public-token', key_id: vault.id });
      await store.commit(
        one(store.credentials.insert(row), store.credentials.insert(other), ...audited(row.id, 1)),
      );
      const read = (await store.credentials.byId(row.id))!;
      assert.deepEqual(
        { ...read, stamp: Buffer.from(read.stamp), digest: Buffer.from(read.digest) },
        { ...row, audited_revision: null },
      );
      assert.ok(await store.credentials.living(organization.id, 'access-key', row.id));
      assert.equal(await store.credentials.living(organization.id, 'api-key', row.id), undefined);
      assert.equal(await store.credentials.living(newId(), 'access-key', row.id), undefined);
      const list = async (more: object) => {
        const filter = { organizationId: organization.id, kind: 'access-key', ...more };
        return (await store.credentials.page(filter, page)).rows.map(({ name }) => name);
      };
      assert.deepEqual(await list({ vaultIds: [vault.id], q: 'DEP' }), ['Deploy']);
      assert.deepEqual(await list({ vaultIds: [vault.id], q: '%' }), []);
      assert.deepEqual(await list({ kind: 'public-token', keyId: vault.id }), ['other']);
      const used = { ...row, uses: 1, revision: 2 };
      await store.commit(one(store.credentials.update(used)));
      await assert.rejects(store.commit(one(store.credentials.update(used))), refusedAs([0, 'stale']));
      await store.credentials.noteUse(new Map([[row.id, 77]]));
      await store.commit(one(store.credentials.update({ ...used, revoked_at: 9, revision: 3 })));
      const revoked = (await store.credentials.byId(row.id))!;
      assert.deepEqual([revoked.revoked_at, revoked.uses, revoked.last_used_at], [9, 1, 77]);
      assert.equal(await store.credentials.living(organization.id, 'access-key', row.id), undefined);
      assert.deepEqual(await list({ vaultIds: [vault.id] }), []);
    });

    it('request logs: blocks are appended, found by the index, paged by entries, and removed', async () => {
      const mine = newId();
      const vaultId = newId();
      const { requestLogs, logs } = store;
      const blocks = Array.from({ length: 10 }, block);
      const rows = blocks.flatMap(one => [
        filed(mine, one, { vault_id: vaultId, entries: 2 }),
        filed(mine, one, { part: 1, vault_id: vaultId, status: 401, ip_address: '10.0.0.2' }),
      ]);
      const statements = [
        ...blocks.map(requestLogs.append),
        requestLogs.addToIndex(rows),
        logs.count([{ organization_id: mine, stream: 'request', total: 30 }]),
      ];
      await store.commit([{ statements, independent: true }]);
      assert.deepEqual({ ...(await requestLogs.block(blocks[0]!.id)) }, blocks[0]);

      const organizationId = mine;
      const total = (filter: object) => requestLogs.total({ organizationId, ...filter });
      assert.equal(await total({}), 30);
      assert.equal(await total({ status: 401, vaultIds: [vaultId], address: '10.0.0.2' }), 10);
      assert.equal(await total({ fromId: blocks[5]!.id, beforeId: blocks[9]!.id }), 12);
      assert.equal(await total({ vaultId }), 30);
      for (const none of [{ vaultId: newId() }, { accessKeyId: newId() }, { vaultIds: [newId()] }])
        assert.equal(await total(none), 0);
      assert.equal(await requestLogs.total({ organizationId: newId() }), 0);

      const newestFirst = blocks.map(({ id }) => id).reverse();
      const paged = async (filter: object, number: number, limit: number) => {
        const found = await requestLogs.page({ organizationId, ...filter }, { page: number, limit });
        return [found.blocks.map(({ id }) => newestFirst.indexOf(id)), found.skip];
      };
      assert.deepEqual(await paged({}, 1, 2), [[0, 1], 0]);
      assert.deepEqual((await paged({}, 3, 2))[1], 1, 'the fifth entry is the second of the second block');
      assert.deepEqual((await paged({}, 3, 2))[0], [1, 2]);
      assert.deepEqual((await paged({}, 10, 3))[0], [9]);
      assert.deepEqual(await paged({}, 11, 3), [[], 0]);
      assert.deepEqual(await paged({ status: 401 }, 2, 4), [[4, 5, 6, 7], 0]);
      const newest = await requestLogs.newest({ organizationId, beforeId: blocks[8]!.id }, 3);
      assert.deepEqual(
        newest.map(({ id }) => id),
        newestFirst.slice(2, 5),
      );
      const stretch = await requestLogs.stretch(blocks[6]!.id, 2);
      assert.deepEqual(
        stretch.map(({ id }) => id),
        [blocks[7]!.id, blocks[8]!.id],
      );
      const first = [blocks[0]!.id, blocks[1]!.id];
      const stored = await requestLogs.indexOf([mine], first);
      assert.deepEqual(stored.map(row => row.part).sort(), [0, 0, 1, 1]);

      const oldest = (await requestLogs.oldest(blocks[2]!.id, 100)).map(({ id }) => id);
      assert.deepEqual(oldest.slice(-2), first);
      await assert.rejects(
        store.commit(one(...requestLogs.remove([...first, newId()], [mine]))),
        refusedAs([0, 'stale']),
      );
      const less = logs.count([{ organization_id: mine, stream: 'request', total: -6 }]);
      await store.commit(one(...requestLogs.remove(first, [mine]), less));
      assert.equal(await total({}), 24);
      assert.equal(await total({ vaultId }), 24);
    });

    it('an audit entry that was made of any text is read by the database too', async () => {
      const subject = { type: 'thing', id: newId(), name: 'ü' };
      const entry: AuditEntry = {
        organization_id: organization.id,
        actor: { kind: 'nobody', id: 'nobody', name: '' },
        action: 'thing.changed',
        outcome: 'allowed',
        subject,
        revision: 7,
        vault_id: null,
        ip_address: '10.0.0.1',
        user_agent: '',
        request_id: '',
        details: { nul: 'a\0b', half: '\ud83d', upper: '\udc00', typed: '\\u0000', fine: '🔑' },
      };
      const row = link();
      const text = auditText(row.id, new Date(0).toISOString(), entry);
      await store.commit(one(store.logs.appendAudits([{ ...row, entry: text }])));
      const stored = await store.logs.audit(organization.id, row.id);
      assert.deepEqual([stored?.subject_id, stored?.subject_revision], [subject.id, 7]);
      const { nul, typed, fine } = JSON.parse(stored!.entry).details;
      assert.deepEqual([nul, typed, fine], ['a\uFFFDb', '\\u0000', '🔑']);
    });

    it('audit logs: appended in bulk, counted, filtered; heads and checkpoints', async () => {
      const mine = newId();
      const subject = newId();
      const entry = auditRow(mine, subject, 3, 'a.b');
      await store.commit(
        one(
          store.logs.appendAudits([entry]),
          store.logs.count([{ organization_id: mine, stream: 'audit', total: 1 }]),
        ),
      );
      assert.equal((await store.logs.auditPage({ organizationId: mine }, page)).total, 1);
      assert.equal(
        (await store.logs.auditPage({ organizationId: mine, action: 'a.b', subjectId: subject }, page)).total,
        1,
      );
      assert.equal((await store.logs.auditPage({ organizationId: mine, action: 'a.c' }, page)).total, 0);
      const { subject_id, subject_revision, ...kept } = (await store.logs.audit(mine, entry.id))!;
      assert.deepEqual([kept.entry, subject_id, subject_revision], [entry.entry, subject, 3]);

      const writer = newId();
      for (const seq of [1, 5_000_000_000]) {
        await store.commit(
          one(
            store.logs.setHead({ writer, stream: 'audit', seq, hash: 'C'.repeat(43), mark: 'D'.repeat(43) }),
          ),
        );
      }
      const heads = (await store.logs.heads()).filter(head => head.writer === writer);
      assert.deepEqual(
        heads.map(({ seq }) => seq),
        [5_000_000_000],
      );
      for (const number of [1, 2, 3]) {
        await store.commit(
          one(store.logs.addCheckpoint({ number, body: `b${number}`, signature: publicBytes(stamp) })),
        );
      }
      await assert.rejects(
        store.commit(one(store.logs.addCheckpoint({ number: 3, body: 'x', signature: publicBytes(stamp) }))),
        refusedAs([0, 'taken']),
      );
      assert.equal((await store.logs.lastCheckpoint())?.number, 3);
      await store.commit(one(store.logs.removeCheckpoints(3)));
      assert.deepEqual(
        (await store.logs.checkpoints(0, 10)).map(({ number }) => number),
        [3],
      );
    });

    it('requests in a window are counted exactly, however many come at once', async () => {
      const subject = newId();
      const taken = await Promise.all(Array.from({ length: 50 }, () => store.limits.take(subject, 60, 1)));
      assert.deepEqual(
        taken.sort((a, b) => a - b),
        Array.from({ length: 50 }, (_, index) => index + 1),
      );
      assert.equal(await store.limits.take(subject, 120, 3), 3);
      await store.limits.forget(120);
      assert.equal(await store.limits.take(subject, 60, 1), 1);
      assert.equal(await store.limits.take(subject, 120, 1), 4);
    });

    it('events are stored with the change', async () => {
      const event = {
        id: newId(),
        organization_id: organization.id,
        vault_id: null,
        resource_id: newId(),
        type: 'x',
        payload: '{}',
        fanned: 0 as const,
        created_at: 1,
        stamp: stampFrom(Buffer.alloc(32)),
      };
      await store.commit(one(store.outbox.add(event)));
      await assert.rejects(store.commit(one(store.outbox.add(event))), refusedAs([0, 'taken']));
    });

    it('tells who listens what was touched, after it is committed, and nothing of what was refused', async () => {
      const heard: (readonly string[] | 'all')[] = [];
      store.onChange(touched => heard.push(touched));
      const id = newId();
      await store.commit([{ statements: [], touches: [id] }]);
      assert.deepEqual(heard.flat().filter(one => one === id).length > 0, true);
      const refused = newId();
      const stale = store.organizations.update({ ...organization, revision: 99 });
      await assert.rejects(store.commit([{ statements: [stale], touches: [refused] }]));
      const later = newId();
      await store.commit([{ statements: [], touches: [later] }]);
      await eventually('the change is heard', async () => heard.flat().includes(later));
      assert.ok(!heard.flat().includes(refused));
    });

    it('another process’s changes are heard', async () => {
      const beside = await openStore(
        engine === 'sqlite' ? ({ ...location, serves: false } as Location) : location,
      );
      let heard: (readonly string[] | 'all')[] = [];
      store.onChange(touched => heard.push(touched));
      try {
        // The first may be taken for what opening announces, the second can't.
        for (const id of [newId(), newId()]) {
          heard = [];
          const row = { ...organizationRow(`beside ${id}`), id };
          await beside.commit([{ statements: [beside.organizations.insert(row)], touches: [id] }]);
          await eventually('the other process’s change is heard', async () =>
            heard.some(touched => touched === 'all' || touched.includes(id)),
          );
          assert.ok(await store.organizations.byId(id));
        }
      } finally {
        await beside.close();
      }
    });

    it('opening migrates once, however often and however many at once', async test => {
      const place: Location =
        engine === 'sqlite'
          ? { engine, path: join(folder, 'many', 'strongroom.db'), serves: false }
          : { engine, url: await freshDatabase() };
      const opening = Array.from({ length: 4 }, () => openStore(place));
      test.after(() => Promise.allSettled(opening.map(async one => (await one).close())));
      const stores = await Promise.all(opening);
      await stores[0]!.commit(one(stores[0]!.organizations.insert(organizationRow('once'))));
      for (const each of stores) assert.equal((await each.organizations.all()).length, 1);
      await Promise.all(stores.map(each => each.close()));
      const again = await openStore(place);
      assert.equal((await again.organizations.all()).length, 1);
      await again.close();
    });

    it('a closed store refuses, and says that it is not there', async () => {
      const place: Location =
        engine === 'sqlite'
          ? { engine, path: join(folder, 'closed', 'strongroom.db'), serves: false }
          : { engine, url: await freshDatabase() };
      const closed = await openStore(place);
      await closed.tryWrite();
      await closed.close();
      await assert.rejects(closed.tryWrite());
      await assert.rejects(closed.commit(one(closed.organizations.insert(organizationRow('x')))));
    });
  });
}
