/** JSON that is nested too deep is refused as any bad request is: nothing that the service walks through exhausts its stack. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onEngines } from './at-once.ts';
import { type Answer, callService } from './harness.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

const levels = 10_000;
/** Lists and objects in turn, as the value of a member that routes know. */
const mixed = `{"data":${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}}`;
const objects = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

onEngines('deeply nested JSON', engine => {
  let world: UsesWorld;
  let secretId: string;
  let reader: string;
  let editor: string;

  const make = async (path: string, body: object): Promise<Answer['body']> => {
    const answer = await world.service.call('POST', `/v1/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const dialect = (method: string, path: string, token: string, body?: unknown) =>
    world.service.call(method, `/vault/v1/secret/${path}`, body, null, { 'x-vault-token': token });

  before(async () => {
    world = await startUsesWorld(engine);
    const vault_id = world.vaultId;
    const stored = { vault_id, content_type: 'application/json' };
    secretId = (await make('secrets', { ...stored, name: 'deep', value: objects })).id;
    const most = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`;
    await make('secrets', { ...stored, name: 'deepest', value: most });
    await make('secrets', { ...stored, name: 'text', value: JSON.stringify({ a: '"[{'.repeat(1_000) }) });
    editor = (await make('api-keys', { name: 'ci', role: 'editor', vault_ids: [vault_id] })).token;
    reader = (await make('access-keys', { vault_id, name: 'reader' })).token;
  });
  after(() => world.stop());

  it('is refused by every route that takes a body', async () => {
    const { service, vaultId } = world;
    const routes = [...service.routes].filter(route => /^(POST|PUT|PATCH) /.test(route));
    assert.ok(routes.length > 60, 'the routes are there');
    const own = [`POST /api/v1/vaults/${vaultId}/use`, `POST /api/v1/vaults/${vaultId}/sign`];
    for (const route of [...routes, ...own]) {
      const [method = '', pattern = ''] = route.split(' ');
      const path = pattern.replace(':id', secretId).replace(/^\/vault\/\*$/, '/vault/v1/secret/data/x');
      const key = path.startsWith('/api/v1/vaults') ? world.agent : service.key;
      const answer = await callService(service.url, method, path, mixed, key, {
        'content-type': 'application/json',
        'x-vault-token': service.key,
      });
      assert.ok(answer.status >= 400 && answer.status < 500, `${route}: ${answer.text}`);
    }
    assert.deepEqual(
      service.reports.filter(line => line.includes('call stack')),
      [],
    );
  });

  it('stored as a value it is read as it is, and walked through by nothing', async () => {
    const { service, vaultId } = world;
    for (const token of [editor, reader]) {
      const whole = await dialect('GET', 'data/deep', token);
      assert.ok(whole.text.includes(objects), 'digit for digit');
      for (const path of ['subkeys/deep', 'subkeys/deep?depth=3', 'subkeys/deep?depth=999']) {
        const answer = await dialect('GET', path, token);
        assert.equal(answer.status, 400, `${path}: ${answer.text}`);
        assert.match(answer.text, /nested deeper than 500 levels/);
      }
      assert.equal((await dialect('GET', 'subkeys/deepest', token)).status, 200);
      assert.equal(
        (await dialect('GET', 'subkeys/text', token)).status,
        200,
        'brackets in texts are no levels',
      );
    }
    const patched = await dialect('PATCH', 'data/deep', editor, { data: { b: 1 } });
    assert.equal(patched.status, 400, patched.text);
    assert.equal((await dialect('PATCH', 'data/deepest', editor, { data: { b: 1 } })).status, 200);
    assert.equal((await dialect('PUT', 'data/deep', editor, { data: { b: 1 } })).status, 200);
    for (const query of ['', '?format=map', '?format=env', '?name=text']) {
      const answer = await callService(
        service.url,
        'GET',
        `/api/v1/vaults/${vaultId}${query}`,
        undefined,
        reader,
      );
      assert.ok(answer.status < 500, query);
    }
  });

  it('in the body of a call that a value goes into, it is passed on or refused', async () => {
    await world.rule({ place: { type: 'json', pointer: '/auth/token' }, methods: ['POST'] });
    const { status, text } = await world.use({
      method: 'POST',
      url: `${world.upstream.url}/echo`,
      body: objects,
    });
    assert.ok(status < 500, text);
  });
});
