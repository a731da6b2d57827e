/**
 * Measures what references cost: `npm run bench:references [sqlite|postgres]` fills one vault with 10,000 secrets and
 * 30,000 references, and another with 10,000 secrets without any, and changes, renames and deletes secrets of both in
 * turns. It prints the median time of each change on both sides, and of reading one secret and a whole vault.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setup, start, stop } from '../test/command.ts';
import { callService } from '../test/harness.ts';
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';

const [engine = 'sqlite'] = process.argv.slice(2);
const plain = 2_000;
const templates = 8_000;
const references = 30_000;
const rounds = 100;

const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
if (engine === 'postgres') await globalSetup();
const place = ['--data', folder, ...(engine === 'postgres' ? ['--database-url', await freshDatabase()] : [])];
const key = await setup(place);
const service = start(['serve', ...place, '--port', '0']);
const url = await service.url;
const call = async (method: string, path: string, body?: unknown, token = key) => {
  const answer = await callService(url, method, path, body, token);
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
};

interface Side {
  readonly vault_id: string;
  readonly token: string;
  /** Secrets to change. On one side, each is referred to by fifteen templates. */
  readonly ids: string[];
}

async function newSide(name: string): Promise<Side> {
  const vault_id = (await call('POST', '/v1/vaults', { name })).id;
  return { vault_id, token: (await call('POST', '/v1/access-keys', { vault_id, name })).token, ids: [] };
}

async function fill({ vault_id, ids }: Side, items: readonly object[]): Promise<void> {
  for (let at = 0; at < items.length; at += 100) {
    const part = items.slice(at, at + 100).map(item => ({ vault_id, ...item }));
    const { results } = await call('POST', '/v1/secrets/bulk', { items: part });
    for (const { secret, error } of results) {
      if (error !== undefined) throw new Error(JSON.stringify(error));
      ids.push(secret.id);
    }
  }
}

const values = Array.from({ length: plain }, (_, at) => ({ name: `V${at}`, value: `value ${at}` }));
let next = 0;
const referring = Array.from({ length: templates }, (_, at) => {
  const count = Math.floor(((at + 1) * references) / templates) - Math.floor((at * references) / templates);
  const text = Array.from({ length: count }, () => `\${V${next++ % plain}}`).join(' ');
  return { name: `T${at}`, kind: 'template', value: text };
});
const alike = Array.from({ length: templates }, (_, at) => ({
  name: `T${at}`,
  value: 'four values of ten characters each',
}));

const sides = { 'with references': await newSide('linked'), without: await newSide('plain') };
const began = performance.now();
await fill(sides['with references'], [...values, ...referring]);
const filled = performance.now();
await fill(sides.without, [...values, ...alike]);
const template = (at: number) => sides['with references'].ids[plain + at]!;
console.log(
  `${references} references: ${((filled - began) / 1000).toFixed(0)} s, without: ${((performance.now() - filled) / 1000).toFixed(0)} s`,
);

async function timed(what: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await what();
  return performance.now() - from;
}

const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;

const kinds: Readonly<Record<string, (side: Side, round: number) => Promise<unknown>>> = {
  'change a value': ({ ids }, at) => call('PUT', `/v1/secrets/${ids[at]}`, { value: `changed ${at}` }),
  rename: ({ ids }, at) => call('PUT', `/v1/secrets/${ids[at]}`, { name: `renamed ${at}` }),
  delete: ({ ids }, at) => call('DELETE', `/v1/secrets/${ids[at]}`),
  restore: ({ ids }, at) => call('POST', `/v1/resources/${ids[at]}/restore`),
  purge: ({ ids }, at) => call('DELETE', `/v1/secrets/${ids[at + rounds]}?purge=true`),
  'read one value': ({ token }, at) =>
    call('GET', `/api/v1/vaults/self?name=V${at + 1_000}`, undefined, token),
  'hot read of all': ({ token }) => call('GET', '/api/v1/vaults/self?secrets=names', undefined, token),
};

for (const [kind, run] of Object.entries(kinds)) {
  const times: Record<string, number[]> = { 'with references': [], without: [] };
  for (let round = 0; round < rounds; round++)
    for (const [name, side] of Object.entries(sides)) times[name]!.push(await timed(() => run(side, round)));
  const [linked, bare] = [median(times['with references']!), median(times.without!)];
  console.log(
    `${kind}: ${linked.toFixed(2)} ms, without ${bare.toFixed(2)} ms, ratio ${(linked / bare).toFixed(2)}`,
  );
}

const changed: number[] = [];
for (let at = 0; at < rounds; at++)
  changed.push(
    await timed(() =>
      call('PUT', `/v1/secrets/${template(at + 4_000)}`, { value: '${V1999} ${V1998} ${V1997}' }),
    ),
  );
console.log(`change a template of three references: ${median(changed).toFixed(2)} ms`);
for (const [name, side] of Object.entries(sides))
  console.log(
    `a whole vault after a change, ${name}: ${(await timed(() => call('GET', '/api/v1/vaults/self', undefined, side.token))).toFixed(0)} ms; again: ${(await timed(() => call('GET', '/api/v1/vaults/self', undefined, side.token))).toFixed(0)} ms`,
  );
await stop(service);
if (engine === 'postgres') await globalTeardown();
rmSync(folder, { recursive: true, force: true });
