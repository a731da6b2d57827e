import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { enginesInTurn, type Service } from './harness.ts';
import {
  bareCall,
  bareSession,
  envelope,
  makeAccessKey,
  modernCall,
  post,
  startWorld,
  type World,
} from './mcp-world.ts';
import { inDatabase } from './storage.ts';

/** One caller: a vault of its own, and a session of its own. */
interface Caller {
  readonly vaultId: string;
  readonly key: string;
  readonly session: string;
  readonly values: ReadonlyMap<string, string>;
}

const callers = 24;
const atOnce = 64;
const callsOn = { sqlite: 2_000, postgres: 2_000 } as const;
const callerOf = (id: number) => (id * 7) % callers;

async function makeCaller(service: Service, at: number): Promise<Caller> {
  const vaultId = (await service.call('POST', '/v1/vaults', { name: `vault-${at}` })).body.id;
  const values = new Map([0, 1, 2].map(one => [`SECRET_${one}`, `value-${at}-${one}`]));
  const items = [...values].map(([name, text]) => ({ vault_id: vaultId, name, value: text }));
  await service.call('POST', '/v1/secrets/bulk', { items });
  const { token } = await makeAccessKey(service, vaultId);
  return { vaultId, key: token, session: await bareSession(service.url), values };
}

/** The same call in one of the three forms, with the key in one of three places. */
function callIn(form: number, url: string, caller: Caller, id: number, name: string, args: object) {
  const { vaultId, key, session } = caller;
  const connection = { vaultId, accessKey: key };
  const sent = [args, { ...args, vault: connection }, { ...args, credentials: connection }][id % 3]!;
  const header = id % 3 === 0 ? key : null;
  if (form === 0) return bareCall(url, name, sent, { session, key: header });
  const params = { name, arguments: sent };
  if (form === 1)
    return post(url, { jsonrpc: '2.0', id, method: 'tools/call', params }, { session, key: header });
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
  const body = { jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, _meta: envelope } };
  return post(url, body, { key: header, headers });
}

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the tool endpoint keeps callers apart on ${engine}`, () => {
    const calls = callsOn[engine];
    let world: World;
    let everyone: Caller[];

    before(async () => {
      world = await startWorld(engine);
      everyone = await Promise.all(Array.from({ length: callers }, (_, at) => makeCaller(world.service, at)));
    });
    after(() => world.service.stop());

    async function checkCall(id: number): Promise<void> {
      const caller = everyone[callerOf(id)]!;
      const name = `SECRET_${id % 3}`;
      const form = (id >> 2) % 3;
      const one = id % 5 !== 0;
      const [tool, args] = one
        ? ['secrets.get', { name, includeValue: true }]
        : ['secrets.list', { namesOnly: false }];
      const { body, text } = await callIn(
        form,
        world.service.url,
        caller,
        id,
        tool as string,
        args as object,
      );
      assert.equal(body.id, form === 0 ? null : id, text);
      const content = body.result.structuredContent;
      if (one) return assert.equal(content.value, caller.values.get(name), text);
      assert.equal(content.vault.id, caller.vaultId);
      const got = content.secrets.map((secret: { name: string; value: string }) => [
        secret.name,
        secret.value,
      ]);
      assert.deepEqual(new Map(got), caller.values);
    }

    it(`${calls} interleaved calls of ${callers} callers never mix answers`, async () => {
      let next = 0;
      const work = async () => {
        while (next < calls) await checkCall(next++);
      };
      await Promise.all(Array.from({ length: atOnce }, work));
    });

    it('each of them is in the log of its vault, and its answer names the entry', async () => {
      const caller = everyone[0]!;
      const answer = await modernCall(world.service.url, 'keys.list', {}, { key: caller.key });
      const logs = await world.service.call('GET', `/v1/request-logs?vault_id=${caller.vaultId}&limit=1`);
      assert.equal(logs.body.data[0].tool, 'keys.list');
      assert.equal(logs.body.data[0].receipt, answer.headers.get('strongroom-receipt'));
      const expected = Array.from({ length: calls }, (_, id) => (id * 7) % callers).filter(
        at => at === 0,
      ).length;
      assert.equal(logs.body.pagination.total, expected + 1);
    });

    it('while the log can’t be written, no secret leaves, in any form', async () => {
      const { url } = world.service;
      const caller = everyone[1]!;
      const ask = (form: number) => callIn(form, url, caller, 3, 'secrets.list', { namesOnly: false });
      assert.match((await ask(0)).text, /value-1-0/);
      await inDatabase(world.service, 'ALTER TABLE request_blocks RENAME TO request_blocks_away');
      for (const form of [0, 1, 2]) {
        const answer = await ask(form);
        assert.equal(answer.status, 503, answer.text);
        assert.equal(answer.body.error.code, -32603);
        assert.doesNotMatch(answer.text, /value-|SECRET_/);
      }
      const odd = await modernCall(
        url,
        'secrets.get',
        { name: 'SECRET_0', includeValue: true },
        {
          key: caller.key,
          headers: { 'mcp-name': `=?base64?${Buffer.from('secrets.get').toString('base64')}?=` },
        },
      );
      assert.ok(odd.body.error, odd.text);
      assert.doesNotMatch(odd.text, /value-/);
      await inDatabase(world.service, 'ALTER TABLE request_blocks_away RENAME TO request_blocks');
      assert.match((await ask(0)).text, /value-1-0/);
    });

    it('an address that guesses is stopped before its body is read, and a good key is served', async () => {
      const { url, clock } = world.service;
      clock.stand();
      const guess = () => modernCall(url, 'secrets.list', {}, { key: 'sr_vault_guess' });
      for (let at = 0; at < 60; at++) await guess();
      const stopped = await guess();
      assert.equal(stopped.status, 429, stopped.text);
      assert.ok(Number(stopped.headers.get('retry-after')) > 0);
      const unread = await post(url, '{"broken', { key: 'sr_vault_guess' });
      assert.equal(unread.status, 429, 'what is broken about the body is not found');
      const inArguments = { vault: { vaultId: everyone[0]!.vaultId, accessKey: 'sr_vault_guess' } };
      const guessed = await modernCall(url, 'secrets.list', inArguments);
      assert.equal(guessed.body.result.structuredContent.status, 429, guessed.text);
      const known = await modernCall(url, 'secrets.list', {}, { key: everyone[0]!.key });
      assert.equal(known.body.result.isError, undefined, known.text);
      clock.run();
    });
  });
}
