/**
 * Breaking the glass: an owner who lost their second factor, and is the only one, comes back through the command line of
 * the server and by no other way.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { onEngines } from './at-once.ts';
import { run } from './command.ts';
import type { Json } from './document.ts';
import { eventually } from './harness.ts';
import {
  type Browser,
  type EmptyService,
  fromBase32,
  invite,
  password,
  setUp,
  startEmpty,
} from './people.ts';

const email = 'owner@example.org';
const another = 'another horse battery staple';

onEngines('an owner who is locked out', engine => {
  let service: EmptyService;
  let owner: Browser;

  before(async () => {
    service = await startEmpty(engine);
    owner = await setUp(service, email);
    await owner.prove({ password });
    const { secret } = (await owner.post('/auth/totp/begin')).body;
    const code = codeAt(fromBase32(secret), stepAt(service.clock.now()));
    const begun = await owner.post('/auth/totp', { code });
    assert.equal(begun.status, 200, begun.text);
  });
  after(() => service.stop());

  const reset = (...more: string[]) => run(['owner', 'reset', ...service.place, ...more]);

  it('is let in again by whoever has the data and the root key, once, with nothing that they had before', async () => {
    const signIn = await service.browser().signIn(email);
    assert.equal(signIn.body.error.code, 'SECOND_FACTOR_REQUIRED', 'the password alone is not enough');
    const { browser: admin, id: adminId } = await invite(service, owner, 'admin@example.org', 'admin');
    const ownerId = (await admin.get('/v1/members?q=owner')).body.data[0].id;
    assert.equal((await admin.post(`/v1/members/${ownerId}/invitation`)).status, 403);
    assert.equal((await owner.post(`/v1/members/${ownerId}/invitation`)).status, 403);

    const { code, stdout, stderr } = await reset('--email', email, '--url', 'https://vault.example.org/');
    assert.equal(code, 0, stderr);
    const [, token] = /^https:\/\/vault\.example\.org\/invite#(sr_invite_\w+)\n$/.exec(stdout) ?? [];
    assert.ok(token !== undefined && stderr === '', 'one link, and nothing else');
    await eventually(
      'the owner’s session is ended',
      async () => (await owner.get('/auth/sessions')).status === 401,
    );
    assert.equal((await service.browser().signIn(email)).status, 401, 'nor the password, any more');

    const browser = service.browser();
    const accept = { token, password: another };
    assert.equal((await browser.post('/auth/invitation/accept', accept)).status, 200);
    assert.equal((await service.browser().post('/auth/invitation/accept', accept)).status, 401, 'once');
    const { signed_in } = (await browser.get('/auth/state')).body;
    assert.deepEqual([signed_in.member.role, signed_in.second_factor], ['owner', false]);
    const { data } = (await browser.get(`/v1/audit-logs?subject_id=${ownerId}`)).body;
    const entry = data.find((one: Json) => one.action === 'member.recovered');
    assert.deepEqual([entry.actor.kind, entry.outcome], ['operator', 'allowed']);

    for (const [wrong, what] of [
      ['admin@example.org', /not an owner/],
      ['nobody@example.org', /no member/],
    ] as const) {
      const refused = await reset('--email', wrong);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, what);
      assert.equal(refused.stdout, '');
    }
    assert.equal((await browser.get(`/v1/members/${adminId}`)).body.state, 'active');
  });
});
