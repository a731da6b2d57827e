/** `set` with tags, expiry and warnings, `ls`, `list -l`, `find`, `readers` and `log`, against a real service. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Done, startTool, type Tool } from './tool.ts';

let tool: Tool;
let otherId: string;
before(async () => {
  tool = await startTool({ DATABASE_URL: 'postgres://one', STRIPE_KEY: 'sk_live' });
  const { call } = tool.service;
  otherId = (await call('POST', '/v1/vaults', { name: 'Billing', tags: { team: 'payments' } })).body.id;
  await call('POST', '/v1/secrets', {
    ...{ vault_id: otherId, name: 'stripe_webhook', value: 'whsec', tags: { team: 'payments', tier: 'a' } },
  });
  await call('POST', '/v1/keys', {
    ...{ vault_id: otherId, name: 'Stripe signing', generate: { key_type: 'EC', curve: 'P-256' } },
    ...{ tags: { team: 'payments' }, expiration_date: new Date(Date.now() + 40 * 86_400_000).toISOString() },
  });
});
after(() => tool.stop());

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.match(stderr, /^strongroom: [^\n]+\n$/, 'one line');
  assert.equal(stdout, '');
}

function succeeds({ code, stdout, stderr }: Done): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

const inApp = ['--vault', 'app'];

describe('set', () => {
  it('gives a secret tags and an expiry, and leaves those that are not named', async () => {
    const set = async (...args: string[]) =>
      JSON.parse(
        succeeds(
          await tool.admin(['set', 'TAGGED', ...inApp, '--json', ...args], {
            input: args.includes('--keep-value') ? '' : 'a value',
          }),
        ),
      );
    const made = await set('--tag', 'team=a,b', '--tag', 'env=prod=1', '--expires', '30d');
    assert.deepEqual(made.tags, { team: 'a,b', env: 'prod=1' });
    assert.ok(Math.abs(Date.parse(made.expiration_date) - Date.now() - 30 * 86_400_000) < 60_000);
    assert.equal(made.version, 1);

    const kept = await set('--keep-value', '--tag', 'env=test', '--tag', 'tier=1', '--remove-tag', 'team');
    assert.deepEqual(kept.tags, { env: 'test', tier: '1' });
    assert.equal(kept.version, 1);
    assert.equal(kept.expiration_date, made.expiration_date);
    assert.equal((await set('--keep-value', '--expires', 'never')).expiration_date, null);
    const renewed = await set('--expires', '2099-01-31');
    assert.deepEqual([renewed.version, renewed.expiration_date], [2, '2099-01-31T00:00:00.000Z']);
    assert.deepEqual(renewed.tags, { env: 'test', tier: '1' });
    assert.match(
      (await tool.admin(['set', 'TAGGED', ...inApp, '--keep-value', '--tag', 'a=b'])).stderr,
      /^strongroom: TAGGED is updated\n$/,
    );
  });

  it('refuses what contradicts itself, and keeps no value of a secret that does not exist', async () => {
    fails(
      await tool.admin(['set', 'NONE', ...inApp, '--keep-value', '--tag', 'a=b']),
      1,
      /no active secret "NONE"/,
    );
    fails(
      await tool.admin(['set', 'TAGGED', 'v', ...inApp, '--keep-value']),
      2,
      /--keep-value can’t be combined/,
    );
    fails(await tool.admin(['set', 'TAGGED', ...inApp, '--keep-value', '--generate']), 2, /--keep-value/);
    fails(
      await tool.admin(['set', 'TAGGED', ...inApp, '--tag', 'x']),
      2,
      /--tag must be of the form NAME=VALUE/,
    );
    fails(
      await tool.admin(['set', 'TAGGED', ...inApp, '--expires', 'soon']),
      2,
      /--expires must be never, or a date/,
    );
  });

  it('reports what is probably a mistake, stores it all the same, and never prints the value', async () => {
    const odd = '\ufeff "hunter2\u200b" ';
    const done = await tool.admin(['set', 'ODD', ...inApp], { input: `${odd}\n` });
    assert.equal(done.code, 0, done.stderr);
    assert.equal(done.stdout, '');
    for (const what of [
      /byte order mark/,
      /invisible/,
      /begins with spaces/,
      /ends with spaces/,
      /in quotes/,
    ])
      assert.match(done.stderr, what);
    assert.doesNotMatch(done.stderr, /hunter2|200b|feff/i);
    assert.equal((await tool.run(['get', 'ODD', '--no-newline'])).stdout, odd);
    const clean = await tool.admin(['set', 'ODD', ...inApp], { input: 'clean\n' });
    assert.equal(clean.stderr, 'strongroom: ODD is now version 2\n');
    const made = await tool.admin(['set', 'ODD', ...inApp, '--generate']);
    assert.equal(made.stderr, 'strongroom: ODD is now version 3\n');
  });
});

describe('list', () => {
  it('is ls too', async () => {
    const listed = succeeds(await tool.run(['list']));
    assert.match(listed, /^DATABASE_URL\n/);
    assert.equal(succeeds(await tool.run(['ls'])), listed);
    assert.doesNotMatch(succeeds(await tool.run(['help'])), /^ {2}ls /m);
  });

  it('-l prints type, version, age and expiry of everything in the vault, and no value', async () => {
    const lines = succeeds(await tool.admin(['ls', '-l', '--vault', 'Billing'])).split('\n');
    assert.match(lines[0]!, /^Stripe signing +key +version 1 +updated \d+[sm] ago +expires in (39|40)d$/);
    assert.match(lines[1]!, /^stripe_webhook +secret +version 1 +updated \d+[sm] ago +does not expire$/);
    assert.equal(lines.length, 3);
    const json = JSON.parse(succeeds(await tool.admin(['list', '-l', '--vault', 'Billing', '--json'])));
    assert.deepEqual(
      json.map(({ type, name }: { type: string; name: string }) => `${type} ${name}`),
      ['key Stripe signing', 'secret stripe_webhook'],
    );
    assert.doesNotMatch(JSON.stringify(json), /whsec|PRIVATE/);
    fails(await tool.run(['list', '-l']), 2, /STRONGROOM_API_KEY is required/);
  });
});

describe('find', () => {
  const found = async (...args: string[]) =>
    succeeds(await tool.admin(['find', ...args]))
      .split('\n')
      .filter(Boolean)
      .map(line => line.split(/ {2,}/));

  it('searches names in every vault, whatever their case', async () => {
    assert.deepEqual(await found('stripe'), [
      ['Billing', 'Stripe signing', 'key', 'team=payments'],
      ['Billing', 'stripe_webhook', 'secret', 'team=payments tier=a'],
      ['app', 'STRIPE_KEY', 'secret'],
    ]);
    assert.deepEqual(await found('stripe', 'SIGN'), [['Billing', 'Stripe signing', 'key', 'team=payments']]);
    assert.deepEqual(await found('stripe', '--type', 'key'), [
      ['Billing', 'Stripe signing', 'key', 'team=payments'],
    ]);
    assert.deepEqual(await found('nothing at all'), []);
  });

  it('searches tags, all of those that are given', async () => {
    assert.equal((await found('team=payments')).length, 2);
    assert.equal((await found('--tag', 'team=payments', '--tag', 'tier=a')).length, 1);
    assert.deepEqual((await found('sign', 'team=payments'))[0]![1], 'Stripe signing');
    const json = JSON.parse(succeeds(await tool.admin(['find', 'tier=a', '--json'])));
    assert.deepEqual([json[0].name, json[0].vault, json[0].vault_id], ['stripe_webhook', 'Billing', otherId]);
    assert.doesNotMatch(JSON.stringify(json), /whsec/);
  });

  it('needs something to search for, and shows an API key what it may see and nothing else', async () => {
    fails(await tool.admin(['find']), 2, /a part of a name is required/);
    fails(await tool.admin(['find', '--tag', 'x']), 2, /--tag must be of the form/);
    const words = (count: number) => Array<string>(count).fill('stripe');
    assert.equal((await found(...words(20))).length, 3);
    fails(await tool.admin(['find', ...words(21)]), 2, /takes at most 20 arguments/);
    const limited = async (more: object) =>
      (await tool.service.call('POST', '/v1/api-keys', { name: 'limited', role: 'viewer', ...more })).body
        .token;
    const oneVault = await limited({ vault_ids: [tool.vaultId] });
    const env = { STRONGROOM_API_KEY: oneVault };
    assert.equal(succeeds(await tool.admin(['find', 'stripe'], { env })), 'app  STRIPE_KEY  secret\n');
    const secretsOnly = { STRONGROOM_API_KEY: await limited({ scopes: ['secrets:read'] }) };
    const shown = succeeds(await tool.admin(['find', 'stripe'], { env: secretsOnly }));
    assert.deepEqual([shown.includes('stripe_webhook'), shown.includes('signing')], [true, false]);
    const none = { STRONGROOM_API_KEY: await limited({ scopes: ['organization:read'] }) };
    fails(await tool.admin(['find', 'stripe'], { env: none }), 1, /not allowed/);
  });
});

describe('readers and log', () => {
  before(async () => {
    assert.equal((await tool.run(['get', 'STRIPE_KEY'])).code, 0);
    assert.equal((await tool.run(['get', 'UNKNOWN'])).code, 1);
    assert.equal((await tool.admin(['get', 'STRIPE_KEY', ...inApp])).code, 0);
  });

  it('readers prints who has read a version, and how often', async () => {
    const shown = succeeds(await tool.admin(['readers', 'STRIPE_KEY', ...inApp]));
    assert.match(shown, /^tool +access key +\d+ reads? +last 20\S+Z +\S+$/m);
    assert.match(shown, /^\S.* +api key +1 read +/m);
    assert.doesNotMatch(shown, /sk_live/);
    const json = JSON.parse(succeeds(await tool.admin(['readers', 'STRIPE_KEY', '1', ...inApp, '--json'])));
    assert.equal(json.version, 1);
    fails(await tool.admin(['readers', 'STRIPE_KEY', 'x', ...inApp]), 2, /the version must be a number/);
    fails(await tool.admin(['readers', 'NONE', ...inApp]), 1, /no active secret "NONE"/);
    const none = await tool.admin(['readers', 'stripe_webhook', '--vault', 'Billing']);
    assert.deepEqual([none.code, none.stdout], [0, '']);
    assert.match(none.stderr, /nobody has read version 1/);
  });

  it('log prints the newest requests with names, and filters them', async () => {
    const rows = async (...args: string[]) =>
      succeeds(await tool.admin(['log', ...args]))
        .split('\n')
        .filter(Boolean);
    const all = await rows();
    assert.ok(
      all.some(line => / 200 +app +tool +/.test(line)),
      all.join('\n'),
    );
    assert.ok(
      all.some(line => / 404 +app +tool +.*not found/.test(line)),
      all.join('\n'),
    );
    assert.ok(all.every((line, at) => at === 0 || line.slice(0, 24) <= all[at - 1]!.slice(0, 24)));
    assert.equal((await rows('--limit', '1')).length, 1);
    assert.ok((await rows('--status', '404')).every(line => / 404 /.test(line)));
    assert.ok((await rows(...inApp, '--by', 'tool')).length > 0);
    assert.equal((await rows('--vault', 'Billing')).length, 0);
    assert.ok((await rows('--vault', 'Billing', '--all-vaults')).length > 0);
    assert.equal((await rows('--until', '1h')).length, 0);
    assert.equal((await rows('--since', '2099-01-01')).length, 0);
    assert.ok((await rows('--since', '1h', '--address', '127.0.0.1')).length > 0);
    assert.equal((await rows('--address', '192.0.2.1')).length, 0);
    const [first] = JSON.parse(succeeds(await tool.admin(['log', '--json', '--limit', '1'])));
    assert.equal(first.resource_type, 'vault');
    fails(await tool.admin(['log', '--by', 'none']), 1, /there is no access key "none"/);
    fails(await tool.run(['log']), 2, /STRONGROOM_API_KEY is required/);
  });

  it('log stream is still the operator’s command', async () => {
    const { stdout } = await tool.run(['log', 'stream', '--help']);
    assert.match(stdout, /Usage: strongroom log stream/);
    assert.match((await tool.run(['log', '--help'])).stdout, /Usage: strongroom log \[flags\]/);
  });
});
