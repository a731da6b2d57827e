/** A long request log, written directly into the tables: through the ledger, ten million entries would take an hour. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { blockOf } from '../src/logs/blocks.ts';
import type { RequestEntry } from '../src/logs/entries.ts';

const inBlock = 16;

interface Owner {
  readonly organization: string;
  readonly vault: string;
}

export const entryOf = ({ organization, vault }: Owner): RequestEntry => ({
  organization_id: organization,
  success: true,
  resource_type: 'vault',
  ip_address: '127.0.0.1',
  route: '/api/v1/vaults/{vault_id}',
  method: 'GET',
  status: 200,
  vault_id: vault,
  access_key_id: vault,
  requested: 'secrets',
  tool: null,
  user_agent: 'bench',
  duration_ms: 0.2,
  request_id: null,
});

/** Fills the log's tables with this many entries, in blocks as a busy service writes them. */
export function fillLog(data: string, entries: number): void {
  const db = new DatabaseSync(join(data, 'strongroom.db'), { timeout: 5_000 });
  const owner = db
    .prepare(
      `SELECT o.id AS organization, r.id AS vault FROM organizations o, resources r WHERE r.type = 'vault' LIMIT 1`,
    )
    .get() as unknown as Owner;
  const { text } = blockOf(new Date().toISOString(), Array(inBlock).fill(entryOf(owner)));
  const blocks = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${Math.ceil(entries / inBlock)})`;
  const id = `printf('%08x-0000-7000-8000-%012x', i / 1000, i * 4096)`;
  db.exec('PRAGMA synchronous = OFF');
  db.prepare(`
    ${blocks} INSERT INTO request_blocks (id, writer, seq, text, hash, mark)
    SELECT ${id}, '00000000-0000-7000-8000-000000000000', i, ?, hex(randomblob(21)), hex(randomblob(21)) FROM n
  `).run(text);
  db.prepare(`
    ${blocks} INSERT INTO request_index (organization_id, block_id, part, vault_id, access_key_id, status, ip_address, entries)
    SELECT ?, ${id}, 0, ?, NULL, 200, '127.0.0.1', ${inBlock} FROM n
  `).run(owner.organization, owner.vault);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  execFileSync('sync'); // Pending writes must not disturb the measurement.
}
