/**
 * LIST, a method that no parser of ours knows: it is answered like the GET that it stands for, with every limit of a
 * connection in force, and what only looks like it is refused like any other broken request.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Answer, type Service, startService } from './harness.ts';
import { hold } from './sockets.ts';

const list = 'LIST /vault/v1/secret/metadata/ HTTP/1.1\r\n';
const timeouts = { headers: 400, request: 400, stranger: 400, silence: 5_000, checkEvery: 100 };

async function fill(service: Service): Promise<{ vaultId: string; key: string }> {
  const make = async (path: string, body: object): Promise<Answer['body']> =>
    (await service.call('POST', `/v1/${path}`, body)).body;
  const vaultId = (await make('vaults', { name: 'prod' })).id;
  await make('secrets', { vault_id: vaultId, name: 'NAME', value: 'x' });
  return { vaultId, key: (await make('access-keys', { vault_id: vaultId, name: 'reader' })).token };
}

/** So that what was written arrives by itself, as far as that can be had. */
async function turns(): Promise<void> {
  for (let at = 0; at < 20; at++) await turn();
}

describe('the method LIST', () => {
  let service: Service;
  let vaultId: string;
  let key: string;
  let head: string;

  before(async () => {
    service = await startService({ flags: ['--connections-per-address', '8'] });
    ({ vaultId, key } = await fill(service));
    head = `Host: localhost\r\nX-Vault-Token: ${key}\r\n\r\n`;
  });
  after(() => service.stop());

  const entries = async (): Promise<Answer['body'][]> =>
    (await service.call('GET', '/v1/request-logs?limit=5')).body.data;
  const send = async (...parts: string[]): Promise<string> => {
    const held = hold(service.url, parts[0]!);
    held.socket.setNoDelay(true);
    for (const part of parts.slice(1)) {
      await turns();
      held.socket.write(part);
    }
    return held.closed();
  };
  const isList = (answer: string) => {
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(answer, /"data":\{"keys":\["NAME"\]\}/);
  };
  const isRefused = (answer: string, about: string) => {
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, about);
    assert.ok(!answer.includes('NAME'), about);
  };

  it('is answered and recorded like a GET, with the address that it came from; then its connection is closed', async () => {
    isList(await send(list + head));
    const [entry] = await entries();
    assert.deepEqual(
      [entry!.route, entry!.method, entry!.status, entry!.ip_address, entry!.requested],
      ['/vault/v1/{mount}/metadata/{path}', 'GET', 200, '127.0.0.1', 'secrets=names'],
    );
    isList(await send(`LIST /vault/v1/${vaultId}/metadata?list=false HTTP/1.1\r\n${head}`));
  });

  it('comes in pieces, and behind requests that were answered', async () => {
    isList(await send('LIS', 'T /vault', '/v1/secret/metadata HTT', `P/1.1\r\nHo`, head.slice(2)));
    isList(await send(list, head.slice(0, 40), head.slice(40)));
    const held = hold(service.url, `GET /vault/v1/secret/data/NAME HTTP/1.1\r\n${head}`);
    const first = await held.until(/"auth":null\}$/);
    held.socket.write(list + head);
    isList((await held.closed()).slice(first.length));
  });

  it('never gets ahead of an answer that is due, and gives nobody else’s', async () => {
    const answer = await send(`GET /vault/v1/secret/data/NAME HTTP/1.1\r\n${head}${list}${head}`);
    assert.ok(!answer.includes('"keys"'), answer);
    const twice = await send(list + head + list + head);
    assert.equal(twice.split('HTTP/1.1 ').length - 1, 1, 'what follows is not read');
    const smuggled = await send(
      `${list}Content-Length: 3\r\n${head}abcGET /vault/v1/secret/data/NAME HTTP/1.1\r\n${head}`,
    );
    assert.equal(smuggled.split('HTTP/1.1 ').length - 1, 1);
  });

  it('is refused where it is no sound request, or not for the dialect', async () => {
    const refused = {
      elsewhere: `LIST /v1/vaults HTTP/1.1\r\n${head}`,
      'the vault endpoint': `LIST /api/v1/vaults/${vaultId} HTTP/1.1\r\n${head}`,
      'an older protocol': `LIST /vault/v1/secret/metadata/ HTTP/1.0\r\n${head}`,
      'no protocol': `LIST /vault/v1/secret/metadata/\r\n${head}`,
      'in small letters': `list /vault/v1/secret/metadata/ HTTP/1.1\r\n${head}`,
      'an absolute target': `LIST http://localhost/vault/v1/secret/metadata HTTP/1.1\r\n${head}`,
      'dot segments': `LIST /vault/v1/../vault/v1/secret/metadata HTTP/1.1\r\n${head}`,
      'a host twice': `${list}Host: other\r\n${head}`,
      'a token twice': `${list}X-Vault-Token: ${key}\r\n${head}`,
      'no host': `${list}X-Vault-Token: ${key}\r\n\r\n`,
      'a broken header': `${list}Broken\r\n${head}`,
      'two lengths': `${list}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n${head}`,
      'too long a head': `${list}X-Long: ${'x'.repeat(17_000)}\r\n${head}`,
      'another token': list + head.replace(key, `${key}x`),
    };
    for (const [about, text] of Object.entries(refused)) isRefused(await send(text), about);
    const [entry] = await entries();
    assert.equal(entry!.success, false);
  });

  it('counts as the one connection that it is', async () => {
    const other = '127.0.0.2';
    const probe = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
    const once = () => hold(service.url, list + head, other).closed();
    const held = Array.from({ length: 7 }, () => hold(service.url, probe, other));
    for (const one of held) assert.match(await one.until(/"ok"/), /200 OK/);
    // There is room for one more, which each of them takes and gives back.
    for (let at = 0; at < 20; at++) isList(await once());
    const eighth = hold(service.url, probe, other);
    assert.match(await eighth.until(/"ok"/), /200 OK/);
    assert.equal(await once(), '', 'one too many is turned away');
    for (const one of [...held, eighth]) await one.end();
    assert.equal((await entries())[0]!.ip_address, other);
  });

  it('an API key’s is handed to the management plane', async () => {
    const text = `LIST /vault/v1/prod/metadata/ HTTP/1.1\r\nHost: x\r\nX-Vault-Token: ${service.key}\r\n\r\n`;
    isList(await send(text));
  });

  it('whatever a connection begins with is answered or closed, and gets nothing without a token', async () => {
    const whole = Buffer.from(`${list}Host: localhost\r\n\r\n`);
    let state = 19;
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    for (let round = 0; round < 120; round++) {
      const bytes = Buffer.from(whole);
      for (let change = random(3); change >= 0; change--)
        bytes[random(Math.min(20, bytes.length))] = random(256);
      const cut = random(bytes.length);
      const held = hold(service.url, bytes.subarray(0, cut));
      await turn();
      held.socket.write(bytes.subarray(cut));
      held.socket.end();
      const answer = await held.closed();
      assert.ok(
        answer === '' || /^HTTP\/1\.1 [45]\d\d /.test(answer),
        `${bytes.toString('latin1')}: ${answer}`,
      );
    }
    service.clock.pass(61_000);
    isList(await send(list + head));
    assert.deepEqual(service.reports, []);
  });
});

describe('a LIST whose head does not end', () => {
  it('is refused once it is too long, and not only when its time is over', async () => {
    const service = await startService();
    const held = hold(service.url, list);
    for (let at = 0; at < 20; at++) held.socket.write(`X-${at}: ${'x'.repeat(1_000)}\r\n`);
    const answer = await held.closed();
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.doesNotMatch(answer, /too long to arrive/);
    await service.stop();
  });

  it('has to arrive in time, in whatever pieces', async () => {
    const service = await startService({ timeouts });
    const texts = ['LIS', list, `${list}Host: localhost\r\nX-Vault-Token: x\r\n`];
    for (const answer of await Promise.all(texts.map(text => hold(service.url, text).closed())))
      assert.match(answer, /^HTTP\/1\.1 408 [\s\S]*took too long to arrive/);
    await service.stop();
  });
});

describe('LIST over TLS', () => {
  it('is answered like any other, with the planes in threads of their own', async () => {
    const service = await startService({ flags: ['--tls', 'auto'], threads: true });
    const ca = readFileSync(join(service.data, 'tls', 'authority.pem'), 'utf8');
    const send = (method: string, path: string, token: string, body?: object): Promise<Answer['body']> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-vault-token': token, authorization: `Bearer ${token}` };
        const sent = request(
          service.url + path,
          { method, ca, headers: body ? { ...headers, 'content-type': 'application/json' } : headers },
          async response => {
            resolve(JSON.parse((await response.toArray()).join('')));
          },
        );
        sent.on('error', reject).end(body && JSON.stringify(body));
      });
    const { id } = await send('POST', '/v1/vaults', service.key, { name: 'prod' });
    await send('POST', '/v1/secrets', service.key, { vault_id: id, name: 'NAME', value: 'x' });
    const { token } = await send('POST', '/v1/access-keys', service.key, { vault_id: id, name: 'reader' });
    for (const one of [token, service.key]) {
      const { data } = await send('LIST', `/vault/v1/${id}/metadata/`, one);
      assert.deepEqual(data, { keys: ['NAME'] });
    }
    await service.stop();
  });
});
