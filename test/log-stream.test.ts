/** `strongroom log stream`: every entry of both logs arrives elsewhere at least once, whatever happens on the way. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { appendDurably } from '../src/base/durable-file.ts';
import { streamLogs, streamOptions } from '../src/cli/service/log-stream.ts';
import { behind, logStart, type Position } from '../src/logs/tail.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import type { Stream } from '../src/store/records/logs.ts';
import { run, start } from './command.ts';
import { engines, eventually, type Service, startService } from './harness.ts';

interface Line {
  readonly log: Stream;
  readonly id: string;
  readonly receipt: string;
}

const linesIn = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

for (const engine of engines) {
  describe(`log stream on ${engine}`, () => {
    let service: Service;
    let path: string;
    let token: string;
    const receipts: string[] = [];

    before(async () => {
      service = await startService({ engine });
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
      path = `/api/v1/vaults/${vault.id}`;
      token = (await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' })).body.token;
      for (let count = 0; count < 5; count++) await read();
    });
    after(() => service.stop());

    const read = async () => {
      const { headers } = await service.call('GET', path, undefined, token);
      receipts.push(headers.get('strongroom-receipt')!);
    };

    async function copied(from: Position, streams: readonly Stream[] = ['audit', 'request']) {
      const logs = await openLogs(readConfig(placeOptions, service.place, {}));
      const lines: Line[] = [];
      let position = from;
      for await (const batch of behind(logs, from, streams)) {
        lines.push(...batch.lines.map(line => JSON.parse(line)));
        position = batch.position;
      }
      await logs.close();
      return { lines, position };
    }

    it('has every entry of both logs with its receipt, then only what is new', async () => {
      const { lines, position } = await copied(logStart);
      const requests = lines.filter(({ log }) => log === 'request');
      assert.deepEqual(
        requests.map(({ receipt }) => receipt),
        receipts,
      );
      const { body } = await service.call('GET', '/v1/audit-logs?limit=100');
      const audited = new Set(lines.filter(({ log }) => log === 'audit').map(({ receipt }) => receipt));
      for (const { receipt } of body.data) assert.ok(audited.has(receipt));
      assert.deepEqual((await copied(position)).lines, []);
      await read();
      await service.call('POST', '/v1/vaults', { name: 'w' });
      const next = await copied(position);
      assert.deepEqual(
        next.lines.map(({ log }) => log),
        ['audit', 'request'],
      );
      const onlyAudits = await copied(position, ['audit']);
      assert.deepEqual(onlyAudits.lines.length, 1);
    });

    it('has what another replica stored later under an earlier id', async () => {
      const { position } = await copied(logStart);
      await read();
      await service.call('GET', '/v1/request-logs'); // Files it, and moves the head.
      const end = await copied(position);
      // As if that block had not been visible when later ones were read.
      const late = { ...end.position, chains: position.chains };
      assert.deepEqual((await copied(late)).lines, end.lines);
      const newChain = Object.fromEntries(
        Object.entries(position.chains).filter(([chain]) => !chain.startsWith('request ')),
      );
      const again = (await copied({ ...end.position, chains: newChain })).lines.map(({ receipt }) => receipt);
      assert.deepEqual(again, receipts, 'of a chain that is not known, all of the last day');
    });

    it('passes over what retention removed before it was read', async () => {
      const { position } = await copied(logStart);
      await read();
      service.clock.pass(100 * 86_400_000);
      await service.prune(90);
      const { lines } = await copied(position);
      assert.deepEqual(
        lines.map(({ log }) => log),
        ['audit'],
        'retention’s own entry',
      );
      assert.deepEqual((await copied((await copied(position)).position)).lines, []);
    });
  });
}

describe('strongroom log stream', () => {
  let service: Service;
  let path: string;
  let token: string;
  before(async () => {
    service = await startService();
    const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
    path = `/api/v1/vaults/${vault.id}`;
    token = (await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' })).body.token;
  });
  after(() => service.stop());
  /** As the command does it. */
  const stream = (...flags: string[]) =>
    streamLogs(readConfig(streamOptions, [...service.place, ...flags], {}), new AbortController().signal);
  const inData = (name: string) => join(service.data, name);
  const read = async () =>
    (await service.call('GET', path, undefined, token)).headers.get('strongroom-receipt')!;

  it('is killed again and again while the logs grow, and the file lacks nothing', async () => {
    const file = inData('copy.jsonl');
    const flags = ['log', 'stream', ...service.place, '--to', file, '--position', inData('position.json')];
    const receipts = new Set<string>();
    const there = () => (existsSync(file) ? readFileSync(file, 'utf8').length : 0);
    for (let life = 0; life < 2; life++) {
      const size = there();
      const { child, ended } = start(flags);
      // Killed in the middle of its work: as soon as anything of this life has arrived.
      await eventually('an entry has arrived', async () => {
        receipts.add(await read());
        return there() > size;
      });
      child.kill('SIGKILL');
      await ended;
    }
    appendFileSync(file, '{"log":"requ'); // What a write leaves that was interrupted.
    const { code, stderr } = await run([...flags, '--once']);
    assert.equal(code, 0, stderr);
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter(line => line !== '' && line !== '{"log":"requ');
    const arrived = new Set(lines.map(line => (JSON.parse(line) as Line).receipt));
    assert.deepEqual(
      [...receipts].filter(receipt => !arrived.has(receipt)),
      [],
    );
  });

  it('sends to a collector with its token, again where it is away, and ends where it refuses', async () => {
    const answers = [503, 200];
    const bodies: string[] = [];
    const tokens = new Set<string | undefined>();
    const collector = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', chunk => {
        body += chunk;
      });
      request.on('end', () => {
        const status = answers.shift() ?? 200;
        if (status === 200) bodies.push(body);
        tokens.add(request.headers.authorization);
        response.writeHead(status).end();
      });
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    try {
      writeFileSync(inData('token'), 'collector-token\n');
      const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/intake`;
      const position = inData('sent.json');
      const flags = ['--to', url, '--position', position, '--once'];
      await stream(...flags, '--token-file', inData('token'));
      assert.equal(answers.length, 0, 'it came again after the 503');
      assert.deepEqual([...tokens], ['Bearer collector-token']);
      const kept = readFileSync(position, 'utf8');
      const receipt = await read();
      answers.push(403);
      await assert.rejects(stream(...flags), /^Error: the collector refused the entries with status 403/);
      assert.equal(readFileSync(position, 'utf8'), kept, 'what was refused is sent again');
      await stream(...flags);
      assert.ok(bodies.flatMap(linesIn).some(line => line.receipt === receipt));
    } finally {
      collector.close();
    }
  });

  it('refuses a collector without TLS elsewhere, and a position file that is none', async () => {
    await assert.rejects(
      async () => stream('--to', 'http://logs.example.com/', '--once'),
      /--to must begin with https:/,
    );
    await assert.rejects(async () => stream('--once'), /--to is required/);
    await assert.rejects(async () => stream('--to', '-'), /--position is required, except with --once/);
    await assert.rejects(
      async () => stream('--to', '-', '--position', inData('token')),
      /--position names a file without a position/,
    );
  });

  it('lines are added behind what is there, each by itself', async () => {
    const file = inData('lines');
    await appendDurably(file, 'a\n');
    appendFileSync(file, 'half');
    await appendDurably(file, 'b\n');
    assert.equal(readFileSync(file, 'utf8'), 'a\nhalf\nb\n');
  });
});
