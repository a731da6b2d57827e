/** A service that none of its configured slots opens: it says so, takes shares from different people, and then serves. */
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { operatorOf } from '../src/cli/service/operator.ts';
import { type RootKey, RootKeyError } from '../src/keyring/root-key/root-key.ts';
import { splitRootKey } from '../src/keyring/root-key/shamir.ts';
import { ShareCollector } from '../src/keyring/root-key/share-collector.ts';
import { ShareError } from '../src/keyring/root-key/share-text.ts';
import { transitAt } from '../src/service/opening/transit-source.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { run } from './command.ts';
import { beside, callService, enginesInTurn, eventually, type Service, startService } from './harness.ts';
import { oneThread } from './one-thread.ts';

const engine = enginesInTurn('sealed')[0]!;

describe('a sealed service', () => {
  /** What is tested while the first service is stopped, because one process serves a folder. */
  const alone = (test: () => Promise<void>) => () => service.restartAfter(test);
  let service: Service;
  let sealed: Running;
  let shares: readonly string[];
  let reports: string[];
  const rootKey = () => join(service.data, 'root.key');
  const away = () => join(service.data, 'away.key');
  const call = (method: string, path: string, body?: unknown, key: string | null = null) =>
    callService(sealed.url, method, path, body, key);
  const give = (share: string) => call('POST', '/v1/unseal', { share });
  const start = async (flags: readonly string[] = []) => {
    reports = [];
    const config = readConfig(serveOptions, [...service.place, '--port', '0', ...flags], {});
    sealed = await serve(config, { report: line => reports.push(line), unsealEvery: 50, ...oneThread });
  };
  before(async () => {
    service = await startService({ engine });
    await service.call('POST', '/v1/vaults', { name: 'v' });
    await beside(service, ({ domain, newId }) =>
      domain.rootKeySlots.add(
        id => operatorOf(id, newId),
        async slot => {
          const made = await splitRootKey(slot, 3, 2);
          shares = made.shares;
          return made;
        },
      ),
    );
  });
  after(() => service.stop());

  it(
    'says that it is sealed, and that it lives, and serves nothing else',
    alone(async () => {
      renameSync(rootKey(), away());
      try {
        await start();
        assert.equal(sealed.isSealed(), true);
        assert.deepEqual((await call('GET', '/v1/health')).body, { status: 'sealed' });
        const answers = await Promise.all(['/v1/health', '/livez', '/readyz'].map(path => call('GET', path)));
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200, 503],
        );
        for (const path of [
          '/',
          '/v1/vaults',
          '/api/v1/vaults/self',
          '/vault/v1/sys/health',
          '/mcp',
          '/v1/unseal',
        ])
          assert.equal((await call('GET', path, undefined, service.key)).status, 503, path);
        const { slots, ...state } = (await call('GET', '/v1/seal')).body;
        assert.deepEqual(state, { sealed: true, progress: { given: 0, needed: 2 } });
        assert.deepEqual(Object.keys(slots[0]), ['id', 'provider', 'shares', 'threshold']);
        assert.ok(reports.some(line => line.startsWith('sealed: no slot of the root key opens this data')));
        assert.equal((await give('x')).status, 400);
      } finally {
        await sealed.stop();
        renameSync(away(), rootKey());
      }
    }),
  );

  it(
    'names a share that is wrong, counts one that is right once, and serves once there are enough',
    alone(async () => {
      renameSync(rootKey(), away());
      try {
        await start();
        const [id] = /[0-9a-f]{8}/.exec(shares[0]!)!;
        const mistyped = shares[0]!.replace(/.$/, last => (last === '0' ? '1' : '0'));
        const foreign = (await splitRootKey(id, 3, 2)).shares[1]!;
        const elsewhere = (await splitRootKey('ffffffff', 3, 2)).shares[0]!;
        for (const [wrong, reason] of [
          [mistyped, `share 1 of the slot ${id} is damaged or mistyped`],
          [foreign, `share 2 is not one of the slot ${id}`],
          [elsewhere, 'share 1 is of the slot ffffffff, which does not exist here'],
        ] as const) {
          const { status, body } = await give(wrong);
          assert.deepEqual([status, body.error.details], [400, { field: 'share', reason }]);
        }
        for (const body of ['{', '{}', '{"share":1}', `{"share":"${'x'.repeat(2000)}"}`, '[]'])
          assert.equal((await call('POST', '/v1/unseal', body)).status, 400, body);
        for (let again = 0; again < 2; again++) {
          const { status, body } = await give(shares[2]!);
          assert.deepEqual([status, body.sealed, body.progress], [200, true, { given: 1, needed: 2 }]);
        }
        const opened = await give(shares[0]!);
        assert.deepEqual(
          opened.body,
          { sealed: false, slots: [], progress: { given: 0, needed: 0 } },
          opened.text,
        );
        assert.equal(sealed.isSealed(), false);
        assert.deepEqual((await call('GET', '/v1/seal')).body, opened.body);
        assert.equal((await call('GET', '/v1/health')).body.status, 'ok');
        const made = await call('POST', '/v1/vaults', { name: 'after' }, service.key);
        assert.equal(made.status, 200, 'all planes have what they need');
        for (const share of shares)
          assert.equal(
            reports.some(line => line.includes(share.slice(20, 60))),
            false,
          );
      } finally {
        await sealed.stop();
        renameSync(away(), rootKey());
      }
    }),
  );

  it(
    'opens by itself when a slot does again, and takes no share from strangers for ever',
    alone(async () => {
      renameSync(rootKey(), away());
      try {
        await start();
        const statuses = new Set<number>();
        for (let asked = 0; asked < 31; asked++)
          statuses.add((await give(`sr_share_00000000_1_${asked}`)).status);
        assert.deepEqual([...statuses], [400, 429]);
        assert.deepEqual((await call('GET', '/v1/seal')).body.progress, { given: 0, needed: 2 });
      } finally {
        renameSync(away(), rootKey());
      }
      await eventually('it is open', async () => !sealed.isSealed());
      assert.equal((await call('GET', '/v1/vaults', undefined, service.key)).status, 200);
      await sealed.stop();
    }),
  );

  it(
    'is unsealed by the command, which reads the share from a file',
    alone(async () => {
      renameSync(rootKey(), away());
      try {
        await start();
        for (const [at, said] of [
          [0, 'Sealed: 1 of 2 shares were given\n'],
          [1, 'Not sealed\n'],
        ] as const) {
          writeFileSync(join(service.data, 'share'), shares[at]!);
          const { code, stdout, stderr } = await run([
            'unseal',
            `@${join(service.data, 'share')}`,
            '--url',
            sealed.url,
          ]);
          assert.deepEqual([code, stdout], [0, said], stderr);
        }
        const { code, stderr } = await run(['unseal', shares[0]!, '--url', sealed.url]);
        assert.equal(code, 0, stderr);
      } finally {
        await sealed.stop();
        renameSync(away(), rootKey());
      }
    }),
  );

  it(
    'waits for a key service that does not answer, and not for a key that is wrong',
    alone(async () => {
      // A double of a transit engine, which hides nothing.
      let isUp = false;
      const wrapped = new Map<string, string>();
      const engineDouble = createServer(async (request, response) => {
        const pieces: Buffer[] = [];
        for await (const piece of request) pieces.push(piece as Buffer);
        const { plaintext, ciphertext } = JSON.parse(Buffer.concat(pieces).toString());
        if (!isUp) return void response.writeHead(503).end();
        if (ciphertext === undefined) wrapped.set('vault:v1:AAAA', plaintext);
        const data =
          ciphertext === undefined ? { ciphertext: 'vault:v1:AAAA' } : { plaintext: wrapped.get(ciphertext) };
        response.writeHead(200).end(JSON.stringify({ data }));
      });
      await new Promise<void>(resolve => engineDouble.listen(0, '127.0.0.1', resolve));
      const key = `http://127.0.0.1:${(engineDouble.address() as AddressInfo).port}/v1/transit/keys/k`;
      const tokenFile = join(service.data, 'token');
      writeFileSync(tokenFile, 'token');
      try {
        isUp = true;
        const root: RootKey = await transitAt({ key, tokenFile }).open();
        await beside(service, async ({ domain, newId }) => {
          const by = (id: string) => operatorOf(id, newId);
          const { slots } = await domain.rootKeySlots.list();
          await domain.rootKeySlots.add(by, async () => ({ root, settings: { key } }));
          for (const { id, provider } of slots)
            if (provider === 'shamir') await domain.rootKeySlots.remove(by, id, true);
        });
        isUp = false;
        renameSync(rootKey(), away());
        await assert.rejects(start(), RootKeyError);
        await start(['--transit-key', key, '--transit-token-file', tokenFile]);
        assert.deepEqual((await call('GET', '/v1/seal')).body.slots, []);
        isUp = true;
        await eventually('it is open', async () => !sealed.isSealed());
        isUp = false;
        assert.equal((await call('POST', '/v1/vaults', { name: 'later' }, service.key)).status, 200);
      } finally {
        await sealed.stop();
        renameSync(away(), rootKey());
        engineDouble.closeAllConnections();
        engineDouble.close();
      }
    }),
  );
});

describe('shares that were given', () => {
  it('are forgotten after an hour, and when their slot is gone', async () => {
    let now = 0;
    const { shares, settings } = await splitRootKey('0a1b2c3d', 3, 2);
    const slot = { id: '0a1b2c3d', provider: 'shamir', created: 0, settings };
    const collector = new ShareCollector([slot], () => now);
    assert.equal(collector.add(shares[0]!), false);
    now = 3_600_000;
    assert.equal(collector.progress.given, 1);
    now++;
    assert.deepEqual(collector.progress, { given: 0, needed: 2 });
    assert.equal(collector.add(shares[0]!), false);
    collector.replaceSlots([]);
    assert.deepEqual(collector.progress, { given: 0, needed: 0 });
    assert.throws(() => collector.add(shares[1]!), ShareError);
  });
});
