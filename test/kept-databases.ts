/** The databases that earlier releases left behind, as the tests open them: always copies. */
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { EngineName } from './harness.ts';
import { dataRoot, freshDatabase } from './postgres.ts';

const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));
export const releases = readdirSync(fixtures, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name);

/** A copy of what a release left, and the flags that name it. */
export async function copyOf(release: string, engine: EngineName) {
  const data = mkdtempSync(join(dataRoot(), 'strongroom-earlier-'));
  const from = join(fixtures, release, engine);
  for (const file of ['root.key', 'checkpoint.json', 'log-public-key.pem', 'strongroom.db'])
    if (existsSync(join(from, file))) cpSync(join(from, file), join(data, file));
  chmodSync(join(data, 'root.key'), 0o400);
  const place = ['--data', data];
  if (engine === 'postgres') {
    const url = await freshDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query(readFileSync(join(from, 'dump.sql'), 'utf8'));
    await client.end();
    place.push('--database-url', url);
  }
  const expected = JSON.parse(readFileSync(join(from, 'expected.json'), 'utf8'));
  return { data, place, expected, checkpoint: join(from, 'checkpoint.json') };
}
