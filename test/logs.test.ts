import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chainStart, linkHash } from '../src/logs/chain.ts';
import { parseCheckpoint } from '../src/logs/checkpoints.ts';
import { databaseSource, exportLines, fileSource } from '../src/logs/source.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import type { LogHeadRow } from '../src/store/records/logs.ts';
import { type EngineName, engines, type Service, startService } from './harness.ts';
import { inDatabase } from './storage.ts';

interface Prepared {
  readonly service: Service;
  readonly vaultId: string;
  readonly accessKey: string;
  read(query?: string, token?: string | null, headers?: Record<string, string>): ReturnType<Service['call']>;
}

async function prepare(engine: EngineName, flags: string[] = []): Promise<Prepared> {
  const service = await startService({ engine, flags });
  const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
  await service.call('POST', '/v1/secrets', { vault_id: vault.id, name: 'S', value: 'the-secret-value' });
  const { body: key } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' });
  const read: Prepared['read'] = (query = '', token = key.token, headers = {}) =>
    service.call('GET', `/api/v1/vaults/${vault.id}${query}`, undefined, token, headers);
  return { service, vaultId: vault.id, accessKey: key.token, read };
}

/** Of the request chains, once all that was read is behind them. */
async function heads({ service }: Prepared): Promise<LogHeadRow[]> {
  await service.call('GET', '/v1/request-logs');
  const store = await openLogs(readConfig(placeOptions, service.place, {}));
  const found = await store.logs.heads();
  await store.close();
  return found.filter(({ stream }) => stream === 'request');
}

async function verify({ service }: Prepared, options: { receipts?: string[]; kept?: string } = {}) {
  const publicKey = await readFile(join(service.data, 'log-public-key.pem'), 'utf8');
  const store = await openLogs(readConfig(placeOptions, service.place, {}));
  try {
    const kept = options.kept === undefined ? undefined : parseCheckpoint(options.kept);
    return await verifyLogs(databaseSource(store), {
      publicKey,
      kept,
      receipts: options.receipts ?? [],
      now: service.clock.now,
    });
  } finally {
    await store.close();
  }
}

for (const engine of engines) {
  describe(`request logs on ${engine}`, () => {
    let prepared: Prepared;
    before(async () => {
      prepared = await prepare(engine);
    });
    after(() => prepared.service.stop());

    it('every vault request is there, refused ones too, with all that the specification asks for', async () => {
      const { service, read, vaultId } = prepared;
      const ok = await read('?secrets=names', prepared.accessKey, { 'user-agent': 'tester/1' });
      await read('', null);
      const { body } = await service.call('GET', '/v1/request-logs?limit=2');
      const [refused, answered] = body.data;
      assert.equal(answered.success, true);
      assert.equal(answered.resource_type, 'vault');
      assert.equal(answered.ip_address, '127.0.0.1');
      assert.equal(answered.route, '/api/v1/vaults/{vault_id}');
      assert.equal(answered.method, 'GET');
      assert.equal(answered.status, 200);
      assert.equal(answered.vault_id, vaultId);
      assert.equal(answered.requested, 'secrets=names');
      assert.equal(answered.user_agent, 'tester/1');
      assert.equal(answered.request_id, ok.headers.get('x-request-id'));
      assert.equal(answered.request_id, answered.id, 'who has the request’s id has found its entry');
      assert.equal(answered.receipt, ok.headers.get('strongroom-receipt'));
      assert.ok(answered.duration_ms >= 0);
      assert.equal(refused.success, false);
      assert.equal(refused.status, 401);
      assert.equal(refused.vault_id, vaultId);
      assert.equal(refused.access_key_id, null);
    });

    it('an entry names the resource that was read, and never a value', async () => {
      const { service, read } = prepared;
      const { body: vault } = await read();
      await read(`?resource=${vault.secrets[0].id}`);
      const logs = await service.call('GET', '/v1/request-logs?limit=1');
      assert.equal(logs.body.data[0].requested, 'secret=value S');
      assert.ok(!logs.text.includes('the-secret-value'));
    });

    it('control characters can’t break an entry', async () => {
      const { service, read, accessKey } = prepared;
      await read('', accessKey, { 'user-agent': 'evil\u0085line\u00a0"quoted" {{7*7}} <%= 7 %>' });
      const { body } = await service.call('GET', '/v1/request-logs?limit=1');
      assert.equal(body.data[0].user_agent, 'evil\uFFFDline\u00a0"quoted" {{7*7}} <%= 7 %>');
    });

    it('entries are filtered by vault, key, status, address and time', async () => {
      const { service, vaultId } = prepared;
      const total = async (query: string) =>
        (await service.call('GET', `/v1/request-logs?${query}`)).body.pagination.total;
      const all = await total('');
      assert.ok((await total('status=401')) >= 1);
      assert.equal((await total('status=401')) + (await total('status=200')), all);
      assert.equal(await total(`vault_id=${vaultId}`), all);
      assert.equal(await total('ip_address=127.0.0.1'), all);
      assert.equal(await total('ip_address=10.0.0.1'), 0);
      assert.equal(await total(`from=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`), 0);
      assert.equal(await total(`to=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`), all);
      const { body: keys } = await service.call('GET', '/v1/access-keys');
      assert.equal(await total(`access_key_id=${keys.data[0].id}&status=200`), await total('status=200'));
    });

    it('they are exported as a stream of JSON Lines or CSV', async () => {
      const { service } = prepared;
      const { body } = await service.call('GET', '/v1/request-logs');
      const lines = await service.call('GET', '/v1/request-logs/export');
      const entries = lines.text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line));
      assert.equal(entries.length, body.pagination.total);
      assert.deepEqual(entries[0], body.data[0]);
      const csv = await service.call('GET', '/v1/request-logs/export?format=csv&status=401');
      assert.match(csv.text, /^id,created_at,success/);
      assert.match(csv.text, /"401"/);
    });

    it('entries that were synced together are listed, paged, filtered, fetched and exported one by one', async () => {
      const { service, read, vaultId } = prepared;
      const odd = 'agent "7" \\ {é';
      const asked = Array.from({ length: 60 }, (_, at) =>
        read(at % 2 === 0 ? '' : '?secrets=names', at % 3 === 0 ? 'sr_vault_bad' : undefined, {
          'user-agent': at % 5 === 0 ? odd : `agent ${at % 4}`,
        }),
      );
      const answers = await Promise.all(asked);
      const exported = (await service.call('GET', '/v1/request-logs/export')).text.trimEnd().split('\n');
      const all = exported.map(line => JSON.parse(line));
      const paged = [];
      for (let page = 1; page <= Math.ceil(all.length / 7); page++)
        paged.push(...(await service.call('GET', `/v1/request-logs?limit=7&page=${page}`)).body.data);
      assert.deepEqual(paged, all, 'pages end and begin inside of blocks');
      const ids = all.map(entry => entry.id);
      assert.deepEqual(ids, ids.toSorted().reverse(), 'newest first');

      const receipts = new Map(answers.map(answer => [answer.headers.get('strongroom-receipt'), answer]));
      const mine = all.filter(entry => receipts.has(entry.receipt));
      const requests = (entries: { count: number }[]) => entries.reduce((sum, { count }) => sum + count, 0);
      assert.equal(requests(mine), 60);
      for (const entry of mine) {
        const answer = receipts.get(entry.receipt)!;
        assert.equal(entry.status, answer.status);
        assert.equal(entry.request_id, answer.headers.get('x-request-id'));
        assert.equal(entry.vault_id, vaultId);
      }
      assert.equal(requests(mine.filter(entry => entry.user_agent === odd)), 12);
      const one = mine[17];
      assert.deepEqual((await service.call('GET', `/v1/request-logs/${one.id}`)).body, one);
      const none = `${one.id.slice(0, -3)}fff`;
      assert.equal((await service.call('GET', `/v1/request-logs/${none}`)).status, 404);
      const refused = (await service.call('GET', '/v1/request-logs?status=401&limit=100')).body;
      const expected = all.filter(entry => entry.status === 401);
      assert.deepEqual(refused.data, expected);
      assert.equal(refused.pagination.total, requests(expected));
      assert.ok((await verify(prepared, { receipts: [...receipts.keys()] as string[] })).ok);
    });

    it('so is the audit log, filtered as its list is', async () => {
      const { service, vaultId } = prepared;
      for (let made = 0; made < 3; made++)
        await service.call('PUT', `/v1/vaults/${vaultId}`, { tags: { made: `=${made}` } });
      const { body } = await service.call('GET', '/v1/audit-logs?limit=100');
      const linesOf = async (query = '') => {
        const { text } = await service.call('GET', `/v1/audit-logs/export${query}`);
        return text === '' ? [] : text.trimEnd().split('\n');
      };
      assert.deepEqual(
        (await linesOf()).map(line => JSON.parse(line)),
        body.data,
      );
      assert.equal((await linesOf('?action=vault.updated')).length, 3);
      assert.equal((await linesOf(`?subject_id=${vaultId}`)).length, 4);
      const csv = await linesOf('?format=csv&action=vault.updated');
      assert.match(csv[0]!, /^id,created_at,action,outcome,actor_kind,/);
      assert.equal(csv.length, 4);
      assert.match(csv[1]!, new RegExp(`"vault.updated","allowed","api-key",.*"vault","${vaultId}"`));
    });

    it('an export goes on beyond what is read at once, newest first, each entry once', async () => {
      const { service } = prepared;
      const { key } = await service.organization(`Long ${engine}`);
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'long' }, key);
      for (let part = 0; part < 6; part++) {
        const items = Array.from({ length: 100 }, (_, at) => ({
          vault_id: vault.id,
          name: `s${part}-${at}`,
          value: 'x',
        }));
        const { body } = await service.call('POST', '/v1/secrets/bulk', { items }, key);
        assert.deepEqual([...new Set(body.results.map(({ status }: { status: number }) => status))], [200]);
      }
      const { text } = await service.call(
        'GET',
        '/v1/audit-logs/export?action=secret.created',
        undefined,
        key,
      );
      const ids = text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).id);
      assert.equal(new Set(ids).size, 600);
      assert.deepEqual(ids, ids.toSorted().reverse());
    });

    it('another organization sees none of it', async () => {
      const { service, vaultId } = prepared;
      const other = await service.organization(`Other ${engine}`);
      const { body } = await service.call('GET', '/v1/request-logs', undefined, other.key);
      assert.equal(body.pagination.total, 0);
      const { text } = await service.call('GET', '/v1/audit-logs/export', undefined, other.key);
      assert.ok(text.includes('api-key.created') && !text.includes(vaultId), text);
    });
  });

  describe(`log before answer on ${engine}`, () => {
    it('while the log can’t be written no answer holds a secret; when it can, reads succeed again by themselves', async () => {
      const prepared = await prepare(engine);
      try {
        assert.equal((await prepared.read()).status, 200);
        await inDatabase(prepared.service, 'ALTER TABLE request_blocks RENAME TO request_blocks_away');
        for (const query of ['', '?secrets=names']) {
          const answer = await prepared.read(query);
          assert.equal(answer.status, 503);
          assert.ok(!answer.text.includes('the-secret-value'));
          assert.deepEqual(answer.body, { message: 'The service is unavailable' });
          assert.ok(answer.headers.get('retry-after'));
        }
        await inDatabase(prepared.service, 'ALTER TABLE request_blocks_away RENAME TO request_blocks');
        assert.equal((await prepared.read()).status, 200);
        const report = await verify(prepared);
        assert.deepEqual(report.findings, []);
      } finally {
        await prepared.service.stop();
      }
    });

    it('a change or a reveal whose audit entry can’t be written is refused, and nothing of it is kept', async () => {
      const prepared = await prepare(engine);
      const { service, vaultId } = prepared;
      try {
        const { body: list } = await service.call('GET', '/v1/secrets');
        await inDatabase(prepared.service, 'ALTER TABLE log_heads RENAME TO log_heads_away');
        const created = await service.call('POST', '/v1/secrets', {
          vault_id: vaultId,
          name: 'N',
          value: 'v',
        });
        assert.equal(created.status, 503);
        const revealed = await service.call('POST', `/v1/secrets/${list.data[0].id}/reveal`);
        assert.equal(revealed.status, 503);
        assert.ok(!revealed.text.includes('the-secret-value'));
        await inDatabase(prepared.service, 'ALTER TABLE log_heads_away RENAME TO log_heads');
        assert.equal((await service.call('GET', '/v1/secrets')).body.pagination.total, 1);
      } finally {
        await service.stop();
      }
    });

    it('request logs older than their retention go in steps, and the chain still holds', async () => {
      const prepared = await prepare(engine);
      const { service } = prepared;
      try {
        for (let count = 0; count < 7; count++) await prepared.read();
        service.clock.pass(100 * 86_400_000);
        const fresh = await prepared.read();
        await service.prune(90);
        const { body } = await service.call('GET', '/v1/request-logs');
        assert.equal(body.pagination.total, 1);
        assert.equal(body.data.length, 1);
        await service.restart();
        const report = await verify(prepared, { receipts: [fresh.headers.get('strongroom-receipt')!] });
        assert.deepEqual(report.findings, []);
        await inDatabase(prepared.service, 'DELETE FROM request_blocks');
        assert.equal((await verify(prepared)).ok, false);
      } finally {
        await service.stop();
      }
    });
  });

  describe(`the audit chain on ${engine}`, () => {
    it('holds, finds every receipt, and holds after a restart', async () => {
      const prepared = await prepare(engine);
      try {
        const receipts = [];
        for (let count = 0; count < 20; count++)
          receipts.push((await prepared.read()).headers.get('strongroom-receipt')!);
        await prepared.service.restart();
        receipts.push((await prepared.read()).headers.get('strongroom-receipt')!);
        const report = await verify(prepared, { receipts });
        assert.deepEqual(report.findings, []);
        assert.equal(report.entries.request, 21);
        assert.ok(report.entries.audit >= 5);
        const forged = `${receipts[0]!.slice(0, -1)}${receipts[0]!.endsWith('A') ? 'B' : 'A'}`;
        const found = await verify(prepared, { receipts: [forged] });
        assert.deepEqual(found.findings, [{ what: 'receipt-not-found', where: forged }]);
      } finally {
        await prepared.service.stop();
      }
    });

    const attacks: Record<string, [string[], string]> = {
      'an edited entry': [
        [`UPDATE request_blocks SET text = replace(text, '"status":200', '"status":401') WHERE seq = 3`],
        'edited',
      ],
      'an edited index': [[`UPDATE request_index SET ip_address = '10.0.0.9'`], 'edited'],
      'entries hidden from the index': [[`DELETE FROM request_index`], 'edited'],
      'a block that can no longer be read': [
        [`UPDATE request_blocks SET text = '{' WHERE seq = 3`],
        'edited',
      ],
      'a removed entry': [[`DELETE FROM request_blocks WHERE seq = 3`], 'missing'],
      'a removed audit entry': [[`DELETE FROM audit_logs WHERE seq = 1`], 'missing'],
      'a cut-off tail': [[`DELETE FROM request_blocks WHERE seq > 5`], 'cut-off'],
      'a cut-off tail with its head moved back': [
        [`DELETE FROM request_blocks WHERE seq > 5`, `UPDATE log_heads SET seq = 5 WHERE stream = 'request'`],
        'cut-off',
      ],
      'a forged checkpoint': [
        [`UPDATE checkpoints SET body = replace(body, '"seq":', '"seq":1')`],
        'bad-checkpoint',
      ],
    };
    for (const [name, [statements, what]] of Object.entries(attacks)) {
      it(`shows ${name}`, async () => {
        const prepared = await prepare(engine);
        try {
          for (let count = 0; count < 8; count++) await prepared.read();
          await prepared.service.restart(); // A stop signs what is left.
          for (const statement of statements) await inDatabase(prepared.service, statement);
          const report = await verify(prepared);
          assert.equal(report.ok, false);
          assert.ok(
            report.findings.some(finding => finding.what === what),
            JSON.stringify(report.findings),
          );
        } finally {
          await prepared.service.stop();
        }
      });
    }

    it('shows, by a checkpoint kept outside, when entries and checkpoints were cut off together', async () => {
      const prepared = await prepare(engine);
      try {
        for (let count = 0; count < 8; count++) await prepared.read();
        await prepared.service.restart();
        const kept = await readFile(join(prepared.service.data, 'checkpoint.json'), 'utf8');
        assert.equal((await verify(prepared, { kept })).ok, true);
        await inDatabase(prepared.service, 'DELETE FROM request_blocks');
        await inDatabase(prepared.service, 'DELETE FROM log_heads');
        await inDatabase(prepared.service, 'DELETE FROM checkpoints');
        const report = await verify(prepared, { kept });
        assert.ok(report.findings.some(finding => finding.what === 'cut-off'));
      } finally {
        await prepared.service.stop();
      }
    });

    it('shows what is gone, although somebody without the keyring wrote that retention removed it', async () => {
      const prepared = await prepare(engine);
      try {
        for (let count = 0; count < 8; count++) await prepared.read();
        await prepared.service.restart();
        const block = (
          await inDatabase(prepared.service, 'SELECT writer, hash, mark FROM request_blocks WHERE seq = 5')
        )[0]!;
        await inDatabase(prepared.service, 'DELETE FROM request_blocks WHERE seq <= 5');
        const writer = '0199a3c4-7f00-7abc-8def-0123456789ac';
        const id = 'ffffffff-7f00-7abc-8def-0123456789ab'; // As if it were still to be signed.
        const details = { removed: 5, chains: [{ ...block, seq: 5 }] };
        const entry = JSON.stringify({ id, organization_id: null, action: 'request_logs.pruned', details });
        const hash = linkHash('audit', writer, chainStart, id, entry);
        await inDatabase(
          prepared.service,
          `INSERT INTO audit_logs (id, writer, seq, entry, hash, mark) VALUES ('${id}', '${writer}', 1, '${entry}', '${hash}', '${hash}')`,
        );
        const { findings } = await verify(prepared);
        assert.ok(
          findings.some(({ what }) => what === 'missing'),
          JSON.stringify(findings),
        );
      } finally {
        await prepared.service.stop();
      }
    });

    it('signs no head that was moved back, and goes on naming what it signed', async () => {
      const prepared = await prepare(engine);
      const { service } = prepared;
      try {
        for (let count = 0; count < 8; count++) await prepared.read();
        const [early] = await heads(prepared);
        for (let count = 0; count < 8; count++) await prepared.read();
        await service.restart();
        const { writer, seq, hash, mark } = early!;
        await inDatabase(
          prepared.service,
          `DELETE FROM request_blocks WHERE writer = '${writer}' AND seq > ${seq}`,
        );
        await inDatabase(
          prepared.service,
          `UPDATE log_heads SET seq = ${seq}, hash = '${hash}', mark = '${mark}' WHERE writer = '${writer}' AND stream = 'request'`,
        );
        await prepared.read();
        await service.restart();
        assert.ok(service.reports.some(line => line.includes('is not signed')));
        const { findings } = await verify(prepared);
        assert.deepEqual(
          findings.map(({ what }) => what),
          ['cut-off'],
        );
      } finally {
        await service.stop();
      }
    });

    it('does not sign a chain that somebody without the keyring put there, and shows it', async () => {
      const prepared = await prepare(engine);
      const { service } = prepared;
      try {
        await prepared.read();
        const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
        const writer = '0199a3c4-7f00-7abc-8def-0123456789ac';
        const text = '{"created_at":"2025-10-02T07:13:07.840Z","alike":[],"entries":[]}';
        const hash = linkHash('request', writer, chainStart, id, text);
        await inDatabase(
          prepared.service,
          `INSERT INTO request_blocks (id, writer, seq, text, hash, mark) VALUES ('${id}', '${writer}', 1, '${text}', '${hash}', '${hash}')`,
        );
        await inDatabase(
          prepared.service,
          `INSERT INTO log_heads (writer, stream, seq, hash, mark) VALUES ('${writer}', 'request', 1, '${hash}', '${hash}')`,
        );
        await prepared.read();
        await service.restart(); // A stop signs what is left.
        const { findings } = await verify(prepared);
        assert.deepEqual(
          findings.map(({ what }) => what),
          ['never-signed'],
        );
        assert.ok(service.reports.some(line => line.includes('not signed')));
        const { body } = await service.call('GET', '/v1/audit-logs/verification');
        assert.deepEqual(body.findings.map(({ what }: { what: string }) => what).sort(), [
          'hashed-anew',
          'never-signed',
        ]);
      } finally {
        await service.stop();
      }
    });

    it('is exported to a file that verifies by itself, and shows an edit in the file', async () => {
      const prepared = await prepare(engine);
      try {
        await prepared.read();
        await prepared.service.restart();
        const publicKey = await readFile(join(prepared.service.data, 'log-public-key.pem'), 'utf8');
        const store = await openLogs(readConfig(placeOptions, prepared.service.place, {}));
        const lines = [];
        for await (const line of exportLines(databaseSource(store), {})) lines.push(line);
        await store.close();
        const file = join(prepared.service.data, 'export.jsonl');
        await writeFile(file, lines.join(''));
        assert.deepEqual((await verifyLogs(fileSource(file), { publicKey })).findings, []);
        await writeFile(file, lines.join('').replace('\\"method\\":\\"GET\\"', '\\"method\\":\\"PUT\\"'));
        assert.equal((await verifyLogs(fileSource(file), { publicKey })).ok, false);
      } finally {
        await prepared.service.stop();
      }
    });
  });
}
