import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { databaseSource } from '../src/logs/source.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import { openSnapshot } from '../src/store/store.ts';
import { type Answer, beside, engines, type Service, startService } from './harness.ts';
import { openStorage, type Row, type Storage } from './storage.ts';

const locationOf = ({ data, databaseUrl }: Service) =>
  databaseUrl === null
    ? ({ engine: 'sqlite', path: join(data, 'strongroom.db'), serves: false } as const)
    : ({ engine: 'postgres', url: databaseUrl } as const);

const canary = 'PLAINTEXT-CANARY';

for (const engine of engines) {
  describe(`a writer to the database on ${engine}`, () => {
    let service: Service;
    let intruder: Storage;
    let vault: string;
    let otherVault: string;
    let made = 0;

    before(async () => {
      service = await startService({ engine });
      intruder = await openStorage(service);
      vault = (await post('/v1/vaults', { name: 'vault' })).id;
      otherVault = (await post('/v1/vaults', { name: 'other' })).id;
    });
    after(async () => {
      await intruder.close();
      await service.stop();
    });

    async function post(path: string, body: unknown, key?: string) {
      const answer = await service.call('POST', path, body, key);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }
    const secretIn = (vaultId: string, more: object = {}) =>
      post('/v1/secrets', { vault_id: vaultId, name: `S${made++}`, value: `${canary}-${made}`, ...more });
    const accessKey = (vaultId: string, more: object = {}) =>
      post('/v1/access-keys', { vault_id: vaultId, name: `K${made++}`, ...more });
    const readVault = (vaultId: string, token: string, query = '') =>
      service.call('GET', `/api/v1/vaults/${vaultId}${query}`, undefined, token);

    function failsClosed(answer: Answer): void {
      assert.equal(answer.status, 500, answer.text);
      assert.ok(!answer.text.includes(canary), 'no plaintext');
      assert.ok(!answer.text.includes('stamp'), 'no word of what was wrong');
    }
    /** Whatever was believed before is forgotten by a restart; the row alone decides then. */
    async function everyReadFails(secretId: string): Promise<void> {
      const { token } = await accessKey(vault);
      await service.restart();
      failsClosed(await service.call('GET', `/v1/secrets/${secretId}`));
      failsClosed(await service.call('POST', `/v1/secrets/${secretId}/reveal`));
      failsClosed(await service.call('GET', `/v1/secrets?vault_id=${vault}`));
      failsClosed(await readVault(vault, token));
      failsClosed(await readVault(vault, token, `?resource=${secretId}`));
      failsClosed(await readVault(vault, token, '?secrets=names'));
      assert.ok(service.reports.some(line => line.includes('not as it was written')));
    }
    const columnsOf = (row: Row) => Object.keys(row);
    async function putBack(table: string, row: Row, key = 'id'): Promise<void> {
      const sets = columnsOf(row).map(column => `${column} = ?`);
      await intruder.sql(
        `UPDATE ${table} SET ${sets.join(', ')} WHERE ${key} = ?`,
        ...Object.values(row),
        row[key],
      );
    }
    const rowOf = async (table: string, id: string) =>
      (await intruder.sql(`SELECT * FROM ${table} WHERE id = ?`, id))[0]!;
    /** Does something, has it checked, and undoes it, so that the next test finds a sound database. */
    async function tampering(
      table: string,
      id: string,
      change: () => Promise<unknown>,
      check: () => Promise<void>,
    ) {
      const row = await rowOf(table, id);
      await change();
      await check();
      await putBack(table, row);
      await service.restart();
    }

    it('a webhook for a vault whose row was edited is an error, not “names no vault”', async () => {
      const webhook = { url: 'https://hooks.example.com/', events: ['resource.created'] };
      const { id } = await post('/v1/webhooks', webhook);
      const vault_ids = [otherVault];
      await tampering(
        'resources',
        otherVault,
        () => intruder.sql('UPDATE resources SET enabled = 0 WHERE id = ?', otherVault),
        async () => {
          failsClosed(await service.call('POST', '/v1/webhooks', { ...webhook, vault_ids }));
          failsClosed(await service.call('PUT', `/v1/webhooks/${id}`, { vault_ids }));
        },
      );
      assert.equal((await service.call('PUT', `/v1/webhooks/${id}`, { vault_ids })).status, 200);
      await service.call('DELETE', `/v1/webhooks/${id}`);
    });

    it('who swaps two ciphertexts gets neither value', async () => {
      const [a, b] = [await secretIn(vault), await secretIn(vault)];
      const value = async (id: string) =>
        (await intruder.sql('SELECT value FROM versions WHERE resource_id = ?', id))[0]!.value;
      const [valueA, valueB] = [await value(a.id), await value(b.id)];
      const swap = async (one: unknown, other: unknown) => {
        await intruder.sql('UPDATE versions SET value = ? WHERE resource_id = ?', one, a.id);
        await intruder.sql('UPDATE versions SET value = ? WHERE resource_id = ?', other, b.id);
      };
      await swap(valueB, valueA);
      const { token } = await accessKey(vault);
      for (const { id } of [a, b]) {
        failsClosed(await service.call('POST', `/v1/secrets/${id}/reveal`));
        failsClosed(await readVault(vault, token, `?resource=${id}`));
      }
      failsClosed(await readVault(vault, token));
      await swap(valueA, valueB);
      assert.equal((await service.call('POST', `/v1/secrets/${a.id}/reveal`)).status, 200);
    });

    it('who cuts a tag short, or changes one byte, gets nothing', async () => {
      const { id } = await secretIn(vault);
      const { value } = (await intruder.sql('SELECT value FROM versions WHERE resource_id = ?', id))[0]!;
      const whole = Buffer.from(value as Uint8Array);
      const flipped = Buffer.from(whole);
      flipped[whole.length - 20]! ^= 1;
      for (const damaged of [
        whole.subarray(0, -1),
        whole.subarray(0, -4),
        whole.subarray(0, -12),
        flipped,
        Buffer.alloc(0),
      ]) {
        await intruder.sql('UPDATE versions SET value = ? WHERE resource_id = ?', damaged, id);
        failsClosed(await service.call('POST', `/v1/secrets/${id}/reveal`));
      }
      await intruder.sql('UPDATE versions SET value = ? WHERE resource_id = ?', whole, id);
      assert.equal((await service.call('POST', `/v1/secrets/${id}/reveal`)).status, 200);
    });

    it('who brings an old version’s value back under the new number gets nothing', async () => {
      const { id } = await secretIn(vault);
      await service.call('PUT', `/v1/secrets/${id}`, { value: `${canary}-new` });
      const versions = await intruder.sql(
        'SELECT value FROM versions WHERE resource_id = ? ORDER BY version',
        id,
      );
      const setSecond = (value: unknown) =>
        intruder.sql('UPDATE versions SET value = ? WHERE resource_id = ? AND version = 2', value, id);
      await setSecond(versions[0]!.value);
      failsClosed(await service.call('POST', `/v1/secrets/${id}/reveal`));
      await setSecond(versions[1]!.value);
      await intruder.sql('UPDATE versions SET version = 3 WHERE resource_id = ? AND version = 1', id);
      failsClosed(await service.call('POST', `/v1/secrets/${id}/reveal`, { version: 3 }));
      await intruder.sql('UPDATE versions SET version = 1 WHERE resource_id = ? AND version = 3', id);
    });

    it('who edits an expiry, an activation or a switch changes nothing but that it fails', async () => {
      // An expiry that is past can't be given, so each is worked out when it is.
      const soon = () => ({ expiration_date: new Date(service.clock.now() + 1_000).toISOString() });
      const edits: [column: string, value: unknown, body: () => object][] = [
        ['expiration_date', null, soon],
        ['expiration_date', 99_999_999_999_999, soon],
        ['activation_date', null, () => ({ activation_date: '2099-01-01T00:00:00Z' })],
        ['enabled', 1, () => ({ enabled: false })],
      ];
      for (const [column, value, body] of edits) {
        const { id } = await secretIn(vault, body());
        const edit = () => intruder.sql(`UPDATE resources SET ${column} = ? WHERE id = ?`, value, id);
        await tampering('resources', id, edit, () => everyReadFails(id));
        await service.call('DELETE', `/v1/secrets/${id}?purge=true`);
      }
    });

    it('who renames a row, moves it to another vault or organization, or undeletes it, is found', async () => {
      const { id } = await secretIn(otherVault);
      await tampering(
        'resources',
        id,
        () => intruder.sql('UPDATE resources SET vault_id = ? WHERE id = ?', vault, id),
        () => everyReadFails(id),
      );
      await tampering(
        'resources',
        id,
        () => intruder.sql("UPDATE resources SET name = 'INNOCENT' WHERE id = ?", id),
        async () => failsClosed(await service.call('GET', `/v1/secrets/${id}`)),
      );
      await service.call('DELETE', `/v1/secrets/${id}`);
      await tampering(
        'resources',
        id,
        () => intruder.sql('UPDATE resources SET deleted_at = NULL WHERE id = ?', id),
        async () => failsClosed(await service.call('POST', `/v1/secrets/${id}/reveal`)),
      );
    });

    it('who swaps two vaults’ keys opens neither', async () => {
      const { id } = await secretIn(vault);
      const [mine, others] = [await rowOf('resources', vault), await rowOf('resources', otherVault)];
      await intruder.sql('UPDATE resources SET vault_key = ? WHERE id = ?', others.vault_key, vault);
      failsClosed(await service.call('POST', `/v1/secrets/${id}/reveal`));
      failsClosed(await service.call('POST', '/v1/secrets', { vault_id: vault, name: 'x', value: 'x' }));
      await putBack('resources', mine);
    });

    it('who puts an earlier row back, stamp and all, is found by its revision', async () => {
      const { id } = await secretIn(vault, { expiration_date: '2099-01-01T00:00:00Z' });
      const earlier = await rowOf('resources', id);
      await service.call('PUT', `/v1/secrets/${id}`, { expiration_date: '2027-01-01T00:00:00Z' });
      const newest = await rowOf('resources', id);
      await putBack('resources', earlier);
      await everyReadFails(id);
      await putBack('resources', newest);
      await service.restart();
      assert.equal((await service.call('GET', `/v1/secrets/${id}`)).status, 200);
    });

    it('who puts an earlier row back in a list that was shown before is found as well', async () => {
      const { id } = await secretIn(otherVault);
      const list = () => service.call('GET', `/v1/secrets?vault_id=${otherVault}`);
      assert.equal((await list()).status, 200);
      const earlier = await rowOf('resources', id);
      await service.call('PUT', `/v1/secrets/${id}`, { enabled: false });
      const newest = await rowOf('resources', id);
      assert.equal((await list()).status, 200);
      await putBack('resources', earlier);
      failsClosed(await list());
      await putBack('resources', newest);
      assert.equal((await list()).status, 200);
    });

    it('who removes the audit entry of the newest change is found too', async () => {
      const { id } = await secretIn(otherVault);
      await service.call('PUT', `/v1/secrets/${id}`, { value: `${canary}-2` });
      const [entry] = await intruder.sql(
        'SELECT position, id, writer, seq, entry, hash, mark FROM audit_logs WHERE subject_id = ? AND subject_revision = 2',
        id,
      );
      await intruder.sql('DELETE FROM audit_logs WHERE subject_id = ? AND subject_revision = 2', id);
      await assert.rejects(
        beside(service, ({ store }) => store.resources.vault(vault)),
        'nothing is believed by a log with a gap',
      );
      await intruder.sql(
        'INSERT INTO audit_logs (position, id, writer, seq, entry, hash, mark) VALUES (?, ?, ?, ?, ?, ?, ?)',
        ...Object.values(entry!),
      );
      await service.restart();
      assert.equal((await service.call('POST', `/v1/secrets/${id}/reveal`)).status, 200);
      await service.call('DELETE', `/v1/secrets/${id}`);
    });

    it('who takes a revocation back and the log’s word of it too gets nothing', async () => {
      const { id, token } = await accessKey(vault);
      const before = await rowOf('credentials', id);
      await service.call('DELETE', `/v1/access-keys/${id}`);
      const revoked = await rowOf('credentials', id);
      await putBack('credentials', before);
      for (const column of ['subject_revision', 'subject_id']) {
        const forget = `UPDATE audit_logs SET ${column} = NULL WHERE subject_id = ? AND subject_revision = 2`;
        await assert.rejects(intruder.sql(forget, id), /generated|DEFAULT/);
      }
      await service.restart();
      failsClosed(await readVault(vault, token));
      const { findings } = await beside(service, ({ store, keyring }) =>
        verifyLogs(databaseSource(store), { publicKey: keyring.logPublicKey }),
      );
      const found = findings.find(({ where }) => where.includes(id));
      assert.equal(found?.what, 'rolled-back');
      await putBack('credentials', revoked);
    });

    it('who takes a revocation back and hides its entry from the index gets nothing, and is found', async () => {
      const { id, token } = await accessKey(vault);
      assert.equal((await readVault(vault, token)).status, 200);
      const before = await rowOf('credentials', id);
      await service.call('DELETE', `/v1/access-keys/${id}`);
      const revoked = await rowOf('credentials', id);
      await putBack('credentials', before);
      const publicKey = await beside(service, async ({ keyring }) => keyring.logPublicKey);
      await hideRevision(id);
      failsClosed(await readVault(vault, token));
      // A process that has believed nothing yet; it may also refuse to open a database with such an index.
      await assert.rejects(believedBeside(id));
      const snapshot = await openSnapshot(locationOf(service));
      const { findings } = await verifyLogs(databaseSource(snapshot), { publicKey });
      await snapshot.close();
      assert.ok(findings.some(({ what, where }) => what === 'rolled-back' && where.includes(id)));
      await putBack('credentials', revoked);
      await showRevisions();
    });

    const believedBeside = (id: string) =>
      beside(service, async ({ store, domain }) =>
        domain.stamps.credential.believe((await store.credentials.byId(id))!),
      );
    const subjectIndex = 'audit_logs_of_subject';
    let subjectIndexSql = '';
    /** The index is built anew without the second revision, under the text of the one that it replaces. */
    async function hideRevision(id: string): Promise<void> {
      const catalogue =
        engine === 'sqlite'
          ? `SELECT sql FROM sqlite_schema WHERE name = '${subjectIndex}'`
          : `SELECT indexdef AS sql FROM pg_indexes WHERE indexname = '${subjectIndex}'`;
      subjectIndexSql = String((await intruder.sql(catalogue))[0]!.sql);
      await intruder.sql(`DROP INDEX ${subjectIndex}`);
      const [made, where] = subjectIndexSql.split(/ where /i);
      const hiding = `NOT (subject_id = '${id}' AND subject_revision = 2)`;
      await intruder.sql(`${made} WHERE ${where === undefined ? hiding : `(${where}) AND ${hiding}`}`);
      if (engine === 'postgres') return; // There the planner would see the difference; the entry itself is left.
      await intruder.sql('PRAGMA writable_schema = ON');
      await intruder.sql(`UPDATE sqlite_schema SET sql = ? WHERE name = '${subjectIndex}'`, subjectIndexSql);
      await intruder.sql('PRAGMA writable_schema = RESET');
    }
    async function showRevisions(): Promise<void> {
      await intruder.sql(`DROP INDEX ${subjectIndex}`);
      await intruder.sql(subjectIndexSql);
      await service.restart();
    }

    it('who edits a role gets no more for it', async () => {
      const { id, token } = await post('/v1/api-keys', { name: 'viewer', role: 'viewer' });
      const { id: secretId } = await secretIn(vault);
      const attempt = () => service.call('POST', `/v1/secrets/${secretId}/reveal`, undefined, token);
      assert.equal((await attempt()).status, 403);
      for (const [column, value] of [
        ['role', 'owner'],
        ['narrowing', '{"scopes":null}'],
        ['expiration_date', 1],
      ] as const) {
        await tampering(
          'credentials',
          id,
          () => intruder.sql(`UPDATE credentials SET ${column} = ? WHERE id = ?`, value, id),
          async () => {
            await service.restart();
            failsClosed(await attempt());
            failsClosed(await service.call('GET', `/v1/api-keys/${id}`));
            failsClosed(await service.call('GET', '/v1/api-keys'));
          },
        );
      }
    });

    it('who points an access key at another vault, or widens it, opens nothing with it', async () => {
      await secretIn(otherVault);
      const { id, token } = await accessKey(vault, { names_only: true });
      const edits: [column: string, value: unknown][] = [
        ['vault_id', otherVault],
        ['narrowing', '{}'],
        ['max_uses', 1_000],
        ['kind', 'api-key'],
      ];
      for (const [column, value] of edits) {
        await tampering(
          'credentials',
          id,
          () => intruder.sql(`UPDATE credentials SET ${column} = ? WHERE id = ?`, value, id),
          async () => {
            await service.restart();
            for (const at of [vault, otherVault]) {
              const answer = await readVault(at, token);
              assert.ok(answer.status === 500 || answer.status === 401, answer.text);
              assert.ok(!answer.text.includes(canary));
            }
          },
        );
      }
      assert.equal((await readVault(vault, token)).status, 200);
    });

    it('who inserts a credential by hand, or copies one, has made none', async () => {
      const { id, token } = await post('/v1/api-keys', { name: 'mine', role: 'viewer' });
      const row = await rowOf('credentials', id);
      await post('/v1/api-keys', { name: 'target', role: 'owner' });
      await intruder.sql('DELETE FROM credentials WHERE id = ?', id);
      const forged: Row = { ...row, role: 'owner', narrowing: '{}', stamp: Buffer.alloc(32) };
      const marks = columnsOf(forged).map(() => '?');
      const insert = (copy: Row) =>
        intruder.sql(
          `INSERT INTO credentials (${columnsOf(copy).join(', ')}) VALUES (${marks.join(', ')})`,
          ...Object.values(copy),
        );
      await insert(forged);
      await service.restart();
      failsClosed(await service.call('GET', '/v1/vaults', undefined, token));
      await intruder.sql('DELETE FROM credentials WHERE id = ?', id);
      await insert(row);
      assert.equal((await service.call('GET', '/v1/vaults', undefined, token)).status, 200);
    });

    it('who takes a revocation back, by edit or by the earlier row, opens nothing', async () => {
      const { id, token } = await accessKey(vault);
      assert.equal((await readVault(vault, token)).status, 200);
      const before = await rowOf('credentials', id);
      await service.call('DELETE', `/v1/access-keys/${id}`);
      assert.equal((await readVault(vault, token)).status, 401);
      const revoked = await rowOf('credentials', id);
      await intruder.sql('UPDATE credentials SET revoked_at = NULL WHERE id = ?', id);
      await service.restart();
      failsClosed(await readVault(vault, token));
      await putBack('credentials', before);
      await service.restart();
      failsClosed(await readVault(vault, token));
      await putBack('credentials', revoked);
    });

    it('who resets the count of uses, by edit or by an earlier row, gets no further use', async () => {
      const { id, token } = await accessKey(vault, { max_uses: 3 });
      assert.equal((await readVault(vault, token)).status, 200);
      const early = await rowOf('credentials', id);
      for (const expected of [200, 200, 401]) assert.equal((await readVault(vault, token)).status, expected);
      assert.equal((await service.call('GET', `/v1/access-keys/${id}`)).body.uses, 3);
      const spent = await rowOf('credentials', id);
      for (const uses of [0, 1, -5]) {
        await intruder.sql('UPDATE credentials SET uses = ? WHERE id = ?', uses, id);
        failsClosed(await readVault(vault, token));
        await service.restart();
        failsClosed(await readVault(vault, token));
        await putBack('credentials', spent);
      }
      await putBack('credentials', early);
      await service.restart();
      failsClosed(await readVault(vault, token));
      await putBack('credentials', spent);
    });

    it('many uses at once count exactly', async () => {
      const { token } = await accessKey(vault, { max_uses: 10 });
      const answers = await Promise.all(Array.from({ length: 25 }, () => readVault(vault, token)));
      const statuses = answers.map(({ status }) => status);
      assert.equal(statuses.filter(status => status === 200).length, 10, statuses.join(' '));
      assert.ok(
        statuses.every(status => status === 200 || status === 401 || status === 429),
        statuses.join(' '),
      );
    });

    it('who edits the plan is not served by it', async () => {
      await tampering(
        'organizations',
        service.organizationId,
        () =>
          intruder.sql(
            "UPDATE organizations SET plan = 'free', enterprise_limit = 5 WHERE id = ?",
            service.organizationId,
          ),
        async () => {
          await service.restart();
          failsClosed(await service.call('GET', '/v1/organization'));
          failsClosed(await service.call('GET', '/v1/vaults'));
        },
      );
    });

    it('who edits a member’s role or address is found', async () => {
      const { id } = await post('/v1/members', { email: 'bob@example.org', role: 'viewer' });
      for (const [column, value] of [
        ['role', 'owner'],
        ['email', 'eve@example.org'],
        ['state', 'active'],
      ]) {
        await tampering(
          'members',
          id,
          () => intruder.sql(`UPDATE members SET ${column} = ? WHERE id = ?`, value, id),
          async () => {
            failsClosed(await service.call('GET', `/v1/members/${id}`));
            failsClosed(await service.call('GET', '/v1/members'));
          },
        );
      }
    });

    it('after all of this, what nobody touched is served as ever', async () => {
      const { id } = await secretIn(otherVault);
      await service.restart();
      const revealed = await service.call('POST', `/v1/secrets/${id}/reveal`);
      assert.equal(revealed.status, 200);
      assert.ok(revealed.body.value.startsWith(canary));
    });
  });
}
