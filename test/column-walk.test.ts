/**
 * The walk over every column of every table, taken from the live schema: each is edited, nulled and swapped between
 * two rows, and each row of a minute ago is put back, with whatever in the log could hide that. Each must be found by
 * the verification, or stand among the exemptions of `stamp-columns.ts`; a new column joins by itself.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { rowCheckWith } from '../src/domain/kernel/row-check.ts';
import { isMarked } from '../src/logs/chain.ts';
import { databaseSource } from '../src/logs/source.ts';
import { type Finding, verifyLogs } from '../src/logs/verify.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { columns, putBack } from '../src/store/integrity/stamp-columns.ts';
import { callService, engines, eventually } from './harness.ts';
import { cookieName } from './people.ts';
import {
  type Column,
  placeOf,
  type Row,
  type StoredWorld,
  startStoredWorld,
  type Tables,
} from './stored-world.ts';

/** Whose rows the audit log names. */
const toldTables = [
  'organizations',
  'members',
  'member_groups',
  'passkeys',
  'resources',
  'use_rules',
  'stages',
  'webhooks',
  'identities',
  'credentials',
];
/** Of the tool that brings the schema forward; the schema itself is compared at the start. */
const foreign = ['kysely_migration', 'kysely_migration_lock'];
type Treatments = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
const decided: Treatments = columns;

const isExempt = (treatment: unknown) => typeof treatment === 'object' && 'exempt' in treatment!;
/** Where it was edited it does not open, which the tests of what it seals try. */
const isSealed = (treatment: unknown) =>
  treatment === 'sealed' || (typeof treatment === 'object' && 'sealedStamped' in treatment!);
const sameValue = (a: unknown, b: unknown) =>
  a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b;
const sameRow = (a: Row, b: Row) => Object.keys(a).every(name => sameValue(a[name], b[name]));

/** Another value of the same type. */
function other(value: unknown, { type, name }: Column): unknown {
  if (value instanceof Uint8Array)
    return value.map((byte, index) => (index === value.length - 1 ? byte ^ 1 : byte));
  if (/uuid/.test(type) || isUuid(value) || (value === null && /_id$|_by$/.test(name))) return randomUUID();
  if (/blob|bytea/.test(type)) return Buffer.from('made up');
  if (/int/.test(type)) return value === null ? 1 : String(BigInt(value as number) + 1n);
  return `${value ?? ''}x`;
}

const isUuid = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(value);

for (const engine of engines) {
  describe(`every column of every table on ${engine}`, () => {
    let world: StoredWorld;
    let strongroom: Strongroom;
    let schema: ReadonlyMap<string, readonly Column[]>;
    let stored: Tables;

    before(async () => {
      world = await startStoredWorld(engine);
      strongroom = await openStrongroom(readConfig(serveOptions, placeOf(world.service), {}), false);
      await eventually('every entry is signed', async () => (await verify()).unsigned === 0);
      await world.service.halt();
      schema = await world.intruder.schema();
      stored = await world.intruder.copy();
      if (engine === 'postgres') await alterNotNull('DROP');
    });
    after(async () => {
      await world.intruder.close();
      await strongroom.close();
      await world.stop();
    });

    /** As the service verifies itself, or as anyone does who has the public key alone. */
    function verify(withKeyring = true) {
      const { keyring, domain, store } = strongroom;
      const keyed = {
        hasMark: (hash: string, mark: string) => isMarked(keyring, hash, mark),
        isSound: rowCheckWith(domain.stamps),
      };
      return verifyLogs(databaseSource(store), {
        publicKey: keyring.logPublicKey,
        ...(withKeyring ? keyed : {}),
      });
    }
    /** What a verification finds; one that can't be done found something. */
    async function found(withKeyring = true, tries = 5): Promise<readonly Finding[]> {
      try {
        const { findings } = await verify(withKeyring);
        // The walk itself alters columns and the tables of the search; what a schema can say has a walk of its own.
        return findings.filter(({ what }) => what !== 'altered-schema');
      } catch (error) {
        // A busy machine's database may be late; that tells nothing of what is stored.
        const isLate = error instanceof Failure && error.code === 'UNAVAILABLE';
        if (isLate && tries > 0) return found(withKeyring, tries - 1);
        return [{ what: 'edited', where: 'it could not be read' }];
      }
    }
    const findings = async (withKeyring = true) => (await found(withKeyring)).map(({ what }) => what);
    async function alterNotNull(how: 'DROP' | 'SET'): Promise<void> {
      for (const [table, all] of schema) {
        for (const { name, key, generated, nullable } of all) {
          if (key || generated || nullable) continue;
          await world.intruder.sql(`ALTER TABLE ${table} ALTER COLUMN ${name} ${how} NOT NULL`);
        }
      }
    }
    /** Puts rows in the place of others, looks, and undoes it. Null where the database itself refuses. */
    async function tampering<T>(
      table: string,
      before: readonly Row[],
      after: readonly Row[],
      look: () => Promise<T>,
    ): Promise<T | null> {
      const { intruder } = world;
      try {
        await intruder.replace(table, before, after);
      } catch {
        return null;
      }
      try {
        return await look();
      } finally {
        await intruder.replace(table, after, before);
      }
    }

    const rowsOf = (table: string) => stored.get(table)!;
    /** Not the first and not the last, where an edit could look like a beginning or an end. */
    const middleOf = (rows: readonly Row[]) => rows[Math.floor(rows.length / 2)]!;
    const targetOf = (table: string) =>
      table === 'meta' ? rowsOf(table).find(({ key }) => key === 'keyring')! : middleOf(rowsOf(table));

    it('nothing is found before anybody tampers', async () => {
      assert.deepEqual(await findings(), []);
      assert.deepEqual(await findings(false), []);
    });

    it('somebody decided about each', () => {
      for (const [table, all] of schema) {
        if (foreign.includes(table)) continue;
        const names = all.map(({ name }) => name).sort();
        assert.deepEqual(Object.keys(decided[table] ?? {}).sort(), names, table);
      }
    });

    it('each that is not exempt holds something in this world', () => {
      for (const [table, treatments] of Object.entries(decided)) {
        if (Object.values(treatments!).every(isExempt)) continue;
        assert.ok(rowsOf(table).length >= 2, `${table} holds ${rowsOf(table).length}`);
      }
    });

    type Change = (table: string, column: Column) => readonly [Row[], Row[]] | null;
    interface Case {
      readonly table: string;
      readonly column: string;
      readonly before: readonly Row[];
      readonly after: readonly Row[];
    }

    /** What is found of the log names no table, and what is found of an event is found of its delivery too. */
    const isKnownByRow = (table: string) =>
      table !== 'deliveries' && !Object.values(decided[table] ?? {}).includes('logged');
    function casesOf(table: string, change: Change): Case[] {
      if (foreign.includes(table) || rowsOf(table).length === 0) return [];
      return schema.get(table)!.flatMap(column => {
        const isElsewhere = isSealed(decided[table]![column.name]) || column.generated;
        const rows = isElsewhere ? null : change(table, column);
        return rows === null ? [] : { table, column: column.name, before: rows[0], after: rows[1] };
      });
    }
    /** All that can be told apart is done at once. */
    function roundsOf(change: Change): Case[][] {
      const tables = Map.groupBy(schema.keys(), isKnownByRow);
      const alone = (tables.get(false) ?? []).flatMap(table => casesOf(table, change)).map(one => [one]);
      const lists = (tables.get(true) ?? []).map(table => casesOf(table, change));
      const longest = Math.max(...lists.map(list => list.length));
      const together = Array.from({ length: longest }, (_, at) => lists.flatMap(list => list[at] ?? []));
      return [...alone, ...together];
    }

    /** Does all of it, looks, and undoes it. What the database itself refuses is left out. */
    async function tamperingAll(cases: readonly Case[]): Promise<[Case, readonly Finding[]][]> {
      const done: Case[] = [];
      for (const one of cases) {
        const refused = await world.intruder.replace(one.table, one.before, one.after).catch(() => true);
        if (refused !== true) done.push(one);
      }
      const all = await found();
      for (const { table, before, after } of done.toReversed())
        await world.intruder.replace(table, after, before);
      const of = ({ table }: Case) =>
        cases.length === 1 ? all : all.filter(({ where }) => where.startsWith(`row of ${table} `));
      return done.map(one => [one, of(one)]);
    }

    /** Each goes as was decided. */
    async function walk(change: Change): Promise<void> {
      const wrong: string[] = [];
      for (const round of roundsOf(change)) {
        for (const [{ table, column }, seen] of await tamperingAll(round)) {
          if (seen.length > 0 === isExempt(decided[table]![column]))
            wrong.push(`${table}.${column}: ${seen.length > 0 ? 'exempt, but found' : 'unseen'}`);
        }
      }
      assert.deepEqual(wrong, []);
      assert.deepEqual(await findings(), [], 'all was undone');
    }

    it('edited, is found or exempt', () =>
      walk((table, column) => {
        const row = targetOf(table);
        return [[row], [{ ...row, [column.name]: other(row[column.name], column) }]];
      }));

    it('nulled, is found or exempt', () =>
      walk((table, { name, key }) => {
        const row = targetOf(table);
        return key || row[name] === null ? null : [[row], [{ ...row, [name]: null }]];
      }));

    it('swapped between two rows, is found or exempt', () =>
      walk((table, { name }) => {
        const row = targetOf(table);
        const another = rowsOf(table).find(one => one !== row && !sameValue(one[name], row[name]));
        if (another === undefined) return null;
        const swapped = [
          { ...row, [name]: another[name] },
          { ...another, [name]: row[name] },
        ];
        return sameRow(swapped[0]!, another) ? null : [[row, another], swapped];
      }));

    it('that is computed from a text can’t be set apart from it', async () => {
      for (const [table, all] of schema) {
        for (const { name } of all.filter(({ generated }) => generated)) {
          await assert.rejects(world.intruder.sql(`UPDATE ${table} SET ${name} = NULL`), /generated|DEFAULT/);
        }
      }
    });

    const keyOf = (table: string, row: Row) =>
      JSON.stringify(schema.get(table)!.flatMap(({ name, key }) => (key ? [row[name]] : [])));
    /** The rows that were otherwise a minute ago, or are gone since: as they were, and as they are. */
    function changed(table: string): [then: Row, now: Row | undefined][] {
      const now = new Map(rowsOf(table).map(row => [keyOf(table, row), row]));
      return world.earlier
        .get(table)!
        .map(then => [then, now.get(keyOf(table, then))] as [Row, Row | undefined])
        .filter(([then, row]) => row === undefined || !sameRow(then, row));
    }
    const stampedTables = () =>
      Object.entries(decided).flatMap(([table, how]) => (Object.values(how!).includes('stamp') ? table : []));

    it('each kind of row changed within a minute here, so that an earlier one can be put back', () => {
      // A queue goes on by itself, whether or not anything was written meanwhile.
      const stayed = (table: string, then: Row, now: Row) =>
        Object.keys(then).every(name => isExempt(decided[table]![name]) || sameValue(then[name], now[name]));
      const still = stampedTables().filter(table =>
        changed(table).every(([then, now]) => now !== undefined && stayed(table, then, now)),
      );
      assert.deepEqual(still, ['events'], 'those are written once, and stay');
    });

    it('the row of a minute ago, put back, is found, or only what its exemption says is gained by it', async () => {
      const epochOf = ({ member_id }: Row) =>
        rowsOf('accounts').find(account => account.member_id === member_id)?.epoch;
      const isOver = (table: string, row: Row) => table === 'sessions' && row.epoch !== epochOf(row);
      const gains = (table: string, then: Row, now: Row | undefined) =>
        table in putBack && (then.revision === now?.revision || isOver(table, then));
      const all = stampedTables().flatMap(table => changed(table).map(one => [table, ...one] as const));
      const unseen: string[] = [];
      for (const [table, then, now] of all.filter(one => !gains(...one))) {
        const found = await tampering(table, now === undefined ? [] : [now], [then], findings);
        if (found?.length === 0) unseen.push(`${table} ${keyOf(table, then)}`);
      }
      assert.deepEqual(unseen, []);
    });

    it('a revision put back is found with the public key alone', async () => {
      for (const table of stampedTables()) {
        for (const [then, now] of changed(table)) {
          if (now === undefined || then.revision === undefined || then.revision === now.revision) continue;
          const seen = await tampering(table, [now], [then], () => findings(false));
          assert.ok(seen!.includes('rolled-back'), `${table}: ${seen}`);
        }
      }
    });

    /** An access key that an identity was given goes without an entry when it has expired. */
    const goesByItself = (table: string, { identity_id, kind }: Row) =>
      table === 'credentials' && identity_id !== null && kind === 'access-key';

    it('a row that the log tells of is missed when it is removed, whole or by half', async () => {
      const unseen: string[] = [];
      for (const table of [...toldTables, 'accounts', 'versions']) {
        for (const row of rowsOf(table)) {
          const seen = await tampering(table, [row], [], () => findings(false));
          if (seen !== null && !seen.includes('missing') && !goesByItself(table, row))
            unseen.push(`${table} ${keyOf(table, row)}`);
        }
      }
      assert.deepEqual(unseen, []);
    });

    it('a row that the log knows nothing of is found: a copy of another one, under an id of its own', async () => {
      for (const table of toldTables) {
        const copy = { ...targetOf(table), id: '01999999-9999-7999-8999-999999999999' };
        const seen = await tampering(table, [], [copy], () => findings(false));
        assert.ok(seen === null || seen.includes('inserted'), `${table}: ${seen}`);
      }
    });

    it('what hides a row put back is found itself: its newer entries removed, or their text edited', async () => {
      for (const table of ['credentials', 'resources', 'members', 'passkeys']) {
        const [then, now] = changed(table).find(([, row]) => row !== undefined)! as [Row, Row];
        const entries = rowsOf('audit_logs').filter(
          ({ subject_id, subject_revision }) =>
            subject_id === now.id && Number(subject_revision) > Number(then.revision),
        );
        assert.ok(entries.length > 0, table);
        const edited = entries.map(row => ({
          ...row,
          entry: String(row.entry).replace(/"revision":\d+/, '"revision":null'),
        }));
        await tampering(table, [now], [then], async () => {
          const look = async () => [await findings(), await findings(false)];
          const hidden = [
            await tampering('audit_logs', entries, [], look),
            await tampering('audit_logs', entries, edited, look),
          ];
          for (const found of hidden.flatMap(one => one!)) assert.notDeepEqual(found, [], table);
        });
      }
      assert.deepEqual(await findings(), []);
    });

    describe('and at the doors', () => {
      before(async () => {
        if (engine === 'postgres') await alterNotNull('SET');
        await world.service.restart();
      });

      /** As it is now: what is served changes rows. */
      const rowWhere = async (table: string, holds: (row: Row) => boolean) =>
        (await world.intruder.sql(`SELECT * FROM ${table}`)).find(holds)!;
      /** Edits a row, asks a service that has believed nothing yet, and undoes it. */
      async function asking<T>(table: string, row: Row, edit: Row, ask: () => Promise<T>): Promise<T> {
        const edited = { ...row, ...edit };
        await world.intruder.replace(table, [row], [edited]);
        await world.service.restart();
        try {
          return await ask();
        } finally {
          await world.intruder.replace(table, [edited], [row]);
        }
      }

      /** By a browser that never forgets its cookie. */
      function listedBy(cookie: string) {
        const browser = world.service.browser();
        browser.cookies.set(cookieName, cookie);
        return browser.get('/auth/sessions');
      }

      it('a sealed value that was edited, or is another’s, is opened for nobody', async () => {
        const { owner, secretId } = world;
        const [first, second] = rowsOf('versions').filter(row => row.resource_id === secretId) as [Row, Row];
        const reveal = () => owner.post(`/v1/secrets/${secretId}/reveal`, { version: Number(first.version) });
        for (const value of [other(first.value, { type: 'bytea', name: 'value' } as Column), second.value]) {
          assert.equal((await asking('versions', first, { value }, reveal)).status, 500);
        }
        assert.equal((await reveal()).status, 200);
      });

      it('a secret whose newest version was removed is an error, and is left out of nothing', async () => {
        const { owner, secretId } = world;
        const secret = await rowWhere('resources', ({ id }) => id === secretId);
        const row = await rowWhere(
          'versions',
          ({ resource_id, version }) => resource_id === secretId && version === secret.version,
        );
        await world.intruder.replace('versions', [row], []);
        await world.service.restart();
        const read = (query: string) =>
          callService(
            world.service.url,
            'GET',
            `/api/v1/vaults/${secret.vault_id}${query}`,
            undefined,
            world.accessKey,
          );
        const answers = [await read(''), await read(`?resource=${secretId}`)];
        const revealed = await owner.call('POST', `/v1/secrets/${secretId}/reveal`);
        await world.intruder.replace('versions', [], [row]);
        assert.deepEqual(
          answers.map(({ status }) => status),
          [500, 500],
        );
        assert.equal(revealed.status, 500);
      });

      it('a version whose facts were edited is shown to nobody', async () => {
        const { owner, secretId } = world;
        const row = await rowWhere('versions', ({ resource_id }) => resource_id === secretId);
        const edit = { created_by: 'somebody else' };
        const answers = await asking('versions', row, edit, async () => [
          await owner.get(`/v1/secrets/${secretId}/versions`),
          await owner.post(`/v1/secrets/${secretId}/reveal`, { version: Number(row.version) }),
          await owner.post(`/v1/secrets/${secretId}/rollback`, { version: Number(row.version) }),
        ]);
        assert.deepEqual(
          answers.map(({ status }) => status),
          [500, 500, 500],
        );
      });

      it('the keyring, edited, starts no service', async () => {
        const row = await rowWhere('meta', ({ key }) => key === 'keyring');
        const value = other(row.value, { type: 'bytea', name: 'value' } as Column);
        await world.intruder.replace('meta', [row], [{ ...row, value }]);
        const place = readConfig(serveOptions, placeOf(world.service), {});
        await assert.rejects(openStrongroom(place, false));
        await world.intruder.replace('meta', [{ ...row, value }], [row]);
      });

      it('a session that ended with its epoch, put back, signs nobody in', async () => {
        const gone = changed('sessions').filter(([, now]) => now === undefined);
        await world.intruder.replace(
          'sessions',
          [],
          gone.map(([then]) => then),
        );
        await world.service.restart();
        assert.equal((await world.guest.get('/auth/sessions')).status, 401);
        await world.intruder.replace(
          'sessions',
          gone.map(([then]) => then),
          [],
        );
      });

      it('a tool session that was edited is served to nobody', async () => {
        assert.equal((await world.callTool()).status, 200);
        const rows = await world.intruder.sql('SELECT * FROM mcp_sessions');
        for (const edit of [{ credential_id: null }, { used_at: world.service.clock.now() }]) {
          const edited = rows.map(row => ({ ...row, ...edit }));
          await world.intruder.replace('mcp_sessions', rows, edited);
          await world.service.restart();
          assert.equal((await world.callTool()).status, 500);
          await world.intruder.replace('mcp_sessions', edited, rows);
        }
      });

      it('a count of failures that was edited lets nobody try', async () => {
        const rows = await world.intruder.sql('SELECT * FROM lock_outs');
        const edited = rows.map(row => ({ ...row, failures: 0 }));
        await world.intruder.replace('lock_outs', rows, edited);
        const answer = await world.service.browser().signIn('nobody-one@example.org', 'wrong');
        assert.equal(answer.status, 500, answer.text);
        await world.intruder.replace('lock_outs', edited, rows);
      });

      it('the overview names nothing that was edited', async () => {
        const { owner, vaultId, secretId } = world;
        assert.equal((await owner.get('/v1/overview')).status, 200);
        const vault = await rowWhere('resources', ({ id }) => id === vaultId);
        const key = await rowWhere('credentials', ({ name }) => name === 'access one');
        const secret = await rowWhere('resources', ({ id }) => id === secretId);
        const idle = await rowWhere('credentials', ({ id }) => id === world.idleKeyId);
        const soon = world.service.clock.now() + 3_600_000;
        for (const [table, row, edit] of [
          ['resources', vault, { name: 'INNOCENT' }],
          ['credentials', key, { name: 'INNOCENT' }],
          ['resources', secret, { expiration_date: soon }],
          ['credentials', idle, { expiration_date: soon }],
        ] as const) {
          const answer = await asking(table, row, edit, () => owner.get('/v1/overview'));
          assert.equal(answer.status, 500, `${table} ${JSON.stringify(edit)}: ${answer.text}`);
        }
      });

      it('the overview names nothing of another organization, whatever the counters say', async () => {
        const { owner, intruder } = world;
        const { organization_id: mine } = await rowWhere('credentials', ({ kind }) => kind === 'access-key');
        const foreignKey = await rowWhere('credentials', ({ organization_id }) => organization_id !== mine);
        const all = await intruder.sql('SELECT * FROM log_hours');
        const rows = all.filter(({ kind }) => kind === 'access-key');
        const edited = rows.map((row, index) => ({
          ...row,
          subject: index === 0 ? foreignKey.id : row.subject,
        }));
        await intruder.replace('log_hours', rows, edited);
        const { body } = await owner.get('/v1/overview');
        await intruder.replace('log_hours', edited, rows);
        const named = body.busiest_keys.find(({ id }: { id: string }) => id === foreignKey.id);
        assert.equal(named?.name, '');
      });

      it('the service’s own check reports a row that was edited', async () => {
        const { owner, service, intruder } = world;
        const verified = async () => {
          service.clock.pass(61_000); // A result is kept for a minute.
          const shown = async () => (await owner.get('/v1/audit-logs/verification')).body;
          await eventually('the verification is over', async () => !(await shown()).running);
          return shown();
        };
        assert.equal((await verified()).ok, true);
        const row = await rowWhere('versions', () => true);
        await intruder.replace('versions', [row], [{ ...row, created_by: 'somebody else' }]);
        const { ok, findings } = await verified();
        await intruder.replace('versions', [row], [row]);
        assert.deepEqual([ok, findings], [false, [{ what: 'edited', count: 1 }]]);
      });

      // The last two come after the others, because time does not go back.

      it('a session whose time of use was moved is not revived by it', async () => {
        const { service, person, intruder } = world;
        const listed = () => listedBy(person.cookie!);
        const [{ id }] = (await listed()).body.data.filter((one: { current: boolean }) => one.current);
        const [row] = (await intruder.sql('SELECT * FROM sessions WHERE id = ?', [id])) as [Row];
        service.clock.pass(13 * 3_600_000);
        await service.restart();
        assert.equal((await listed()).status, 401, 'it is idle');
        const edit = { used_at: service.clock.now() };
        assert.equal((await asking('sessions', row, edit, listed)).status, 500);
      });

      it('the overview calls no key unused that was edited', async () => {
        const { service, apiKey, idleKeyId } = world;
        const idle = await rowWhere('credentials', ({ id }) => id === idleKeyId);
        const overview = () => callService(service.url, 'GET', '/v1/overview', undefined, apiKey);
        service.clock.pass(91 * 24 * 3_600_000);
        const { body } = await overview();
        assert.ok(body.unused_keys.some(({ id }: { id: string }) => id === idleKeyId));
        const answer = await asking('credentials', idle, { name: 'INNOCENT' }, overview);
        assert.equal(answer.status, 500, answer.text);
      });
    });

    /** Last, because it is not undone. */
    it('that was computed from a text is compared with it, also once the table was altered', async () => {
      const { intruder } = world;
      await world.service.halt();
      const generated = schema.get('audit_logs')!.filter(column => column.generated);
      assert.equal(generated.length, 4);
      const entries = await intruder.sql('SELECT * FROM audit_logs ORDER BY position');
      for (const { name, type } of generated) await makePlain(name, type, entries);
      assert.deepEqual(await findings(false), [], 'as long as they say the same');
      const row = entries.find(one => generated.every(({ name }) => one[name] !== null))!;
      for (const { name } of generated) {
        const set = `UPDATE audit_logs SET ${name} = ? WHERE position = ?`;
        await intruder.sql(set, [null, row.position]);
        assert.ok((await findings(false)).includes('edited'), name);
        await intruder.sql(set, [row[name], row.position]);
      }
    });

    /** A column that nothing fills any more, with what stood in it. */
    async function makePlain(name: string, type: string, entries: readonly Row[]): Promise<void> {
      const { sql } = world.intruder;
      if (engine === 'postgres') {
        await sql(`ALTER TABLE audit_logs ALTER COLUMN ${name} DROP EXPRESSION`);
        await sql(`ALTER TABLE audit_logs ALTER COLUMN ${name} DROP NOT NULL`);
        return;
      }
      for (const index of ['organization', 'subject', 'actor'])
        await sql(`DROP INDEX IF EXISTS audit_logs_of_${index}`);
      await sql(`ALTER TABLE audit_logs DROP COLUMN ${name}`);
      await sql(`ALTER TABLE audit_logs ADD COLUMN ${name} ${type}`);
      for (const row of entries)
        await sql(`UPDATE audit_logs SET ${name} = ? WHERE position = ?`, [row[name], row.position]);
    }
  });
}
