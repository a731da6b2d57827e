/** Databases that earlier releases left behind: each is opened by this one, and nothing in it is lost. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { columns } from '../src/store/integrity/stamp-columns.ts';
import { steps } from '../src/store/migrations/migrations.ts';
import { type Location, openStore } from '../src/store/store.ts';
import { run, setup, start, stop } from './command.ts';
import { type Answer, callService, type EngineName, engines, loopbackWebhooks } from './harness.ts';
import { copyOf, releases } from './kept-databases.ts';
import { Browser, fromBase32 } from './people.ts';
import { dataRoot, freshDatabase } from './postgres.ts';
import { statementsOf } from './statements.ts';
import { inDatabase } from './storage.ts';

/**
 * A step that ran at somebody's is data: what it says is fixed, to the letter. What comes after it is a step of its
 * own, and gets its lines here when it is released.
 */
const frozen: Record<EngineName, Record<string, string>> = {
  sqlite: {
    '001-foundation': 'efc3d0df3e4b12655cd8a89b8c2095c6cf382053529b20dfcc26b3578b0727c5',
    '002-events': '997c4101d92511e66e9a95350051070e64ff6c7f7e9277f99304d43e586ea3f0',
    '003-accounts': '083de91fc4bb5234d84f041ae2ee19f70d1aad8473e3fa8c2fac751e3c32ff78',
  },
  postgres: {
    '001-foundation': 'e7c2c4803a423bf0dbc7522ab95c44cfc824b9c05d37c84ba2311b77efb676ae',
    '002-events': 'db8d5d23ed61144e922bd8612ca4981d0918317ea8984fcd495148fb815c6176',
    '003-accounts': '9f5f5a412a9a15d7334ee68fecab415f447e42ec577c16c08938023ef0d7e15b',
  },
};

for (const engine of engines) {
  it(`the steps that were released say to ${engine} what they said then`, async () => {
    assert.ok(Object.keys(frozen[engine]).every(step => step in steps));
    for (const [step, expected] of Object.entries(frozen[engine])) {
      const text = (await statementsOf(step, engine)).join(';\n');
      assert.equal(createHash('sha256').update(text).digest('hex'), expected, step);
    }
  });
}

for (const engine of engines) {
  describe(`a ${engine} database that is not what this version makes of it`, () => {
    let place: string[];
    let location: Location;
    let alter: (...statements: string[]) => Promise<void>;
    const data = mkdtempSync(join(dataRoot(), 'strongroom-altered-'));

    before(async () => {
      const databaseUrl = engine === 'postgres' ? await freshDatabase() : null;
      place = ['--data', data, ...(databaseUrl === null ? [] : ['--database-url', databaseUrl])];
      await setup(place);
      location =
        databaseUrl === null
          ? { engine: 'sqlite', path: join(data, 'strongroom.db'), serves: true }
          : { engine: 'postgres', url: databaseUrl };
      alter = async (...statements) => {
        for (const statement of statements) await inDatabase({ data, databaseUrl }, statement);
      };
    });
    after(() => rm(data, { recursive: true, force: true }));

    const refused = async (what: RegExp, ...flags: string[]) => {
      const { code, stdout, stderr } = await run(['serve', ...place, '--port', '0', ...flags]);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
      assert.match(stderr, what);
    };

    it('is refused in one line that says so: made by a newer version', async () => {
      await alter("INSERT INTO kysely_migration (name, timestamp) VALUES ('999-later', 'x')");
      await refused(/was migrated by a newer version \(999-later\)/);
      await alter("DELETE FROM kysely_migration WHERE name = '999-later'");
    });

    it('with a column too many or a step that nobody wrote down, too; with somebody else’s table it is opened', async () => {
      await alter('ALTER TABLE members ADD COLUMN nickname text');
      await refused(/unexpected column members\.nickname/);
      await alter('ALTER TABLE members DROP COLUMN nickname', 'CREATE TABLE theirs (id text)');
      await (await openStore(location)).close();
      await alter('ALTER TABLE kysely_migration RENAME TO forgotten');
      const wrong = join(data, 'wrong.key');
      const bytes = Buffer.alloc(32, 7).toString('base64');
      writeFileSync(wrong, `strongroom-root-key-v1:${bytes}\n`, { mode: 0o400 });
      // The root key is tried before any step is.
      await refused(/is not the one that protects this data/, '--root-key-file', wrong);
      await refused(/can’t be migrated; it failed at 001-foundation: /);
      await alter(
        ...(engine === 'sqlite' ? ['DROP TABLE kysely_migration'] : []),
        'DROP TABLE IF EXISTS kysely_migration',
        'ALTER TABLE forgotten RENAME TO kysely_migration',
      );
    });

    it('and where any table is gone or lacks a column, which is named', async () => {
      assert.ok(Object.keys(columns).length > 25);
      for (const [table, held] of Object.entries(columns)) {
        const [name] = Object.keys(held);
        await alter(`ALTER TABLE ${table} RENAME COLUMN ${name} TO other`);
        await assert.rejects(openStore(location), new RegExp(`: ${table}\\.${name} is missing$`));
        await alter(`ALTER TABLE ${table} RENAME COLUMN other TO ${name}`);
      }
      await alter('ALTER TABLE unfiled RENAME TO other');
      await assert.rejects(openStore(location), /: unfiled\.writer is missing$/);
      await alter('ALTER TABLE other RENAME TO unfiled');
      const service = start(['serve', ...place, '--port', '0']);
      await service.url;
      assert.equal((await stop(service)).code, 0);
    });
  });
}

for (const release of releases) {
  for (const engine of engines) {
    describe(`the ${engine} database that ${release} left behind`, () => {
      let copy: Awaited<ReturnType<typeof copyOf>>;
      let running: Running;

      const start = async () => {
        // What is old by now is kept, whenever these tests run.
        const flags = [...copy.place, '--port', '0', '--log-retention-days', '0', ...loopbackWebhooks];
        running = await serve(readConfig(serveOptions, flags, {}), { report: () => {} });
      };
      const call = (method: string, path: string, body?: unknown, token = copy.expected.apiKey) =>
        callService(running.url, method, path, body, token);
      const ok = async (asked: Promise<Answer>) => {
        const answer = await asked;
        assert.equal(answer.status, 200, answer.text);
        return answer.body;
      };
      const read = (token: string, query = '') =>
        call('GET', `/api/v1/vaults/${copy.expected.vault.id}${query}`, undefined, token);
      const named = (secrets: { name: string; value: string }[]) =>
        Object.fromEntries(secrets.map(({ name, value }) => [name, value]));
      const holds = async () => {
        const { code, stdout, stderr } = await run([
          'audit',
          'verify',
          ...copy.place,
          '--checkpoint',
          copy.checkpoint,
        ]);
        assert.equal(code, 0, stdout + stderr);
      };

      before(async () => {
        copy = await copyOf(release, engine);
        await start();
      });
      after(async () => {
        await running.stop();
        await rm(copy.data, { recursive: true, force: true });
      });

      it('is served: every value, version, key and certificate is read as it was written', async () => {
        const { vault, secret, active, key, certificate } = copy.expected;
        assert.equal((await call('GET', '/readyz')).status, 200);
        const shown = await ok(call('GET', `/v1/vaults/${vault.id}`));
        assert.deepEqual(
          { id: shown.id, name: shown.name, description: shown.description, tags: shown.tags },
          vault,
        );
        for (const [index, value] of secret.values.entries()) {
          const revealed = call('POST', `/v1/secrets/${secret.id}/reveal`, { version: index + 1 });
          assert.equal((await ok(revealed)).value, value);
        }
        assert.deepEqual((await ok(call('GET', `/v1/secrets/${secret.id}`))).tags, secret.tags);
        assert.deepEqual(named((await ok(read(copy.expected.tokens.access))).secrets), active);
        assert.equal((await ok(call('POST', `/v1/keys/${key.id}/reveal`, {}))).pem, key.pem);
        assert.equal((await ok(call('GET', `/v1/certificates/${certificate.id}`))).pem, certificate.pem);
        assert.equal((await call('GET', '/v1/vaults', undefined, copy.expected.beside)).status, 200);
      });

      it('its credentials do what they did: the narrow stays narrow, the revoked stays revoked', async () => {
        const { tokens, viewer, secret } = copy.expected;
        assert.deepEqual(named((await ok(read(tokens.narrow))).secrets), { LASTING: 'long' });
        assert.equal((await read(tokens.revoked)).status, 401);
        assert.equal((await read(tokens.counted)).status, 200, 'one of its two uses was left');
        assert.equal((await read(tokens.counted)).status, 401);
        assert.equal((await call('GET', '/v1/vaults', undefined, viewer)).body.pagination.total, 1);
        assert.equal((await call('POST', `/v1/secrets/${secret.id}/reveal`, {}, viewer)).status, 403);
        const tool = (body: unknown, headers = {}) =>
          callService(running.url, 'POST', '/mcp', body, null, headers);
        const session = (await tool({ method: 'initialize' })).headers.get('mcp-session-id')!;
        const params = { name: 'keys.get', arguments: { code: tokens.public } };
        const shown = await tool({ method: 'tools/call', params }, { 'mcp-session-id': session });
        assert.match(shown.text, /BEGIN PUBLIC KEY/);
      });

      it('its people sign in, and what lay in the trash is restored', async () => {
        const { email, password, seed, members, trashed } = copy.expected;
        const browser = new Browser(running.url);
        const signedIn = await browser.signIn(email, password, codeAt(fromBase32(seed), stepAt(Date.now())));
        assert.equal(signedIn.status, 200, signedIn.text);
        const listed = (await ok(call('GET', '/v1/members'))).data;
        assert.deepEqual(listed.map((member: { email: string }) => member.email).sort(), members);
        // Thirty days after the release that is over; before, the value is what it was.
        const restored = await call('POST', `/v1/resources/${trashed.id}/restore`, {});
        if (restored.status === 200) {
          const revealed = call('POST', `/v1/secrets/${trashed.id}/reveal`, {});
          assert.equal((await ok(revealed)).value, trashed.value);
        } else assert.equal(restored.status, 404, restored.text);
      });

      it('its logs verify, what is new is written behind the old, and all of it once more after a restart', async () => {
        const { vault, tokens, requests } = copy.expected;
        const total = async () =>
          (await ok(call('GET', `/v1/request-logs?vault_id=${vault.id}`))).pagination.total;
        assert.ok((await total()) >= requests);
        const body = { vault_id: vault.id, name: 'NEW', value: 'new' };
        const { id } = await ok(call('POST', '/v1/secrets', body));
        await ok(call('PUT', `/v1/secrets/${copy.expected.secret.id}`, { value: 'three' }));
        const before = await total();
        assert.equal(named((await ok(read(tokens.access))).secrets).PASSWORD, 'three');
        assert.equal(await total(), before + 1);
        await running.stop();
        await holds();
        await start();
        assert.equal((await ok(call('POST', `/v1/secrets/${id}/reveal`, {}))).value, 'new');
        await ok(read(tokens.access));
        await running.stop();
        await holds();
        await start();
      });
    });
  }
}
