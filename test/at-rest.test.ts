import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import pg from 'pg';
import { engines, eventually, type Service, startService } from './harness.ts';

const canary = 'Canary-7f3a9c51-do-not-store';

/** Every form in which the text could be found: as it is, in hex, in base64 and base64url at each of its three alignments. */
function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'utf8');
  const forms = [bytes, Buffer.from(bytes.toString('hex')), Buffer.from(bytes.toString('hex').toUpperCase())];
  forms.push(Buffer.from(text, 'utf16le'));
  for (const shift of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    // The first and last characters depend on what stands around the text.
    const inner = encoded.slice(Math.ceil((shift * 8) / 6), -4).replaceAll('=', '');
    forms.push(Buffer.from(inner), Buffer.from(inner.replaceAll('+', '-').replaceAll('/', '_')));
  }
  return forms;
}

function assertAbsent(haystack: Buffer, needles: ReadonlyMap<string, string>, where: string): void {
  for (const [what, text] of needles) {
    for (const form of formsOf(text)) {
      assert.ok(!haystack.includes(form), `${what} is in ${where} as ${form.subarray(0, 12)}…`);
    }
  }
}

/** What a thief of the files carries away. The root key lies beside them, and is kept elsewhere by a careful operator. */
function filesOf(service: Service): [name: string, bytes: Buffer][] {
  return readdirSync(service.data, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name !== 'root.key')
    .map(entry => [entry.name, readFileSync(join(entry.parentPath, entry.name))]);
}

/** Every row of every table, with bytes as they are and as text. */
async function dumpOf(url: string): Promise<Buffer> {
  const client = new pg.Client(url);
  await client.connect();
  const tables = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  assert.ok(tables.rows.length > 15);
  const parts: Buffer[] = [];
  for (const { tablename } of tables.rows) {
    const { rows } = await client.query({ text: `SELECT * FROM "${tablename}"`, rowMode: 'array' });
    for (const value of rows.flat()) {
      parts.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)), Buffer.from('\n'));
    }
    const text = await client.query(`SELECT t::text AS row FROM "${tablename}" AS t`);
    for (const { row } of text.rows) parts.push(Buffer.from(row));
  }
  await client.end();
  return Buffer.concat(parts);
}

describe('the search itself', () => {
  it('finds a canary in each form that it looks for', () => {
    const needles = new Map([['canary', canary]]);
    for (const before of ['', 'x', 'xy', 'xyz']) {
      const around = Buffer.from(`${before}${canary}tail`);
      const forms = [
        around,
        Buffer.from(around.toString('hex')),
        Buffer.from(around.toString('base64')),
        Buffer.from(around.toString('base64url')),
      ];
      for (const form of forms) {
        assert.throws(() => assertAbsent(Buffer.concat([Buffer.from('head'), form]), needles, 'here'));
      }
    }
    assertAbsent(Buffer.from('nothing of it'), needles, 'here');
  });
});

for (const engine of engines) {
  describe(`at rest on ${engine}`, () => {
    it('no value, PEM, tag, description or token can be found, in any form, while it runs and after it stopped', async () => {
      const service = await startService({ engine });
      const needles = new Map<string, string>();
      const post = async (path: string, body: unknown) => {
        const answer = await service.call('POST', path, body);
        assert.equal(answer.status, 200, answer.text);
        return answer.body;
      };
      const say = (what: string) => {
        const text = `${canary}-${what}`;
        needles.set(what, text);
        return text;
      };
      const tags = { [say('tag-name')]: say('tag-value') };
      const vault = await post('/v1/vaults', { name: 'v', description: say('description'), tags });
      const secret = await post('/v1/secrets', {
        vault_id: vault.id,
        name: 'plain name',
        value: say('value'),
        tags,
      });
      await service.call('PUT', `/v1/secrets/${secret.id}`, { value: say('second-value') });
      await service.call('PUT', `/v1/secrets/${secret.id}`, { tags: { [say('later-tag')]: 'x' } });
      const large = say('large').repeat(1500);
      await post('/v1/secrets', { vault_id: vault.id, name: 'large', value: large });
      const gone = await post('/v1/secrets', {
        vault_id: vault.id,
        name: 'gone',
        value: say('deleted-value'),
      });
      await service.call('DELETE', `/v1/secrets/${gone.id}?purge=true`);
      await service.call('POST', '/v1/secrets', {
        vault_id: vault.id,
        name: 'x',
        value: say('refused'),
        bad: 1,
      });
      const key = await post('/v1/keys', {
        vault_id: vault.id,
        name: 'k',
        generate: { key_type: 'EC', curve: 'P-256' },
      });
      const { pem } = (await service.call('POST', `/v1/keys/${key.id}/reveal`)).body;
      needles.set('private key', pem.split('\n')[1]);
      const access = await post('/v1/access-keys', { vault_id: vault.id, name: 'a' });
      needles.set('access key', access.token);
      needles.set('access key’s secret', access.token.slice(31, 74));
      needles.set('api key', service.key);
      needles.set('public token', (await post('/v1/public-tokens', { key_id: key.id })).token);
      const read = await service.call(
        'GET',
        `/api/v1/vaults/${vault.id}?include=keys`,
        undefined,
        access.token,
      );
      assert.ok(read.text.includes(needles.get('second-value')!), 'it is served all the same');
      const checkpoint = () =>
        readFileSync(join(service.data, 'checkpoint.json'), { encoding: 'utf8', flag: 'a+' });
      const signedBefore = checkpoint();
      await service.call(
        'GET',
        `/api/v1/vaults/${vault.id}?resource=${say('asked-for')}`,
        undefined,
        access.token,
      );
      await eventually('a checkpoint is signed', async () => checkpoint() !== signedBefore);

      const look = async (when: string) => {
        for (const [name, bytes] of filesOf(service)) assertAbsent(bytes, needles, `${name} ${when}`);
        if (service.databaseUrl !== null)
          assertAbsent(await dumpOf(service.databaseUrl), needles, `the dump ${when}`);
        for (const line of service.reports) assertAbsent(Buffer.from(line), needles, 'the operator’s log');
      };
      const names = filesOf(service).map(([name]) => name);
      assert.ok(names.includes('checkpoint.json'));
      if (engine === 'sqlite')
        assert.ok(names.includes('strongroom.db') && names.includes('strongroom.db-wal'));
      await look('while it runs');
      await service.restart();
      await look('after a restart');
      await service.stop();
    });
  });
}
