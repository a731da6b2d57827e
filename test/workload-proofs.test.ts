/** What the environment of a machine offers as a proof of who it is, and what is refused. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { logIn, type Workload, workloadIn } from '../src/cli/connection/workload.ts';
import { Refusal, UsageError } from '../src/service/settings/report.ts';

const id = '0198f3a1-7c5e-7b64-9d0a-2f4f6c1b8e31';

function fileWith(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-proof-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'token');
  writeFileSync(file, text);
  return file;
}

/** A stand-in for the service of GitHub Actions that gives tokens. */
async function runner(
  t: TestContext,
  answer: object,
): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/t?v=1`, asked };
}

describe('a machine proves itself', () => {
  it('by nothing, where the environment names no identity', () => assert.equal(workloadIn({}), null));

  it('by a secret id, of the environment or a file, without what is around it', async t => {
    const role = { STRONGROOM_ROLE_ID: ` ${id.toUpperCase()}\n` };
    const given = workloadIn({ ...role, STRONGROOM_SECRET_ID: ' s \n' })!;
    assert.deepEqual([given.identityId, given.source], [id, 'its secret id']);
    assert.deepEqual(await given.proof(), { secret_id: 's' });
    const file = fileWith(t, 'from a file\n');
    const stored = workloadIn({ ...role, STRONGROOM_SECRET_ID_FILE: file })!;
    assert.deepEqual(await stored.proof(), { secret_id: 'from a file' });
  });

  it('by a token, of the environment before that of a file', async t => {
    const file = fileWith(t, ' t2 \n');
    const named = { STRONGROOM_IDENTITY: id, STRONGROOM_TOKEN_FILE: file };
    assert.deepEqual(await workloadIn({ ...named, STRONGROOM_ID_TOKEN: ' t1 ' })!.proof(), { jwt: 't1' });
    assert.deepEqual(await workloadIn(named)!.proof(), { jwt: 't2' });
  });

  for (const [audience, expected] of [
    [undefined, 'strongroom'],
    ['', 'strongroom'],
    ['prod', 'prod'],
  ] as const)
    it(`by what GitHub Actions gives for the audience ${expected}, where ${audience} is set`, async t => {
      const { url, asked } = await runner(t, { value: 'jwt' });
      const workload = workloadIn({
        STRONGROOM_IDENTITY: id,
        ACTIONS_ID_TOKEN_REQUEST_URL: url,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'k',
        STRONGROOM_AUDIENCE: audience,
      })!;
      assert.equal(workload.source, 'GitHub Actions');
      assert.deepEqual(await workload.proof(), { jwt: 'jwt' });
      assert.deepEqual(asked, [`/t?v=1&audience=${expected} Bearer k`]);
    });

  it('by nothing that GitHub does not give', async t => {
    const { url } = await runner(t, { value: 7 });
    const environment = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'k' };
    const workload = workloadIn({ STRONGROOM_IDENTITY: id, ...environment })!;
    await assert.rejects(workload.proof(), (error: Error) => {
      assert.ok(error instanceof Refusal);
      assert.match(error.message, /GitHub did not return a token/);
      return true;
    });
  });

  it('by a token from another address only over https', async () => {
    const environment = {
      ACTIONS_ID_TOKEN_REQUEST_URL: 'https://name.invalid/t',
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'k',
    };
    const workload = workloadIn({ STRONGROOM_IDENTITY: id, ...environment })!;
    await assert.rejects(workload.proof(), (error: Error) => !(error instanceof UsageError));
  });

  for (const [url, token] of [
    ['http://192.0.2.1/t', 'k'],
    ['no address', 'k'],
    ['http://127.0.0.1/t', ''],
  ])
    it(`by no token of ${url} with ${token || 'no key'}`, async () => {
      const environment = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token };
      const workload = workloadIn({ STRONGROOM_IDENTITY: id, ...environment })!;
      await assert.rejects(workload.proof(), UsageError);
    });

  it('not where the file can’t be read, which is told by its code and not by its path', async () => {
    const workload = workloadIn({ STRONGROOM_IDENTITY: id, STRONGROOM_TOKEN_FILE: '/nowhere/token' })!;
    await assert.rejects(workload.proof(), (error: Error) => {
      assert.ok(error instanceof Refusal);
      assert.match(error.message, /can’t be read \(ENOENT\)$/);
      return true;
    });
  });

  const refused: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    ['a role id alone', { STRONGROOM_ROLE_ID: id }, /require each other/],
    ['a secret id alone', { STRONGROOM_SECRET_ID: 's' }, /require each other/],
    [
      'a name for an id',
      { STRONGROOM_IDENTITY: 'ci', STRONGROOM_ID_TOKEN: 't' },
      /STRONGROOM_IDENTITY must be the id/,
    ],
    [
      'a name for a role',
      { STRONGROOM_ROLE_ID: 'ci', STRONGROOM_SECRET_ID: 's' },
      /STRONGROOM_ROLE_ID must be the id/,
    ],
    ['an identity without a token', { STRONGROOM_IDENTITY: id }, /there is no token/],
  ];
  for (const [what, environment, message] of refused)
    it(`not with ${what}`, () =>
      assert.throws(
        () => workloadIn(environment),
        (error: Error) => error instanceof UsageError && message.test(error.message),
      ));
});

describe('a login', () => {
  const workload: Workload = { identityId: id, source: 'x', proof: async () => ({ jwt: 'j' }) };

  /** A stand-in for the service: answers every login so, and keeps what was sent. */
  async function service(t: TestContext, status: number, body: object) {
    const sent: unknown[] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      sent.push([request.method, request.url, request.headers.authorization, JSON.parse(text)]);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await new Promise(resolve => server.once('listening', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
  }

  for (const [vault, chosen] of [
    [null, {}],
    ['prod', {}],
    [id.toUpperCase(), { vault_id: id }],
  ] as const)
    it(`names the vault by its id alone: ${vault}`, async t => {
      const { url, sent } = await service(t, 200, { token: 'sr_vault_x' });
      assert.equal(await logIn(url, workload, vault), 'sr_vault_x');
      const body = { identity_id: id, jwt: 'j', ...chosen };
      assert.deepEqual(sent, [['POST', '/api/v1/login', undefined, body]]);
    });

  for (const [status, message] of [
    [401, /refused the login of this machine/],
    [403, /^(?!.*refused the login)/],
    [503, /^(?!.*refused the login)/],
  ] as const)
    it(`that is answered with ${status} is refused`, async t => {
      const { url } = await service(t, status, { message: 'no', token: 'sr_vault_x' });
      await assert.rejects(logIn(url, workload, null), message);
    });
});
