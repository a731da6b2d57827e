/** The vault endpoint's short forms: `self`, one secret by its name, and names with values alone. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { envLine } from '../src/contract/env-file.ts';
import { type Answer, enginesInTurn, type Service, startService } from './harness.ts';

const run = promisify(execFile);

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the vault endpoint’s short forms on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let key: string;

    const make = async (path: string, body: object): Promise<Answer['body']> => {
      const answer = await service.call('POST', `/v1/${path}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const secret = (name: string, value: string, more = {}) =>
      make('secrets', { vault_id: vaultId, name, value, ...more });
    const accessKey = async (narrowing = {}): Promise<string> =>
      (await make('access-keys', { vault_id: vaultId, name: 'k', ...narrowing })).token;
    const read = (query = '', token: string | null = key, headers = {}, id = vaultId) =>
      service.call('GET', `/api/v1/vaults/${id}${query}`, undefined, token, headers);
    const lastEntry = async () =>
      (await service.call('GET', `/v1/request-logs?vault_id=${vaultId}&limit=1`)).body.data[0];

    let vaults = 0;
    const freshVault = async () => {
      vaults += 1;
      vaultId = (await make('vaults', { name: `forms ${vaults}` })).id;
      key = await accessKey();
    };

    before(async () => {
      service = await startService({ engine });
    });
    after(() => service.stop());

    it('self is the vault of the access key, with every parameter, first and repeated', async () => {
      await freshVault();
      const { id } = await secret('A', 'one');
      for (const query of [
        '',
        '?secrets=names',
        '?include=keys',
        `?resource=${id}`,
        '?name=A',
        '?format=map',
      ]) {
        const named = await read(query);
        for (let times = 0; times < 2; times++) {
          const own = await read(query, key, {}, 'self');
          assert.deepEqual([own.status, own.text], [200, named.text], query);
        }
      }
      const entry = await lastEntry();
      assert.deepEqual([entry.vault_id, entry.route], [vaultId, '/api/v1/vaults/{vault_id}']);
      for (const bad of [null, 'sr_vault_bad', service.key]) {
        assert.equal((await read('', bad, {}, 'self')).status, 401);
      }
      assert.equal((await read('', key, {}, 'SELF')).status, 401);
    });

    it('name gives the one active secret of that exact name, as resource does by its id', async () => {
      await freshVault();
      const made = await secret('DB URL/é', 'värde', { tags: { team: 'x' }, content_type: 'text/x' });
      await secret('OFF', 'x', { enabled: false });
      const byName = await read(`?name=${encodeURIComponent('DB URL/é')}`);
      assert.equal(byName.status, 200, byName.text);
      assert.equal(byName.text, (await read(`?resource=${made.id}`)).text);
      assert.equal((await lastEntry()).requested, 'secret=value DB URL/é');
      for (const other of ['db url/é', 'DB URL/', 'OFF', 'NONE', '*']) {
        const answer = await read(`?name=${encodeURIComponent(other)}`);
        assert.deepEqual([answer.status, answer.body], [404, { message: 'Resource not found' }], other);
      }
      assert.equal((await read(`?name=OFF&resource=${made.id}`)).text, byName.text, 'resource wins');
      assert.equal((await read('?name=%00')).status, 400);
      assert.match((await read('?name=')).body.message, /^name /);
      assert.match((await read('?name=a&name=b')).body.message, /^name /);
    });

    it('format=map gives names and values of the active secrets, and nothing else', async () => {
      await freshVault();
      await secret('B', 'two\nlines');
      await secret('__proto__', 'a name like any other');
      await secret('OFF', 'x', { enabled: false });
      await make('keys', { vault_id: vaultId, name: 'K', generate: { key_type: 'EC', curve: 'P-256' } });
      const answer = await read('?format=map&include=keys');
      assert.equal(answer.text, '{"B":"two\\nlines","__proto__":"a name like any other"}');
      assert.match(answer.headers.get('content-type')!, /^application\/json/);
      assert.equal((await lastEntry()).requested, 'format=map');
    });

    it('format=env gives the same as lines; what can’t be written so is 400 and named', async () => {
      await freshVault();
      await secret('DATABASE_URL', 'postgres://app:p%40ss@db:5432/prod?ssl=true');
      await secret('EMPTY', '');
      const answer = await read('?format=env');
      assert.equal(answer.text, 'DATABASE_URL=postgres://app:p%40ss@db:5432/prod?ssl=true\nEMPTY=\n');
      assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal((await lastEntry()).requested, 'format=env');
      const { id } = await secret('SPACED', 'not in common');
      const refused = await read('?format=env');
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /^format .*: SPACED can’t/);
      assert.doesNotMatch(refused.text, /not in common/);
      assert.equal((await lastEntry()).status, 400);
      await service.call('PUT', `/v1/secrets/${id}`, { value: 'fine' });
      assert.match((await read('?format=env')).text, /^SPACED=fine$/m, 'a change is followed at once');
      await secret('not-a-variable', 'x');
      assert.match((await read('?format=env')).body.message, /: not-a-variable can’t/);
    });

    it('they carry an ETag, and If-None-Match gets 304 until something changes', async () => {
      await freshVault();
      const { id } = await secret('A', 'one');
      for (const query of ['?name=A', '?format=map', '?format=env']) {
        const etag = (await read(query)).headers.get('etag')!;
        assert.match(etag, /^"[\w-]+"$/, query);
        const unchanged = await read(query, key, { 'if-none-match': etag });
        assert.deepEqual([unchanged.status, unchanged.text], [304, '']);
        await service.call('PUT', `/v1/secrets/${id}`, { value: `after ${query}`.replaceAll(/\W/g, '') });
        assert.equal((await read(query, key, { 'if-none-match': etag })).status, 200);
      }
    });

    it('they show a narrowed key no more than the vault does, whoever asked before', async () => {
      await freshVault();
      await secret('WEB_A', 'one');
      await secret('DB_A', 'two');
      // A name that looks like what answers are kept by.
      const odd = 'WEB_A[null,["WEB_*"],false]';
      await secret(odd, 'three');
      const queries = ['?name=WEB_A', '?name=DB_A', '?format=map', `?name=${encodeURIComponent(odd)}`];
      for (const query of queries) assert.equal((await read(query)).status, 200);
      const web = await accessKey({ names: ['WEB_A'] });
      assert.deepEqual((await read('?format=map', web)).body, { WEB_A: 'one' });
      assert.equal((await read('?format=env', web)).text, 'WEB_A=one\n');
      assert.equal((await read('?name=WEB_A', web)).body.value, 'one');
      assert.equal((await read('?name=DB_A', web)).status, 404);
      const patterned = await accessKey({ names: ['WEB_*'] });
      assert.equal((await read('?name=WEB_A', patterned)).body.value, 'one');
      const keysOnly = await accessKey({ kinds: ['key'] });
      assert.deepEqual((await read('?format=map', keysOnly)).body, {});
      assert.equal((await read('?name=WEB_A', keysOnly)).status, 404);
      const namesOnly = await accessKey({ names_only: true });
      for (const query of ['?name=WEB_A', '?format=map', '?format=env']) {
        const refused = await read(query, namesOnly);
        assert.equal(refused.status, 403, query);
        assert.doesNotMatch(refused.text, /one|two/);
      }
      await read('', namesOnly);
      assert.equal((await lastEntry()).requested, 'secrets=names', 'what was given, not what was asked for');
    });

    it('format takes map and env, and not beside secrets=names; include takes white space', async () => {
      await freshVault();
      for (const query of [
        '?format=yaml',
        '?format=',
        '?format=map&format=env',
        '?format=map&secrets=names',
      ]) {
        const answer = await read(query);
        assert.equal(answer.status, 400, query);
        assert.match(answer.body.message, /^format /);
      }
      for (const include of ['keys,%20certificates', '+keys+,+certificates+', '%09certificates%20,keys']) {
        const { body } = await read(`?include=${include}`);
        assert.deepEqual(Object.keys(body), ['id', 'name', 'secrets', 'keys', 'certificates'], include);
      }
      for (const include of ['keys,', 'ke+ys', '+', 'keys,keys', 'keys+certificates']) {
        assert.match((await read(`?include=${include}`)).body.message, /^include /, include);
      }
    });
  });
}

describe('lines of an environment file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-env-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** As node, bash and docker read a file. Docker's rules are few; its own words are in docker/cli, pkg/kvfile. */
  async function readers(text: string, names: readonly string[]): Promise<Record<string, string>[]> {
    const file = join(folder, 'env');
    await writeFile(file, text);
    const print = `console.log(JSON.stringify(Object.fromEntries(${JSON.stringify(names)}.map(n => [n, process.env[n]]))))`;
    const env = { PATH: process.env.PATH! };
    const options = { env, maxBuffer: 1 << 26 };
    const node = await run(process.execPath, [`--env-file=${file}`, '-e', print], options);
    const script = `set -eu; set -a; . '${file}'; exec '${process.execPath}' -e '${print}'`;
    const bash = await run('bash', ['-c', script], options);
    return [JSON.parse(node.stdout), JSON.parse(bash.stdout), asDocker(text)];
  }

  function asDocker(text: string): Record<string, string> {
    const values: Record<string, string> = {};
    for (const line of text.split('\n')) {
      const trimmed = line.replace(/^[ \t]+/, '');
      if (trimmed === '' || trimmed.startsWith('#')) continue;
      assert.ok(Buffer.byteLength(line) < 64 * 1024, 'docker reads no longer line');
      const at = trimmed.indexOf('=');
      assert.doesNotMatch(trimmed.slice(0, at), /\s/);
      values[trimmed.slice(0, at)] = trimmed.slice(at + 1).replace(/\r$/, '');
    }
    return values;
  }

  it('are read alike by node, bash and docker, whatever is in a value', async () => {
    const special = fc.constantFrom(
      ...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\rabzAZ09é߀😀\u00a0\u2028\u200b',
    );
    const value = fc.oneof(
      fc.string({ unit: special, maxLength: 12 }),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
    );
    const several = fc.array(value, { minLength: 40, maxLength: 80 });
    let written = 0;
    await fc.assert(
      fc.asyncProperty(several, async values => {
        const pairs = values.map((one, at) => [`V_${at}`, one] as const);
        const lines = pairs.map(([name, one]) => envLine(name, one));
        const kept = pairs.filter((_, at) => lines[at] !== null);
        written += kept.length;
        const text = lines
          .filter(line => line !== null)
          .map(line => `${line}\n`)
          .join('');
        for (const got of await readers(
          text,
          kept.map(([name]) => name),
        ))
          assert.deepEqual(got, Object.fromEntries(kept));
      }),
      { numRuns: 12 },
    );
    assert.ok(written > 100, `only ${written} values could be written`);
  });

  it('hold what common secrets look like, up to the longest line', async () => {
    const values = {
      DATABASE_URL: 'postgres://app:p%40ss@db.internal:5432/app?sslmode=require',
      API_TOKEN: 'sk_live_51H8x+/=_-.~',
      BASE64: Buffer.from('any bytes at all, in base64').toString('base64'),
      PATTERN: '*.{a,b}[0-9]?!^@%',
      UMLAUT: 'größe',
      TILDE: 'https://host/~user',
      LONG: 'x'.repeat(64 * 1024 - 'LONG='.length - 1),
    };
    const lines = Object.entries(values).map(([name, value]) => envLine(name, value));
    assert.ok(lines.every(line => line !== null));
    for (const got of await readers(`${lines.join('\n')}\n`, Object.keys(values)))
      assert.deepEqual(got, values);
    assert.equal(envLine('LONG', 'x'.repeat(64 * 1024)), null);
    for (const value of [
      'a b',
      ' a',
      'a ',
      'a#b',
      '$HOME',
      '`id`',
      '$(id)',
      "it's",
      '"',
      'a\\b',
      'a\nb',
      '~',
      'a:~',
    ])
      assert.equal(envLine('V', value), null, value);
  });

  it('hold no name that bash has taken for itself', async () => {
    const { stdout } = await run('bash', ['-c', 'compgen -v'], { env: { PATH: process.env.PATH! } });
    const names = stdout
      .trim()
      .split('\n')
      .filter(name => name !== 'PATH' && envLine(name, 'value') !== null);
    for (const name of names) {
      const [node, bash] = await readers(`${envLine(name, '7')}\n`, [name]);
      assert.deepEqual(bash, { [name]: '7' }, name);
      assert.deepEqual(Object.keys(node!), [name]);
    }
    for (const name of ['UID', 'RANDOM', 'a-b', '1A', '', 'Ä', 'A B', 'SHELLOPTS'])
      assert.equal(envLine(name, '7'), null, name);
  });
});
