/** The service is killed while a secret changes that templates contain: nothing that is read afterwards is stale. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setup, start, stop } from './command.ts';
import { enginesInTurn } from './engines.ts';
import { callService } from './harness.ts';
import { freshDatabase } from './postgres.ts';

const lives = 4;
const writesPerLife = 12;

for (const engine of enginesInTurn(import.meta.url))
  it(`a kill between a change and what refers to it leaves nothing stale on ${engine}`, async t => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-references-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const database = engine === 'postgres' ? ['--database-url', await freshDatabase()] : [];
    const place = ['--data', folder, ...database];
    const key = await setup(place);
    let acknowledged = 0;
    let made: Made | undefined;
    for (let life = 0; life <= lives; life++) {
      const service = start(['serve', ...place, '--port', '0']);
      const url = await service.url;
      made ??= await prepare(url, key);
      const { token, targetId }: Made = made;
      const read = async (): Promise<Record<string, string>> =>
        (await callService(url, 'GET', '/api/v1/vaults/self?format=map', undefined, token)).body;
      const { TEMPLATE = '', OUTER } = await read();
      assert.equal(OUTER, `[${TEMPLATE}]`);
      assert.ok(Number(TEMPLATE.slice(1, -1)) >= acknowledged, `${TEMPLATE} after ${acknowledged}`);
      if (life === lives) {
        await stop(service);
        continue;
      }
      const write = async (value: number) => {
        await callService(url, 'PUT', `/v1/secrets/${targetId}`, { value: String(value) }, key);
        acknowledged = value;
      };
      const first = acknowledged + 1;
      for (let at = 0; at < writesPerLife; at++) {
        await write(first + at);
        assert.equal((await read()).TEMPLATE, `<${first + at}>`);
      }
      const last = write(first + writesPerLife).catch(() => {});
      await new Promise(resolve => setTimeout(resolve, life * 3));
      service.child.kill('SIGKILL');
      await Promise.all([last, service.ended]);
    }
  });

interface Made {
  readonly token: string;
  readonly targetId: string;
}

async function prepare(url: string, key: string): Promise<Made> {
  const post = async (path: string, body: object) => (await callService(url, 'POST', path, body, key)).body;
  const shared = await post('/v1/vaults', { name: 'shared' });
  const app = await post('/v1/vaults', { name: 'app' });
  await callService(url, 'PUT', `/v1/vaults/${shared.id}`, { referable_from: [app.id] }, key);
  const target = await post('/v1/secrets', { vault_id: shared.id, name: 'TARGET', value: '0' });
  const kind = 'template';
  await post('/v1/secrets', { vault_id: app.id, name: 'TEMPLATE', kind, value: '<${vault:shared/TARGET}>' });
  await post('/v1/secrets', { vault_id: app.id, name: 'OUTER', kind, value: '[${TEMPLATE}]' });
  const { token } = await post('/v1/access-keys', { vault_id: app.id, name: 'k' });
  return { token, targetId: target.id };
}
