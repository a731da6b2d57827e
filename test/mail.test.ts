/** Mail: who is told of what, as each person chose it, through a real mail server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { connectionTo, type Mail, mailSenderTo } from '../src/egress/smtp.ts';
import { letterOf } from '../src/events/mail/letters.ts';
import { onBothEngines } from './at-once.ts';
import { unique } from './document.ts';
import { loopbackWebhooks, type Service, startService } from './harness.ts';
import { type MailServer, type Received, startMailServer } from './mail-server.ts';
import { Browser, password } from './people.ts';
import { until } from './receiver.ts';
import { inDatabase } from './storage.ts';

const day = 24 * 3_600_000;
const dashboard = 'https://vault.example.com';
const from = 'Strongroom <vault@example.com>';

onBothEngines('mail', engine => {
  let service: Service;
  let server: MailServer;
  let vaultId: string;
  let editor: Browser;
  let seen = 0;

  before(async () => {
    server = await startMailServer();
    service = await startService({
      engine,
      flags: [
        ...loopbackWebhooks,
        ...['--smtp-url', `smtp://127.0.0.1:${server.port}`, '--mail-from', from],
        ...['--public-url', dashboard],
      ],
    });
    vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
  });
  after(async () => {
    await service.stop();
    await server.close();
  });

  /** The mails since the last time, once there are as many. */
  async function next(count = 1): Promise<readonly Received[]> {
    const all = await server.received(seen + count);
    const fresh = all.slice(seen, seen + count);
    seen += count;
    return fresh;
  }

  const invite = (email: string, role: string) => service.call('POST', '/v1/members', { email, role });
  const tokenIn = ({ text }: Received) => /\/invite#(sr_invite_\S+)/.exec(text)![1]!;

  async function join(email: string, role: string): Promise<Browser> {
    const answer = await invite(email, role);
    assert.equal(answer.status, 200, answer.text);
    const [mail] = await next();
    const browser = new Browser(service.url);
    const joined = await browser.post('/auth/invitation/accept', { token: tokenIn(mail!), password });
    assert.equal(joined.status, 200, joined.text);
    return browser;
  }

  const choose = async (browser: Browser, choices: object) =>
    assert.equal((await browser.call('PUT', '/auth/mail', choices)).status, 200);

  async function expiring(name: string, days = 5) {
    const expiration_date = new Date(service.clock.now() + days * day).toISOString();
    const body = { vault_id: vaultId, name, value: 'the value that no mail contains', expiration_date };
    assert.equal((await service.call('POST', '/v1/secrets', body)).status, 200);
  }

  const waiting = async () =>
    (await inDatabase(service, 'SELECT count(*) AS n FROM mails')).map(row => Number(row.n))[0]!;

  it('an invitation is sent to the person, with a link that lets them join', async () => {
    const email = `${unique('ada')}@example.com`.toLowerCase();
    const { body } = await invite(email, 'viewer');
    assert.equal(body.mailed, true);
    const [mail] = await next();
    assert.equal(mail!.to, email);
    assert.equal(mail!.from, 'vault@example.com');
    assert.match(mail!.headers.get('subject')!, /^Invitation to Strongroom/);
    assert.equal(mail!.headers.get('auto-submitted'), 'auto-generated');
    assert.match(mail!.text, /^https:\/\/vault\.example\.com\/invite#sr_invite_/m);
    assert.equal(tokenIn(mail!), body.token);
    const joined = await new Browser(service.url).post('/auth/invitation/accept', {
      token: tokenIn(mail!),
      password,
    });
    assert.equal(joined.status, 200);
    await until(async () => (await waiting()) === 0);
  });

  it('those who may change what expires are told, immediately if they chose so, and no one else', async () => {
    editor = await join('editor@example.com', 'editor');
    const viewer = await join('viewer@example.com', 'viewer');
    await choose(editor, { expiry: 'immediately' });
    await choose(viewer, { expiry: 'immediately' });
    await expiring('DATABASE_URL');
    const [mail] = await next();
    assert.equal(mail!.to, 'editor@example.com');
    assert.match(mail!.text, /The secret “DATABASE_URL” expires soon\.\nVault: production\n/);
    assert.ok(mail!.text.includes(`${dashboard}/vaults/${vaultId}`));
    assert.ok(!mail!.raw.includes('the value that'));
    await choose(editor, { expiry: 'off' });
    await expiring('UNTOLD');
    await choose(editor, { expiry: 'immediately' });
    await expiring('TOLD');
    assert.match((await next())[0]!.text, /“TOLD”/);
  });

  it('a day’s messages come as one mail', async () => {
    const person = await join('daily@example.com', 'editor');
    await choose(editor, { expiry: 'off' });
    await choose(person, { expiry: 'daily' });
    await expiring('ONE');
    await expiring('TWO');
    await until(async () => (await waiting()) === 2);
    service.clock.pass(day);
    const [mail] = await next();
    assert.equal(mail!.to, 'daily@example.com');
    assert.match(mail!.headers.get('subject')!, /^\d+ messages/);
    assert.ok(mail!.text.includes('“ONE”') && mail!.text.includes('“TWO”'));
  });

  /** From one of this machine's own addresses, which belong to different networks. */
  async function signIn(email: string, localAddress: string): Promise<void> {
    const url = new URL('/auth/password', service.url);
    const headers = {
      'content-type': 'application/json',
      origin: service.url,
      'sec-fetch-site': 'same-origin',
    };
    const sent = request(url, { method: 'POST', headers, localAddress });
    sent.end(JSON.stringify({ email, password }));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    assert.equal(answer.statusCode, 200);
  }

  it('a sign-in from a new network is told, a second one from there is not', async () => {
    const browser = await join('grace@example.com', 'viewer');
    await signIn('grace@example.com', '127.0.3.7');
    const [mail] = await next();
    assert.equal(mail!.to, 'grace@example.com');
    assert.match(mail!.text, /signed in as you from 127\.0\.3\.7 at \d{4}-/);
    await until(async () => (await waiting()) === 0);
    await signIn('grace@example.com', '127.0.3.99');
    assert.equal(await waiting(), 0);
    await choose(browser, { sign_in: 'off' });
    await signIn('grace@example.com', '127.0.4.1');
    assert.equal(await waiting(), 0);
  });

  it('choices are the person’s own, have defaults, and are refused if they are none', async () => {
    const browser = await join('choices@example.com', 'viewer');
    const { body } = await browser.call('GET', '/auth/mail');
    assert.deepEqual(body, {
      enabled: true,
      expiry: 'daily',
      approvals: 'immediately',
      sign_in: 'immediately',
    });
    const wrong = await browser.call('PUT', '/auth/mail', { sign_in: 'daily' });
    assert.deepEqual([wrong.status, wrong.body.error.details.field], [400, 'sign_in']);
    assert.equal((await service.call('GET', '/auth/mail')).status, 401);
    await choose(browser, { approvals: 'off' });
    assert.equal((await browser.call('GET', '/auth/mail')).body.approvals, 'off');
  });

  it('a mail that can’t be sent is tried again, and one that is refused for good is dropped', async () => {
    server.refuse = () => Object.assign(new Error('busy'), { responseCode: 451 });
    await invite('later@example.com', 'viewer');
    await until(() => service.reports.some(line => line.includes('will be tried again')));
    assert.ok(!service.reports.join('\n').includes('later@example.com'));
    server.refuse = () => null;
    service.clock.pass(2 * 60_000);
    assert.equal((await next())[0]!.to, 'later@example.com');
    server.refuse = () => Object.assign(new Error('no such user'), { responseCode: 550 });
    await invite('nowhere@example.com', 'viewer');
    await until(() => service.reports.some(line => line.includes('a mail was dropped')));
    server.refuse = () => null;
    await until(async () => (await waiting()) === 0);
  });

  it('a member has at most 200 mails waiting', async () => {
    server.refuse = () => Object.assign(new Error('busy'), { responseCode: 451 });
    const { body } = await invite('flooded@example.com', 'viewer');
    await until(async () => (await waiting()) === 1);
    for (let more = 0; more < 200; more++) await service.call('POST', `/v1/members/${body.id}/invitation`);
    assert.equal(await waiting(), 200);
    await service.call('DELETE', `/v1/members/${body.id}`);
    assert.equal(await waiting(), 0);
    server.refuse = () => null;
  });

  it('a member who was removed before it was sent gets nothing', async () => {
    server.refuse = () => Object.assign(new Error('busy'), { responseCode: 451 });
    const before = service.reports.length;
    const { body } = await invite('gone@example.com', 'viewer');
    await until(() => service.reports.slice(before).some(line => line.includes('tried again')));
    await service.call('DELETE', `/v1/members/${body.id}`);
    server.refuse = () => null;
    assert.equal(await waiting(), 0);
  });
});

describe('a letter', () => {
  const hostile = 'x\r\nBcc: all@example.com\u202E https://evil.example';
  const event = (name: string) => ({
    address: 'a@example.com',
    organization: hostile,
    vaultName: hostile,
    note: {
      kind: 'event',
      payload: JSON.stringify({
        type: 'resource.expired',
        timestamp: '2026-11-15T09:30:00.000Z',
        data: { id: 'x', type: 'secret', name, vault_id: 'v' },
      }),
    } as const,
  });

  it('has no line and no header from a name', () => {
    const { subject, text } = letterOf([event(hostile)], dashboard);
    for (const part of [subject, ...text.split('\n')]) {
      assert.ok(!/^Bcc:/i.test(part) && !/[\r\n\u202E]/.test(part), part);
    }
    assert.ok(!text.includes('https://evil'));
  });

  it('arrives with the headers that it was given, whatever its subject', async t => {
    const server = await startMailServer();
    const sender = mailSenderTo({
      url: `smtp://127.0.0.1:${server.port}`,
      password: null,
      from,
      mayBePlain: false,
    });
    t.after(async () => {
      sender.close();
      await server.close();
    });
    const mail: Mail = { id: 'one', to: 'a@example.com', subject: hostile, text: 'text' };
    assert.equal((await sender.send(mail)).outcome, 'sent');
    assert.equal(server.mails[0]!.headers.has('bcc'), false);
    assert.equal(server.mails[0]!.headers.get('message-id'), '<one@example.com>');
    assert.equal(server.mails.length, 1);
  });
});

describe('the connection to a mail server', () => {
  const settings = { password: 'secret', from, mayBePlain: false };

  it('must be encrypted, except on this machine or if plain text is allowed', () => {
    const required = (url: string, mayBePlain = false) => {
      const { secure, requireTLS, tls } = connectionTo({ ...settings, url, mayBePlain });
      assert.equal(tls.rejectUnauthorized, true);
      return [secure, requireTLS];
    };
    assert.deepEqual(required('smtp://mail.example.com'), [false, true]);
    assert.deepEqual(required('smtps://mail.example.com'), [true, false]);
    assert.deepEqual(required('smtp://127.0.0.1'), [false, false]);
    assert.deepEqual(required('smtp://mail.example.com', true), [false, false]);
    assert.equal(connectionTo({ ...settings, url: 'smtp://mail.example.com' }).port, 587);
    assert.equal(connectionTo({ ...settings, url: 'smtps://mail.example.com' }).port, 465);
  });

  it('signs in with the user of the address and the password', async t => {
    const server = await startMailServer({ authMethods: ['PLAIN'], authOptional: false });
    const url = `smtp://vault%40example.com@127.0.0.1:${server.port}`;
    const sender = mailSenderTo({ ...settings, url });
    t.after(async () => {
      sender.close();
      await server.close();
    });
    const mail: Mail = { id: 'one', to: 'a@example.com', subject: 's', text: 't' };
    assert.equal((await sender.send(mail)).outcome, 'sent');
    assert.deepEqual(server.users, ['vault@example.com secret']);
  });

  it('a certificate that no one vouches for is refused, and nothing is sent', async t => {
    const server = await startMailServer({ secure: true });
    const sender = mailSenderTo({ ...settings, url: `smtps://127.0.0.1:${server.port}` });
    t.after(async () => {
      sender.close();
      await server.close();
    });
    const { outcome, reason } = await sender.send({
      id: 'one',
      to: 'a@example.com',
      subject: 's',
      text: 't',
    });
    assert.equal(outcome, 'failed');
    assert.ok(!reason.includes('secret') && !reason.includes('a@example.com'), reason);
    assert.equal(server.mails.length, 0);
  });
});
