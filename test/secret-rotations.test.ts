/** Secrets that get new values by a plan: when, from where, who may set it, and what a failure leaves in place. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { onBothEngines } from './at-once.ts';
import { unique } from './document.ts';
import { callService, eventually } from './harness.ts';
import { day, type RotationWorld, startRotations } from './rotations-world.ts';

onBothEngines('rotation of secrets', engine => {
  let world: RotationWorld;
  before(async () => {
    world = await startRotations(engine, true);
  });
  after(() => world.close());

  const random = { every: '30d', by: { kind: 'random', length: 24 } };
  const actions = async (of: string) =>
    (await world.ok('GET', '/v1/audit-logs?limit=100')).data
      .filter((entry: { details: { secret_id?: string }; subject: { id: string } | null }) =>
        [entry.subject?.id, entry.details?.secret_id].includes(of),
      )
      .map(({ action }: { action: string }) => action)
      .reverse();
  const works = async (url: string) => {
    const client = new pg.Client(url);
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query('SELECT count(*)::int AS n FROM public.orders')).rows[0].n > 0;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  };

  it('shows its plan, and when it rotates next', async () => {
    const asked = world.service.clock.now();
    const made = await world.secret({ rotation: random });
    assert.deepEqual(made.rotation, { every: '30d', overlap: '0', by: { kind: 'random', length: 24 } });
    const next = Date.parse(made.next_rotation_at) - 30 * day;
    assert.ok(next >= asked && next <= world.service.clock.now());
    const again = await world.ok(
      'PUT',
      `/v1/secrets/${made.id}`,
      await world.ok('GET', `/v1/secrets/${made.id}`),
    );
    assert.equal(again.next_rotation_at, made.next_rotation_at, 'the same plan is no change');
    const { data } = await world.ok('GET', `/v1/rotations?vault_id=${world.vaultId}`);
    const [found] = data.filter((one: { secret_id: string }) => one.secret_id === made.id);
    assert.deepEqual(
      [found.name, found.kind, found.state, found.rotated_at],
      [made.name, 'random', 'waiting', null],
    );
    const none = await world.ok('PUT', `/v1/secrets/${made.id}`, { rotation: null });
    assert.deepEqual([none.rotation, none.next_rotation_at], [null, null]);
    assert.equal((await world.rotate(made.id)).status, 400);
  });

  it('rotates when it is due, with a new version, its events and its history, and again after that', async () => {
    const made = await world.secret({
      rotation: { every: '1h', by: { kind: 'random', alphabet: 'abcdefghij' } },
    });
    const version = async () => (await world.ok('GET', `/v1/secrets/${made.id}`)).version;
    await world.until('it is rotated', 3_601_000, async () => (await version()) === 2);
    assert.match(await world.value(made.id), /^[a-j]{32}$/);
    const first = await world.value(made.id);
    await world.until('it is rotated again', 3_601_000, async () => (await version()) === 3);
    assert.notEqual(await world.value(made.id), first);
    await eventually('they are over', async () =>
      (await world.history(made.id)).every(one => one === 'done'),
    );
    const { data } = await world.ok('GET', `/v1/secrets/${made.id}/versions`);
    assert.equal(data[0].created_by, 'rotations');
    const changes = (await actions(made.id)).filter((one: string) => one !== 'secret.revealed');
    assert.deepEqual(changes.slice(0, 6), [
      'secret.created',
      'rotation.started',
      'rotation.prepared',
      'secret.rotated',
      'secret.rotated',
      'rotation.ended',
    ]);
    await world.ok('PUT', `/v1/secrets/${made.id}`, { rotation: null });
  });

  it('is read with its new value at once, by an access key and through a template', async () => {
    const made = await world.secret({ rotation: random });
    const template = await world.secret({ kind: 'template', value: `<\${${made.name}}>` });
    const { token } = await world.ok('POST', '/v1/access-keys', {
      vault_id: world.vaultId,
      name: unique('k'),
    });
    const read = async (name: string) =>
      (await callService(world.service.url, 'GET', `/api/v1/vaults/self?name=${name}`, undefined, token))
        .body;
    const before = await read(made.name);
    const answer = await world.rotate(made.id);
    assert.deepEqual([answer.status, answer.body.version], [200, 2], answer.text);
    const now = await world.value(made.id);
    assert.ok(!answer.text.includes(now));
    assert.notDeepEqual(await read(made.name), before);
    assert.ok(JSON.stringify(await read(template.name)).includes(now));
  });

  it('two users of a database take turns, and the previous one works until the overlap ends', async () => {
    const { names, url } = await world.users();
    const by = { kind: 'postgresql', issuer_id: world.issuerId, usernames: names };
    const made = await world.secret({ value: url, rotation: { every: '30d', overlap: '1d', by } });
    assert.ok(await works(url));
    assert.equal((await world.rotate(made.id)).status, 200);
    const second = await world.value(made.id);
    assert.equal(new URL(second).username, names[1]);
    assert.ok((await works(second)) && (await works(url)), 'both work');
    const early = await world.rotate(made.id);
    assert.deepEqual([early.status, early.body.error.code], [400, 'CONFLICT'], early.text);
    await world.until(
      'the overlap ends',
      day + 1_000,
      async () => (await world.history(made.id))[0] === 'done',
    );
    assert.ok((await works(second)) && !(await works(url)));
    assert.equal((await world.rotate(made.id)).status, 200);
    const third = await world.value(made.id);
    assert.equal(new URL(third).username, names[0]);
    assert.ok((await works(second)) && (await works(third)));
    assert.equal((await world.rotate(made.id, { end_previous: true })).status, 200);
    assert.ok(!(await works(second)), 'it was ended first, and its password is another one now');
    assert.ok((await works(await world.value(made.id))) && (await works(third)));
  });

  it('one user gets another password, and keeps the old one where the new one doesn’t work', async () => {
    const { names, url } = await world.users();
    const by = { kind: 'postgresql', issuer_id: world.issuerId, usernames: [names[0]] };
    const made = await world.secret({ value: url, rotation: { every: '30d', by } });
    assert.equal((await world.rotate(made.id)).status, 200);
    const next = await world.value(made.id);
    assert.ok((await works(next)) && !(await works(url)));
    await world.target.sql(`ALTER ROLE ${names[0]} CONNECTION LIMIT 0`);
    const refused = await world.rotate(made.id);
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'UNAVAILABLE'], refused.text);
    await world.target.sql(`ALTER ROLE ${names[0]} CONNECTION LIMIT -1`);
    assert.equal(await world.value(made.id), next);
    assert.ok(await works(next));
    await world.until('it is tried again', 31_000, async () => (await world.value(made.id)) !== next);
    assert.ok(await works(await world.value(made.id)));
  });

  it('refuses a database user who could do more than an ordinary one, and a value that leads elsewhere', async () => {
    const { names, url } = await world.users();
    const by = { kind: 'postgresql', issuer_id: world.issuerId, usernames: names };
    const made = await world.secret({ value: url, rotation: { every: '30d', by } });
    await world.target.sql(`ALTER ROLE ${names[1]} REPLICATION`);
    const refused = await world.rotate(made.id);
    assert.match(refused.body.error.message, /a superuser, or may create users, replicate/);
    await world.target.sql(`ALTER ROLE ${names[1]} NOREPLICATION`);
    const elsewhere = new URL(url);
    elsewhere.hostname = 'db.evil.example';
    await world.ok('PUT', `/v1/secrets/${made.id}`, { value: elsewhere.href });
    const led = await world.rotate(made.id);
    assert.match(led.body.error.message, /leads to another server/, led.text);
    const own = await world.secret({
      value: world.target.url,
      rotation: { every: '30d', by: { ...by, usernames: [world.target.admin] } },
    });
    assert.match((await world.rotate(own.id)).body.error.message, /the user is the one of the issuer/);
  });

  it('creates a value by a call, tries it, and deletes the previous one once the overlap has ended', async () => {
    const { keys } = world;
    const { id } = await world.apiKey();
    const first = await world.value(id);
    assert.equal((await world.rotate(id)).status, 200);
    const second = await world.value(id);
    assert.ok([first, second].every(one => [...keys.keys.values()].includes(one)));
    await world.until('the first is over', day + 1_000, async () => (await world.history(id))[0] === 'done');
    assert.ok([...keys.keys.values()].includes(first), 'nobody knows the id of one that no rotation created');
    assert.equal((await world.rotate(id)).status, 200);
    await world.until(
      'the second is deleted',
      day + 1_000,
      async () => ![...keys.keys.values()].includes(second),
    );
    assert.ok([...keys.keys.values()].includes(await world.value(id)));
  });

  it('leaves the working value in place when a step fails, tells it, and goes on when it can', async () => {
    const { keys } = world;
    const { id } = await world.apiKey();
    const first = await world.value(id);
    keys.refuse(what => (what === 'GET /me' ? 500 : null));
    const created = keys.asked.filter(one => one === 'POST /keys').length;
    const answer = await world.rotate(id);
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'UNAVAILABLE']);
    assert.match(answer.body.error.message, /refused with 500/);
    assert.equal(await world.value(id), first);
    const { data } = await world.ok('GET', '/v1/rotations?state=failing');
    const [failing] = data.filter((one: { secret_id: string }) => one.secret_id === id);
    assert.match(failing.reason, /refused with 500/);
    assert.notEqual(failing.failing_since, null);
    const { matters } = await world.ok('GET', '/v1/attention');
    const shown = matters.filter((one: { kind: string }) => one.kind === 'rotation_failing');
    assert.ok(shown.some((one: { subject: { id: string } }) => one.subject.id === id));
    keys.refuse(null);
    await world.until('it goes on', 31_000, async () => (await world.value(id)) !== first);
    assert.equal(keys.asked.filter(one => one === 'POST /keys').length, created + 1, 'created once');
    const { data: left } = await world.ok('GET', '/v1/rotations?state=failing');
    assert.ok(left.every((one: { secret_id: string }) => one.secret_id !== id));
  });

  it('takes away what it created if someone writes another value first', async () => {
    const { keys } = world;
    const { id } = await world.apiKey();
    keys.refuse(what => (what === 'GET /me' ? 403 : null));
    await world.rotate(id);
    keys.refuse(null);
    const made = [...keys.keys.entries()].at(-1)!;
    const own = keys.add().key;
    await world.ok('PUT', `/v1/secrets/${id}`, { value: own });
    await world.until('it is abandoned', 31_000, async () => (await world.history(id)).includes('abandoned'));
    assert.ok(!keys.keys.has(made[0]));
    assert.equal(await world.value(id), own);
  });

  it('waits for the confirmation of a new random value', async () => {
    const { id } = await world.secret({ value: world.keys.add().key });
    const { id: rule } = await world.ok('POST', '/v1/use-rules', {
      secret_id: id,
      name: unique('confirm'),
      hosts: [world.keys.host],
      methods: ['GET'],
      paths: ['/me'],
      place: { type: 'bearer' },
    });
    const confirm = { rule, method: 'GET', url: `${world.keys.host}/me` };
    await world.ok('PUT', `/v1/secrets/${id}`, {
      rotation: { every: '1d', by: { kind: 'random', confirm } },
    });
    const before = await world.value(id);
    assert.match((await world.rotate(id)).body.error.message, /refused with 401/);
    assert.equal(await world.value(id), before);
    world.keys.refuse(() => 204);
    await world.until('it is confirmed', 31_000, async () => (await world.value(id)) !== before);
    world.keys.refuse(null);
  });

  it('only lets those set a plan who could read what it obtains', async () => {
    const { id } = await world.secret({});
    const { token: writer } = await world.ok('POST', '/v1/api-keys', { name: unique('w'), role: 'writer' });
    const { token: viewer } = await world.ok('POST', '/v1/api-keys', { name: unique('v'), role: 'viewer' });
    const set = (key: string, rotation: object | null) =>
      world.service.call('PUT', `/v1/secrets/${id}`, { rotation }, key);
    const { names } = await world.users();
    const by = { kind: 'postgresql', issuer_id: world.issuerId, usernames: names };
    const refused = await set(writer, { every: '1d', by });
    assert.deepEqual([refused.status, /secrets:reveal/.test(refused.text)], [403, true], refused.text);
    assert.equal((await set(viewer, random)).status, 403);
    assert.equal((await set(writer, random)).status, 200);
    assert.equal(
      (await world.service.call('POST', `/v1/secrets/${id}/rotate`, undefined, viewer)).status,
      403,
    );
    assert.equal(
      (await world.service.call('POST', `/v1/secrets/${id}/rotate`, undefined, writer)).status,
      200,
    );
    const elsewhere = await world.ok('POST', '/v1/vaults', { name: unique('other') });
    const foreign = await world.ok('POST', '/v1/issuers', {
      vault_id: elsewhere.id,
      name: 'foreign',
      provider: 'postgresql',
      connection: { url: 'postgres://a:b@127.0.0.1:2/x' },
      template: { member_of: ['x'] },
    });
    const wrong = await world.service.call('PUT', `/v1/secrets/${id}`, {
      rotation: { every: '1d', by: { ...by, issuer_id: foreign.id } },
    });
    assert.deepEqual([wrong.status, wrong.body.error.details.field], [400, 'rotation']);
  });

  it('refuses plans that are unsound, and calls that their rule refuses', async () => {
    const { id, rule } = await world.apiKey();
    const bad: object[] = [
      { every: '59m', by: random.by },
      { every: '0h', by: random.by },
      { every: '1096d', by: random.by },
      { every: '1d', overlap: '1d', by: random.by },
      { every: '1d', overlap: '-1h', by: random.by },
      { every: '1d', by: { kind: 'other' } },
      { every: '1d', by: { kind: 'random', alphabet: 'aaaaaaaaaaaa' } },
      { every: '1d', by: { kind: 'postgresql', issuer_id: world.issuerId, usernames: ['a', 'a'] } },
      { every: '9d', overlap: '1d', by: { kind: 'postgresql', issuer_id: world.issuerId, usernames: ['a'] } },
      { every: '1d', by: { kind: 'http', create: { rule, url: `${world.keys.host}/other`, value: '/key' } } },
      {
        every: '1d',
        by: { kind: 'http', create: { rule, url: 'https://evil.example/keys', value: '/key' } },
      },
      {
        every: '1d',
        by: { kind: 'http', create: { rule: id, url: `${world.keys.host}/keys`, value: '/key' } },
      },
    ];
    for (const rotation of bad) {
      const answer = await world.service.call('PUT', `/v1/secrets/${id}`, { rotation });
      assert.deepEqual(
        [answer.status, answer.body.error.code],
        [400, 'INVALID_REQUEST'],
        JSON.stringify(rotation),
      );
      assert.match(answer.body.error.details.field, /^rotation/);
    }
    const template = await world.service.call('POST', '/v1/secrets', {
      vault_id: world.vaultId,
      name: unique('T'),
      kind: 'template',
      value: 'x',
      rotation: random,
    });
    assert.equal(template.status, 400, template.text);
  });

  it('in a vault with review the plan is reviewed, with the rules as they were', async () => {
    const { id: vault_id } = await world.ok('POST', '/v1/vaults', { name: unique('reviewed') });
    const made = await world.secret({ vault_id });
    await world.ok('PUT', `/v1/vaults/${vault_id}`, { review: true });
    const proposed = await world.service.call('PUT', `/v1/secrets/${made.id}`, { rotation: random });
    assert.equal(proposed.status, 202, proposed.text);
    const { id } = proposed.body.proposal;
    const { changes } = await world.ok('GET', `/v1/proposals/${id}`);
    assert.deepEqual(
      changes[0].difference.map(({ field }: { field: string }) => field),
      ['rotation'],
    );
    const confirmed = await world.service.call(
      'POST',
      `/v1/proposals/${id}/confirm?bypass=true&reason=alone`,
    );
    assert.equal(confirmed.status, 200, confirmed.text);
    const rotated = await world.rotate(made.id);
    assert.deepEqual([rotated.status, rotated.body.version], [200, 2], rotated.text);
  });

  it('no value is in a log, an event or a report', async () => {
    const { data: audits } = await world.ok('GET', '/v1/audit-logs?limit=100');
    const { data } = await world.ok('GET', `/v1/rotations?limit=100`);
    assert.ok(data.length > 5);
    const text = JSON.stringify([audits, data, world.service.reports]);
    for (const { secret_id } of data) assert.ok(!text.includes(await world.value(secret_id)));
    for (const key of world.keys.keys.values()) assert.ok(!text.includes(key));
  });
});
