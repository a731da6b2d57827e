/**
 * What the holder of an access key restricted uses what the restrictions leave, by either door, and nothing else. The log
 * has each use under the access key, and says which of its restricted keys it was.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { narrow, type Restrictions } from '../src/client/client.ts';
import { onEngines } from './at-once.ts';
import { callService } from './harness.ts';
import { modernCall } from './mcp-world.ts';
import { secretName, startUsesWorld, tracesIn, type UsesWorld, value } from './uses-world.ts';

const otherName = 'DEPLOY_TOKEN';

interface Used {
  readonly status: number;
  /** Of the call's answer, where it was made. */
  readonly outcome: string | undefined;
  readonly text: string;
}

/** The endpoint and the tool, each with an answer of its own form. */
const doors: Readonly<Record<string, (url: string, call: object, key: string) => Promise<Used>>> = {
  HTTP: async (url, call, key) => {
    const { status, body, text } = await callService(url, 'POST', '/api/v1/vaults/self/use', call, key);
    return { status, outcome: body.outcome, text };
  },
  MCP: async (url, call, key) => {
    const { status, body, text } = await modernCall(url, 'secrets.use', call, { key });
    const { isError, structuredContent } = body.result ?? {};
    const refused = isError === true ? structuredContent.status : status;
    return { status: refused, outcome: structuredContent?.outcome, text };
  },
};

onEngines('a restricted key that uses secrets', engine => {
  let world: UsesWorld;

  before(async () => {
    world = await startUsesWorld(engine);
    const { service, vaultId } = world;
    await world.rule();
    const other = { vault_id: vaultId, name: otherName, value: `${value}x` };
    const { body } = await service.call('POST', '/v1/secrets', other);
    await world.rule({ secret_id: body.id });
  });
  after(() => world.stop());

  const made = (restrictions: Restrictions) => narrow(world.agent, restrictions);
  const callOf = (secret: string) => ({ secret, url: `${world.upstream.url}/echo` });
  const entries = async (limit: number) =>
    (await world.service.call('GET', `/v1/request-logs?limit=${limit}`)).body.data;

  for (const [door, use] of Object.entries(doors)) {
    const usedBy = (token: string, secret: string) => use(world.service.url, callOf(secret), token);

    it(`uses by ${door} what it may, and the log names it before the call and after`, async () => {
      const { token, id } = await made({ names: ['GITHUB_*'] });
      const before = world.upstream.requests.length;
      const { status, outcome, text } = await usedBy(token, secretName);
      assert.deepEqual([status, outcome], [200, 'answered'], text);
      assert.deepEqual(tracesIn(text), []);
      assert.equal(world.upstream.requests[before]!.headers.authorization, `Bearer ${value}`);
      const [after, begun] = await entries(2);
      assert.deepEqual([begun.status, after.status], [102, 200]);
      for (const entry of [begun, after]) {
        assert.equal(entry.access_key_id, world.agentId);
        assert.deepEqual(entry.narrowing, { id, restrictions: [{ names: ['GITHUB_*'] }] });
        assert.equal(entry.tool, door === 'MCP' ? 'secrets.use' : null);
      }
    });

    it(`uses by ${door} nothing else, and the log names it too`, async () => {
      const before = world.upstream.requests.length;
      const refusals: [expected: number, secret: string, restrictions: Restrictions][] = [
        [404, otherName, { names: ['GITHUB_*'] }],
        [404, secretName, { kinds: ['key'] }],
        [403, secretName, { mayUse: false }],
        [401, secretName, { cidrs: ['10.0.0.0/8'] }],
        [401, secretName, { expiresAt: new Date(world.service.clock.now() - 1_000) }],
      ];
      for (const [expected, secret, restrictions] of refusals) {
        const { token, id } = await made(restrictions);
        const { status, outcome, text } = await usedBy(token, secret);
        assert.deepEqual(
          [status, outcome],
          [expected, undefined],
          `${JSON.stringify(restrictions)}: ${text}`,
        );
        const [entry] = await entries(1);
        assert.deepEqual(
          [entry.success, entry.access_key_id, entry.narrowing?.id],
          [false, world.agentId, id],
        );
      }
      assert.equal(world.upstream.requests.length, before, 'no call left');
    });

    it(`uses by ${door} no more than each of its restrictions leaves, and nothing once its access key is gone`, async () => {
      const { service, vaultId } = world;
      const key = { vault_id: vaultId, name: 'short-lived', names_only: true, may_use: true };
      const { body: parent } = await service.call('POST', '/v1/access-keys', key);
      const { token: first } = await narrow(parent.token, { names: ['*_TOKEN'] });
      const { token: second } = await narrow(first, { names: ['DEPLOY_*'] });
      assert.deepEqual(
        [(await usedBy(first, secretName)).status, (await usedBy(second, otherName)).status],
        [200, 200],
      );
      assert.equal((await usedBy(second, secretName)).status, 404);
      await service.call('DELETE', `/v1/access-keys/${parent.id}`);
      for (const token of [first, second]) assert.equal((await usedBy(token, otherName)).status, 401);
    });
  }
});
