/** Metrics: what they count, how they are written, and what they never say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { catalogue } from '../src/metrics/catalogue.ts';
import { enginesInTurn, eventually, type Service, startService } from './harness.ts';

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the text format strictly: every sample belongs to the type that was declared just before. */
function parsed(text: string): Sample[] {
  assert.ok(text.endsWith('\n'));
  let declared = { name: '', type: '' };
  return text
    .trimEnd()
    .split('\n')
    .flatMap(line => {
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
      if (type !== null) declared = { name: type[1]!, type: type[2]! };
      if (line.startsWith('#')) {
        assert.match(line, /^# (HELP \S+ \S.*|TYPE \S+ (counter|gauge|histogram))$/);
        return [];
      }
      const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
      const suffix = declared.type === 'histogram' ? '(_bucket|_sum|_count)' : '';
      assert.match(sample[1]!, new RegExp(`^${declared.name}${suffix}$`));
      const pairs = [...(sample[2] ?? '').matchAll(/([a-z_]+)="([^"]*)"(?:,|$)/g)];
      assert.equal(pairs.map(([whole]) => whole).join(''), sample[2] ?? '');
      assert.ok(Number.isFinite(Number(sample[3])), line);
      const labels = Object.fromEntries(pairs.map(([, label, value]) => [label!, value!]));
      return [{ name: sample[1]!, labels, value: Number(sample[3]) }];
    });
}

function totalOf(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  return samples
    .filter(sample => sample.name === name)
    .filter(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`metrics on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let accessKey: { id: string; token: string };

    before(async () => {
      service = await startService({ engine, threads: true, flags: ['--metrics-port', '0'] });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'measured' })).body.id;
      const soon = new Date(service.clock.now() + 3 * 24 * 3_600_000).toISOString();
      await service.call('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: 'CANARY_NAME',
        value: 'canary value',
        expiration_date: soon,
      });
      accessKey = (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'meter' })).body;
    });
    after(() => service.stop());

    const scraped = async () => parsed(await (await fetch(service.metricsUrl!)).text());
    const read = (token: string) => service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, token);
    /** What was added to each of some metrics by something that was done; an answer may be out before it is counted. */
    async function added(
      work: () => Promise<unknown>,
      of: readonly [string, Record<string, string>?][],
      expected: readonly number[] = [],
    ): Promise<number[]> {
      const earlier = await scraped();
      await work();
      let grown: number[] = [];
      const look = async () => {
        const later = await scraped();
        grown = of.map(([name, labels]) => totalOf(later, name, labels) - totalOf(earlier, name, labels));
        return expected.every((count, index) => grown[index]! >= count);
      };
      await eventually('the counters have grown', look).catch(() => {});
      return grown;
    }

    it('count vault reads by status, exactly, and whether their answer was kept ready', async () => {
      await read(accessKey.token);
      const expected = [5, 1, 6, 5, 0, 1];
      const counted = await added(
        async () => {
          for (let times = 0; times < 5; times++) assert.equal((await read(accessKey.token)).status, 200);
          assert.equal((await read('sr_vault_nonsense')).status, 401);
        },
        [
          ['strongroom_requests_total', { class: 'vault_read', status: '200' }],
          ['strongroom_requests_total', { class: 'vault_read', status: '401' }],
          ['strongroom_request_seconds_count', { class: 'vault_read' }],
          ['strongroom_answer_cache_total', { result: 'hit' }],
          ['strongroom_answer_cache_total', { result: 'miss' }],
          ['strongroom_authentication_failures_total'],
        ],
        expected,
      );
      assert.deepEqual(counted, expected);
    });

    it('count what either plane answers, each once', async () => {
      const expected = [1, 1, 1, 1, 1, 1, 1, 1, 0];
      const counted = await added(
        async () => {
          await service.call('GET', '/v1/vaults');
          await service.call('GET', '/v1/vaults', undefined, 'nonsense');
          await service.call('GET', '/livez');
          await service.call('POST', '/mcp', { method: 'tools/list' });
          await service.call('GET', '/auth/session', undefined, null);
          await service.call('GET', '/', undefined, null);
          await service.call('GET', '/vault/v1/secret/data/CANARY_NAME', undefined, accessKey.token);
          await service.call('POST', '/vault/v1/auth/jwt/login', {}, null);
        },
        [
          ['strongroom_requests_total', { class: 'api', status: '200' }],
          ['strongroom_requests_total', { class: 'api', status: '401' }],
          ['strongroom_requests_total', { class: 'health' }],
          ['strongroom_requests_total', { class: 'tool' }],
          ['strongroom_requests_total', { class: 'auth' }],
          ['strongroom_requests_total', { class: 'dashboard' }],
          ['strongroom_requests_total', { class: 'dialect', status: '200' }],
          ['strongroom_requests_total', { class: 'dialect', status: '400' }],
          ['strongroom_requests_total', { class: 'vault_read' }],
        ],
        expected,
      );
      assert.deepEqual(counted, expected);
    });

    it('a change is one group of the log that took some time', async () => {
      const [groups, seconds] = await added(
        () => service.call('PUT', `/v1/vaults/${vaultId}`, { description: 'another' }),
        [['strongroom_log_group_entries_count'], ['strongroom_log_commit_seconds_sum']],
      );
      assert.ok(groups! >= 1 && seconds! > 0);
    });

    it('tell what expires, what waits, and that both planes are well', async () => {
      await service.restart(); // What is stored is counted at the start, and then by the minute.
      await eventually('what expires is counted', async () => {
        const samples = await scraped();
        const within = (time: string) => totalOf(samples, 'strongroom_resources_expiring', { within: time });
        return within('1d') === 0 && within('7d') === 1 && within('30d') === 1;
      });
      const samples = await scraped();
      const isThere = (name: string, labels: Record<string, string> = {}) =>
        samples.some(
          sample =>
            sample.name === name &&
            Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
        );
      assert.equal(totalOf(samples, 'strongroom_management_up'), 1);
      assert.ok(totalOf(samples, 'strongroom_checkpoint_timestamp_seconds') > 1e9);
      assert.ok(totalOf(samples, 'process_resident_memory_bytes') > 1e7);
      for (const plane of ['reading', 'management']) {
        assert.ok(isThere('strongroom_event_loop_delay_seconds', { plane, share: '0.99' }), plane);
        assert.ok(isThere('strongroom_log_queue_entries', { plane }), plane);
      }
    });

    it('a proof of the logs is told', async () => {
      const proof = async () => (await service.call('GET', '/v1/audit-logs/verification')).body;
      await eventually('the verification is over', async () => (await proof()).running === false);
      assert.equal(totalOf(await scraped(), 'strongroom_log_proof_ok'), 1);
    });

    it('histograms grow from bucket to bucket, and end with their count', async () => {
      await read(accessKey.token);
      await service.call('GET', '/v1/vaults');
      const samples = await scraped();
      const buckets = samples.filter(({ name }) => name.endsWith('_bucket'));
      const bySeries = Map.groupBy(buckets, ({ name, labels: { le: _, ...labels } }) =>
        JSON.stringify([name, labels]),
      );
      assert.ok(bySeries.size >= 4, 'requests of two classes, and two of the log');
      for (const [series, ofSeries] of bySeries) {
        const counts = ofSeries.map(({ value }) => value);
        assert.deepEqual(
          counts,
          counts.toSorted((a, b) => a - b),
          series,
        );
        const [name, labels] = JSON.parse(series) as [string, Record<string, string>];
        assert.equal(ofSeries.at(-1)!.labels.le, '+Inf');
        assert.equal(counts.at(-1), totalOf(samples, name.replace('_bucket', '_count'), labels));
      }
    });

    it('no name, id, address or value is in them', async () => {
      const text = await (await fetch(service.metricsUrl!)).text();
      for (const telling of [
        'CANARY_NAME',
        'canary value',
        'measured',
        vaultId,
        accessKey.id,
        accessKey.token,
      ])
        assert.ok(!text.includes(telling), telling);
      assert.doesNotMatch(text, /127\.0\.0\.1|[0-9a-f]{8}-[0-9a-f]{4}-/);
    });

    it('are served at one path alone, and not where everybody asks', async () => {
      const elsewhere = new URL('/', service.metricsUrl!);
      assert.equal((await fetch(elsewhere)).status, 404);
      assert.equal((await fetch(service.metricsUrl!, { method: 'POST' })).status, 405);
      assert.equal(await statusOfTarget(elsewhere, '//'), 404);
      assert.equal((await fetch(service.metricsUrl!, { method: 'HEAD' })).status, 200);
      const { headers } = await fetch(`${service.metricsUrl}?x=1`);
      assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
      const { status, headers: own } = await fetch(`${service.url}/metrics`);
      assert.ok(status === 404 || own.get('content-type')!.startsWith('text/html'), String(status));
    });
  });
}

function statusOfTarget({ hostname, port }: URL, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ hostname, port, path }, answer => resolve(answer.resume().statusCode!))
      .on('error', reject)
      .end();
  });
}

const known = new Set(['strongroom_build_info', ...Object.keys(catalogue)]);

function assertKnown(name: string, inside: string): void {
  const base = known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
  assert.ok(known.has(base), name);
  const labels = new Map<string, readonly string[]>(
    Object.entries(catalogue[base as keyof typeof catalogue]?.labels ?? {}),
  ).set('instance', []);
  for (const [, label, operator, value] of inside.matchAll(/([a-z_]+)(=~?)"([^"]*)"/g)) {
    assert.ok(labels.has(label!), `${name}{${label}}`);
    if (operator === '=') assert.ok(labels.get(label!)!.includes(value!), `${name}{${label}="${value}"}`);
  }
}

describe('metrics in what is shipped for them', () => {
  it('are off unless a port is given', async () => {
    const service = await startService();
    assert.equal(service.metricsUrl, null);
    await service.stop();
  });

  for (const file of ['deploy/prometheus/alerts.yml', 'deploy/grafana/strongroom.json']) {
    it(`${file} asks for no metric and no label that there isn’t`, () => {
      const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').replaceAll('\\"', '"');
      const used = [...text.matchAll(/\b((?:strongroom|process)_[a-z_]+)(?:\{([^}]*)\})?/g)];
      assert.ok(used.length > 8);
      for (const [, name, inside] of used) assertKnown(name!, inside ?? '');
    });
  }

  it('each follows the rules that `promtool check metrics` has for names and labels', () => {
    for (const [name, { kind, help, labels }] of Object.entries(catalogue)) {
      assert.match(name, /^[a-z][a-z0-9_]*$/);
      assert.notEqual(help, '', name);
      assert.equal(
        name.endsWith('_total'),
        kind === 'counter',
        `${name}: _total is for counters, and for all of them`,
      );
      assert.doesNotMatch(name, /_(?:bucket|sum|count)$/, 'reserved for the parts of a histogram');
      assert.doesNotMatch(
        name,
        /(?:^|_)(?:counter|gauge|histogram|summary)(?:_|$)/,
        'a name does not repeat its type',
      );
      assert.doesNotMatch(
        name,
        /_(?:s|ms|us|ns|milliseconds|minutes|hours|days|kb|mb|kilobytes|percent)(?:_|$)/,
        'base units',
      );
      // `le` belongs to histograms and `quantile` to summaries, of which there are none here.
      for (const label of Object.keys(labels)) {
        assert.match(label, /^[a-z][a-z0-9_]*$/);
        assert.ok(label !== 'le' && label !== 'quantile', `${name}{${label}}`);
      }
    }
  });

  it('each stands in the documentation, with what it says', () => {
    const page = readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8');
    for (const [name, { help }] of Object.entries(catalogue))
      assert.ok(page.includes(`\`${name}\` | ${help}`), name);
  });
});
