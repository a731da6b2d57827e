/** How the bare server answers what is below the vault endpoint: by itself. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { ReadResult } from '../src/domain/reads/vault-request.ts';
import { publicKeyHandler } from '../src/http/vault/public-key.ts';
import { isRepeated, vaultReadHandler } from '../src/http/vault/read.ts';
import { answerTo, log, requestOf, type Sent, whole, bareWorld as world } from './bare-world.ts';

const url = '/api/v1/vaults/self';

describe('the vault endpoint', () => {
  const answered = (sent: Sent, ...more: Parameters<typeof world>) =>
    answerTo(vaultReadHandler(world(...more).parts), requestOf(sent));

  it('answers what is below its path, and leaves everything else', async () => {
    const { status, headers, body } = (await answered({ url }))!;
    assert.deepEqual([status, body], [200, '{}']);
    assert.deepEqual(
      [
        'content-type',
        'content-length',
        'etag',
        'cache-control',
        'x-request-id',
        'strongroom-receipt',
        'pragma',
        'connection',
        'x-frame-options',
      ].map(name => headers[name]),
      [
        'application/json; charset=utf-8',
        '2',
        '"digest"',
        'no-store',
        'request',
        'receipt',
        undefined,
        undefined,
        'DENY',
      ],
    );
    assert.equal(await answered({ url: '/v1/vaults' }), null);
  });

  it('sends what has no digest anew each time, and nothing where the client has it', async () => {
    const pem = (await answered({ url }, { ...whole, format: 'pem', digest: null } as ReadResult))!.headers;
    assert.deepEqual(
      [pem.etag, pem['cache-control'], pem.pragma, pem['content-type']],
      [undefined, 'no-store, no-cache, must-revalidate', 'no-cache', 'application/x-pem-file'],
    );
    const same = (await answered({ url }, { ...log, status: 304, digest: 'digest' }))!;
    assert.deepEqual(
      [same.status, same.body, same.headers.etag, same.headers['content-type']],
      [304, '', '"digest"', undefined],
    );
  });

  it('closes connections while it stops', async () => {
    assert.equal((await answered({ url }, whole, true))!.headers.connection, 'close');
    const refusal = (await answered(
      { url },
      { ...log, status: 404, failure: new Failure('NOT_FOUND') },
      true,
    ))!;
    assert.equal(refusal.headers.connection, 'close');
  });

  it('says why it refuses, and tells the operator of what is wrong inside', async () => {
    const refusal = (await answered({ url }, { ...log, status: 410, failure: new Failure('EXPIRED') }))!;
    assert.deepEqual(
      [refusal.status, refusal.body, refusal.headers['strongroom-receipt']],
      [410, '{"message":"Resource expired"}', 'receipt'],
    );
    const { parts, errors } = world(new Error('disk'));
    const failed = (await answerTo(vaultReadHandler(parts), requestOf({ url })))!;
    assert.deepEqual(
      [failed.status, failed.headers['x-request-id'], failed.headers['strongroom-receipt'], errors.length],
      [500, 'new', undefined, 1],
    );
    assert.doesNotMatch(failed.body, /disk/);
  });

  it('hands on what was asked, by whom and with what', async () => {
    const { parts, read } = world();
    const socket = {};
    const headers = {
      authorization: 'Bearer key',
      'user-agent': 'curl',
      'if-none-match': 'W/"a", "b",c, "d',
    };
    await answerTo(vaultReadHandler(parts), requestOf({ url: `${url}?secrets=names`, headers, socket }));
    assert.deepEqual(read, [
      {
        sender: { address: '192.0.2.1', userAgent: 'curl' },
        requestId: null,
        route: '/api/v1/vaults/{vault_id}',
        method: 'GET',
        tool: null,
        token: 'key',
        vaultId: null,
        keyId: null,
        by: 'access-key',
        connection: socket,
        selection: { of: 'vault', namesOnly: true, keys: false, certificates: false },
        knownDigests: ['a', 'b'],
      },
    ]);
  });

  it('reads nothing for what is misplaced or unsound, and records it', async () => {
    const { parts, read, refused } = world();
    const handle = vaultReadHandler(parts);
    const post = (await answerTo(handle, requestOf({ url, method: 'POST' })))!;
    assert.deepEqual([post.status, read.length, refused.length], [404, 0, 1]);
    const unsound = (await answerTo(handle, requestOf({ url: '//api/v1/vaults/x' })))!;
    assert.deepEqual([unsound.status, refused[1]![0].vaultId, read.length], [400, 'x', 0]);
  });

  it('keeps a connection unless a body comes that is not read', async () => {
    assert.equal((await answered({ url, complete: false }))!.keepsAlive, true);
    assert.equal(
      (await answered({ url, headers: { 'content-length': '5' }, complete: false }))!.keepsAlive,
      false,
    );
  });

  it('takes a request that repeats the one before for the same, and no other', async () => {
    const { parts, read, refused } = world();
    const handle = vaultReadHandler(parts);
    const socket = {};
    const sent = { url, headers: { authorization: 'Bearer one' }, socket };
    const ask = (more: Partial<Sent>) => answerTo(handle, requestOf({ ...sent, ...more }));
    await ask({});
    await ask({});
    assert.equal(read[0], read[1], 'it was parsed once');
    await ask({ headers: { authorization: 'Bearer two' } });
    await ask({ url: `${url}?secrets=names` });
    await ask({ socket: {} });
    assert.deepEqual(
      read.slice(2).map(one => one.token),
      ['two', 'one', 'one'],
    );
    await ask({ method: 'HEAD' });
    assert.equal(read[5]!.method, 'HEAD');
    await ask({ url: `${url}?secrets=names` });
    assert.equal(read[6], read[3], 'a HEAD is not remembered');
    await ask({ method: 'POST', url: `${url}?secrets=names` });
    assert.equal(refused.length, 1);
  });

  const last = { url, rawHeaders: ['a', 'b', 'c', 'd'] };
  const repeats: [request: object, isRepeated: boolean][] = [
    [{ method: 'GET', ...last, rawHeaders: [...last.rawHeaders] }, true],
    [{ ...last, method: 'HEAD' }, false],
    [{ method: 'GET', ...last, url: `${url}?` }, false],
    [{ method: 'GET', ...last, rawHeaders: ['a', 'b', 'c', 'x'] }, false],
    [{ method: 'GET', ...last, rawHeaders: ['a', 'b'] }, false],
    [{ method: 'GET', ...last, rawHeaders: ['a', 'b', 'c', 'd', 'e', 'f'] }, false],
  ];
  for (const [request, expected] of repeats)
    it(`${expected ? 'takes' : 'does not take'} ${JSON.stringify(request)} for a repetition`, () =>
      assert.equal(isRepeated({ ...last, read: {} as never }, request as IncomingMessage), expected));
});

describe('the endpoint of public keys', () => {
  const path = '/api/v1/public-key';
  const handled: [url: string, isHandled: boolean][] = [
    [path, true],
    [`${path}/`, true],
    [`${path}?a`, true],
    [`${path}/?a`, true],
    [`${path}s`, false],
    [`${path}/x`, false],
    ['/api/v1/public', false],
    [`/x${path}`, false],
  ];
  for (const [sent, isHandled] of handled)
    it(`${isHandled ? 'answers' : 'leaves'} ${sent}`, async () => {
      const answer = await answerTo(publicKeyHandler(world().parts), requestOf({ url: sent }));
      assert.equal(answer?.status ?? null, isHandled ? 200 : null);
    });

  it('shows the public half as PEM, and says by whom it was asked', async () => {
    const { parts, read, encodings } = world();
    const answer = (await answerTo(
      publicKeyHandler(parts),
      requestOf({ url: path, headers: { authorization: 'Bearer key' } }),
    ))!;
    assert.deepEqual(
      [
        answer.headers['content-type'],
        answer.headers['content-length'],
        answer.headers['cache-control'],
        answer.headers.connection,
      ],
      ['application/x-pem-file', 2, 'no-store', undefined],
    );
    assert.deepEqual([read[0]!.by, read[0]!.token, read[0]!.route], ['public-token', 'key', path]);
    assert.equal(String(encodings[0]!.encode(Buffer.from('{"pem":"PEM"}'))), 'PEM');
  });

  it('refuses what is unsound or changes something, and reads nothing for it', async () => {
    const { parts, read, refused } = world();
    const handle = publicKeyHandler(parts);
    const statusOf = async (sent: Partial<Sent>) =>
      (await answerTo(handle, requestOf({ url: path, ...sent })))!.status;
    assert.equal(await statusOf({ method: 'HEAD' }), 200);
    assert.equal(await statusOf({ method: 'POST' }), 404);
    assert.equal(await statusOf({ headers: { expect: 'more' } }), 417);
    assert.deepEqual([read.length, refused.length], [1, 2]);
  });

  it('answers refusals, closes while it stops, and keeps no connection with an unread body', async () => {
    const handle = (...given: Parameters<typeof world>) => publicKeyHandler(world(...given).parts);
    const refused = (await answerTo(
      handle({ ...log, status: 401, failure: new Failure('UNAUTHORIZED') }),
      requestOf({ url: path }),
    ))!;
    assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Bearer']);
    assert.equal(
      (await answerTo(handle(whole, true), requestOf({ url: path })))!.headers.connection,
      'close',
    );
    const unread = requestOf({ url: path, headers: { 'content-length': '5' }, complete: false });
    assert.equal((await answerTo(handle(), unread))!.keepsAlive, false);
    assert.equal((await answerTo(handle(), requestOf({ url: path, complete: false })))!.keepsAlive, true);
    const { parts, errors } = world({ ...log, status: 304, digest: 'x' });
    const unasked = (await answerTo(publicKeyHandler(parts), requestOf({ url: path })))!;
    assert.match(String(errors), /unexpected 304: no digest was sent/);
    assert.equal(unasked.status, 500);
  });
});
