/** What holds for every route alike: empty bodies, HEAD, records sent back whole, the spelling of headers. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import {
  Document,
  leasing,
  makeWorld,
  type Operation,
  proposing,
  readVault,
  realBody,
  realPath,
  type World,
} from './document.ts';
import { type Answer, enginesInTurn, type Service, startService } from './harness.ts';
import { type Raw, sendRaw } from './raw.ts';

const run = promisify(execFile);

/** As clients that nobody told better send a request without a body: axios, PHP, Ruby, wget, `curl -d ''`. */
const emptyBodies = {
  'a length of 0 alone': 'Content-Length: 0\r\n\r\n',
  'a form’s type': 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n\r\n',
  'JSON’s type': 'Content-Type: application/json\r\nContent-Length: 0\r\n\r\n',
  'a type that is none': 'Content-Type: x\r\nContent-Length: 0\r\n\r\n',
  'a type and no length': 'Content-Type: text/plain\r\n\r\n',
  'no chunk': 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'no chunk, with a type': 'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
} as const;

/** What differs between two requests that are alike, or belongs to the connection. */
const changing =
  /^(date|x-request-id|strongroom-receipt|x-ratelimit-remaining|connection|keep-alive|transfer-encoding)$/;

/** Where records are stored, both engines; what the surface does with bytes and headers is the same over either. */
for (const engine of enginesInTurn(import.meta.url)) {
  const onSurface = engine === 'sqlite' ? it : () => {};
  describe(`every route on ${engine}`, () => {
    let service: Service;
    let document: Document;
    let world: World;

    before(async () => {
      service = await startService({ engine, plan: 'enterprise', limit: 1_000_000 });
      document = await Document.of(service);
      world = await makeWorld(service.call);
      world.proposal = await proposing(service, service.call, world);
      world.lease = leasing(service, service.call, world);
      await readVault(service, service.call, world);
    });
    after(() => service.stop());

    const host = () => new URL(service.url).host;
    const send = (method: string, path: string, rest: string, key = service.key): Promise<Raw> =>
      sendRaw(
        service.url,
        `${method} ${path} HTTP/1.1\r\nHost: ${host()}\r\nAuthorization: Bearer ${key}\r\n${rest}`,
        method,
      );

    onSurface('takes an empty body, whatever its type is said to be', async () => {
      const nowhere = '01999999-9999-7999-8999-999999999999';
      const routes = [...service.routes].map(route => route.split(' ') as [string, string]);
      const bodied = routes.filter(([method]) => method !== 'GET' && method !== 'HEAD');
      assert.ok(bodied.length > 60, `${bodied.length} routes`);
      for (const [method, url] of bodied) {
        const path = url.replace(':id', nowhere);
        const plain = await send(method, path, '\r\n');
        for (const [name, rest] of Object.entries(emptyBodies)) {
          const answer = await send(method, path, rest);
          assert.equal(answer.status, plain.status, `${method} ${url}, ${name}: ${answer.body}`);
          if (plain.status >= 400) assert.equal(answer.body, plain.body);
          assert.doesNotMatch(answer.body, /content-type/, `${method} ${url}, ${name}`);
        }
        service.clock.pass(61_000); // Those of /auth and /mcp count as failures.
      }
    });

    onSurface('does without a body what needs none, for each way of sending none', async () => {
      const bodiless = document
        .operations()
        .filter(({ method, value }) => method !== 'GET' && value.requestBody?.required !== true);
      assert.ok(bodiless.length > 15);
      for (const operation of bodiless) {
        for (const [name, rest] of Object.entries(emptyBodies)) {
          const path = await realPath(service.call, document, operation, world);
          const answer = await send(operation.method, path, rest);
          assert.equal(answer.status, 200, `${operation.method} ${path}, ${name}: ${answer.body}`);
        }
      }
    });

    onSurface('refuses a body of another type at its first byte', async () => {
      for (const rest of [
        'Content-Type: text/plain\r\nContent-Length: 900000000\r\n\r\nx',
        'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n',
        'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n',
      ]) {
        const answer = await send('POST', '/v1/vaults', rest);
        assert.equal(answer.status, 400, rest);
        assert.equal(JSON.parse(answer.body).error.details.field, 'content-type');
      }
    });

    onSurface('answers HEAD as it answers GET, with the same status and headers and no body', async () => {
      const paths = await Promise.all(
        [...service.routes]
          .filter(route => route.startsWith('GET '))
          .map(route => route.slice('GET '.length).replace(':id', '{id}'))
          .map(path => {
            const operation = document.operations('/').find(one => one.method === 'GET' && one.path === path);
            return operation === undefined ? path : realPath(service.call, document, operation, world);
          }),
      );
      const { body: access } = await service.call('POST', '/v1/access-keys', {
        vault_id: world.vaultId,
        name: 'head',
      });
      const vault = `/api/v1/vaults/${world.vaultId}`;
      const more = ['/', '/vaults', '/nothing.js', '/v1/nothing', '/v1/vaults/nothing', '/v1/vaults?limit=0'];
      assert.ok(paths.length > 30, `${paths.length} routes`);
      const both = async (path: string, key: string | null, headers = {}) => {
        const [get, head] = await whileUnchanged(method =>
          service.call(method, path, undefined, key, headers),
        );
        assert.equal(head.status, get.status, path);
        assert.equal(head.text, '', path);
        assert.deepEqual(stable(head), stable(get), path);
      };
      for (const path of [...paths, ...more]) {
        for (const key of [service.key, null]) await both(path, key, { accept: 'text/html' });
        service.clock.pass(3_000);
      }
      const { body: key } = await service.call('GET', `/v1/keys?vault_id=${world.vaultId}`);
      for (const query of [
        '',
        '?secrets=names',
        '?format=map',
        '?format=env',
        `?resource=${key.data[0].id}`,
        '?name=x',
        '?x=y',
      ])
        await both(vault + query, access.token);
      await both(vault, 'sr_vault_bad');
      await both(`${vault}/x`, access.token);
    });

    /** GET and HEAD of what lay still meanwhile: deliveries, for one, go on by themselves. */
    async function whileUnchanged(ask: (method: string) => Promise<Answer>): Promise<[Answer, Answer]> {
      for (let attempt = 0; attempt < 50; attempt++) {
        const get = await ask('GET');
        const head = await ask('HEAD');
        const again = await ask('GET');
        if (isDeepStrictEqual(stable(get), stable(again))) return [get, head];
      }
      throw new Error('what was asked for never lay still');
    }

    /** Each answer of ACME has a nonce of its own, so only that there is one is the same. */
    function stable({ headers }: Answer): [string, string][] {
      return [...headers]
        .filter(([name]) => !changing.test(name))
        .map(([name, value]): [string, string] => [name, name === 'replay-nonce' ? 'its own' : value])
        .sort();
    }

    it('takes a record back as a GET showed it, with one member changed', async () => {
      for (const operation of document.operations().filter(({ method }) => method === 'PUT')) {
        const { path } = operation;
        const real = await realPath(service.call, document, operation, world);
        const shown = (await service.call('GET', real)).body;
        const renamed = { ...shown, ...realBody(document.requestExample(operation), world) };
        const answer = await service.call('PUT', real, renamed);
        assert.equal(answer.status, 200, `${path}: ${answer.text}`);
        const after = (await service.call('GET', real)).body;
        assert.deepEqual(Object.keys(after), Object.keys(shown));
        assert.notDeepEqual(after, shown, path);
        const again = await service.call('PUT', real, after);
        assert.equal(again.status, 200, `${path}: ${again.text}`);
      }
    });

    it('refuses a read-only member of another value, by its name, and changes nothing', async () => {
      for (const operation of document.operations().filter(({ method }) => method === 'PUT')) {
        const { path } = operation;
        const real = await realPath(service.call, document, operation, world);
        const shown = (await service.call('GET', real)).body;
        const readOnly = Object.keys(shown).filter(name => !isTaken(operation, name));
        assert.ok(readOnly.includes('id') && readOnly.includes('created_at'), path);
        for (const name of readOnly) {
          const example = realBody(document.requestExample(operation), world);
          for (const value of [others(shown[name])[0], null]) {
            if (value === shown[name]) continue;
            const answer = await service.call('PUT', real, { ...shown, ...example, [name]: value });
            assert.equal(answer.status, 400, `${path} ${name}: ${answer.text}`);
            assert.equal(answer.body.error.details.field, name);
          }
        }
        assert.deepEqual((await service.call('GET', real)).body, shown, path);
        const unknown = await service.call('PUT', real, { ...shown, token: 'x', surprise: 1 });
        assert.equal(unknown.status, 400, path);
      }
    });

    /** Whether a body may change a member, by the document; the mixed collection takes what all types have. */
    function isTaken(operation: Operation, name: string): boolean {
      if (operation.path.startsWith('/v1/resources')) return name === 'name' || name === 'tags';
      return name in document.requestSchema(operation).properties;
    }

    function others(value: unknown): unknown[] {
      if (typeof value === 'string') return [`${value}x`, '', [value]];
      if (typeof value === 'number') return [value + 1, String(value)];
      if (typeof value === 'boolean') return [!value];
      return ['x', {}];
    }

    it('shows who may not read a record nothing of it by comparison', async () => {
      const { body } = await service.call('POST', '/v1/secrets', {
        vault_id: world.vaultId,
        name: 'COMPARED',
        value: 'x',
      });
      const scopes = ['secrets:write'];
      const writer = await service.call('POST', '/v1/api-keys', { name: 'w', role: 'editor', scopes });
      const compare = (version: number) =>
        service.call('PUT', `/v1/secrets/${body.id}`, { version }, writer.body.token);
      assert.deepEqual([(await compare(1)).status, (await compare(2)).status], [403, 403]);
    });

    onSurface('writes header names as the specification and their standards print them', async () => {
      service.clock.standInNewMinute(); // A refusal for too many failures has other headers.
      const { key } = await service.organization(`Spelled ${engine}`, 'free');
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' }, key);
      const { body: access } = await service.call(
        'POST',
        '/v1/access-keys',
        { vault_id: vault.id, name: 'k' },
        key,
      );
      const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
      const always = ['X-Request-Id', 'Cache-Control', 'Content-Type', 'Content-Length', 'Date'];
      const cases: [method: string, path: string, key: string, rest: string, names: string[]][] = [
        ['GET', '/v1/vaults', key, '\r\n', [...limits, ...always]],
        ['HEAD', '/v1/vaults', key, '\r\n', [...limits, ...always]],
        ['GET', '/v1/vaults', 'x', '\r\n', ['WWW-Authenticate', ...always]],
        [
          'GET',
          `/api/v1/vaults/${vault.id}`,
          access.token,
          '\r\n',
          ['ETag', 'Strongroom-Receipt', ...always],
        ],
        ['GET', `/api/v1/vaults/${vault.id}`, 'x', '\r\n', ['WWW-Authenticate', ...always]],
        [
          'POST',
          '/mcp',
          access.token,
          'Content-Type: application/json\r\nContent-Length: 23\r\n\r\n{"method":"initialize"}',
          ['Mcp-Session-Id', ...always],
        ],
        ['GET', '/docs', key, '\r\n', ['Content-Security-Policy', ...always]],
        ['GET', '/', key, '\r\n', ['X-Frame-Options', ...always]],
      ];
      for (const [method, path, token, rest, names] of cases) {
        const { head } = await send(method, path, rest, token);
        const sent = head
          .split('\r\n')
          .slice(1)
          .map(line => line.split(':')[0]!);
        for (const name of names) assert.ok(sent.includes(name), `${path}: ${name} is not in ${sent}`);
        for (const name of sent) assert.match(name, /^[A-Z]/, `${path}: ${name}`);
        assert.equal(new Set(sent.map(name => name.toLowerCase())).size, sent.length, `${path}: ${sent}`);
      }
      const broken = await sendRaw(service.url, 'nonsense\r\n\r\n');
      assert.match(broken.head, /\r\nContent-Type: /);
    });

    onSurface('tells other origins nothing that a browser would need to read an answer', async () => {
      const origin = { origin: 'https://elsewhere.example' };
      const asks = {
        ...origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      };
      for (const path of ['/v1/vaults', `/api/v1/vaults/${world.vaultId}`, '/mcp', '/v1/health']) {
        for (const [method, headers] of [
          ['GET', origin],
          ['OPTIONS', asks],
        ] as const) {
          const answer = await service.call(method, path, undefined, null, headers);
          const names = [...answer.headers.keys()].filter(name => name.startsWith('access-control-'));
          assert.deepEqual(names, [], `${method} ${path}`);
        }
      }
    });
  });
}

describe('clients as they are', () => {
  it('curl and wget post an empty body to a route that takes none', async () => {
    const service = await startService();
    try {
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
      const secret = { vault_id: vault.id, name: 'S', value: 'found' };
      const { body } = await service.call('POST', '/v1/secrets', secret);
      const url = `${service.url}/v1/secrets/${body.id}/reveal`;
      const header = `Authorization: Bearer ${service.key}`;
      const commands: [string, string[]][] = [
        ['curl', ['-sf', '-d', '', '-H', header, url]],
        ['curl', ['-sf', '-X', 'POST', '-H', header, url]],
        ['curl', ['-sf', '-X', 'POST', '-H', 'Transfer-Encoding: chunked', '-d', '', '-H', header, url]],
        ['wget', ['-qO-', '--post-data=', `--header=${header}`, url]],
      ];
      for (const [command, args] of commands) {
        const answer = await run(command, args).catch(error => {
          if (error.code === 'ENOENT') return null; // Not every machine has it; the bytes are tried above.
          throw error;
        });
        if (answer !== null) assert.equal(JSON.parse(answer.stdout).value, 'found', `${command} ${args}`);
      }
    } finally {
      await service.stop();
    }
  });
});
