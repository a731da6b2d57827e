/** Every way of taking something from someone, done for real; and whether what was taken works at a service. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { once } from '../src/base/memo.ts';
import type { ActionThat } from '../src/contract/audit-actions.ts';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { AcmeClient } from './acme-client.ts';
import { Authenticator } from './authenticator.ts';
import { authorityBody, profileBody } from './authorities-world.ts';
import { run } from './command.ts';
import { type Answer, callService } from './harness.ts';
import { issuerBody, startTarget } from './leases-world.ts';
import { refresh, signedIn } from './oauth-world.ts';
import { Browser, type EmptyService, fromBase32, invite, password } from './people.ts';
import { startReceiver, until } from './receiver.ts';
import { startUpstream } from './uses-world.ts';

type Withdrawing = ActionThat<'regrants' | 'spends' | 'revokes' | 'removes' | 'trashes'>;

export interface Prepared {
  readonly withdraw: () => Promise<unknown>;
  /** How a service answers to what was withdrawn: 200 where it works. */
  readonly asked?: (url: string) => Promise<number>;
  readonly close?: () => Promise<void>;
}

const newPassword = 'another horse battery staple';

export function withdrawalsIn(service: EmptyService, owner: Browser) {
  let number = 0;
  const unique = (name: string) => `${name}-${++number}`;
  async function ok(answer: Promise<Answer>) {
    const { status, text, body } = await answer;
    assert.equal(status, 200, text);
    return body;
  }
  const made = (path: string, body: unknown) => ok(owner.post(path, body));
  const put = (path: string, body: unknown) => ok(owner.call('PUT', path, body));
  const remove = (path: string) => ok(owner.call('DELETE', path));
  const command = async (args: readonly string[]) => {
    const { code, stderr } = await run([...args, ...service.place]);
    assert.equal(code, 0, stderr);
  };
  const asOwner = async (url: string, path: string) =>
    (await callService(url, 'GET', path, undefined, await apiKey)).status;
  const apiKey = made('/v1/api-keys', { name: 'asks', role: 'owner' }).then(({ token }) => token as string);

  const vault = () => made('/v1/vaults', { name: unique('vault') });
  const secret = async () =>
    made('/v1/secrets', {
      vault_id: (await vault()).id,
      name: unique('S'),
      value: 'correct-horse-battery-staple',
    });
  const key = async () => {
    const generate = { key_type: 'EC', curve: 'P-256' };
    return made('/v1/keys', { vault_id: (await vault()).id, name: unique('k'), generate });
  };
  const sshAuthority = async () => {
    const generate = { key_type: 'OKP', curve: 'Ed25519' };
    const said = { vault_id: (await vault()).id, name: unique('ca'), generate, exportable: false };
    const { id } = await made('/v1/keys', said);
    const ssh = { types: ['user'], principals: ['*'], max_valid_for: 60 };
    await put(`/v1/keys/${id}`, { ssh });
    return { id };
  };
  const certificate = async () => {
    const { id, vault_id } = await key();
    const self_signed = { subject: 'CN=example.org', days: 30 };
    return made('/v1/certificates', { vault_id, name: unique('c'), key_id: id, self_signed });
  };
  const accessKey = async (more = {}) => {
    const made_ = await made('/v1/access-keys', { vault_id: (await vault()).id, name: unique('a'), ...more });
    const asked = async (url: string) =>
      (await callService(url, 'GET', `/api/v1/vaults/${made_.vault_id}`, undefined, made_.token)).status;
    return { ...made_, asked };
  };
  const newApiKey = async () => {
    const { id, token } = await made('/v1/api-keys', { name: unique('api'), role: 'viewer' });
    const asked = async (url: string) =>
      (await callService(url, 'GET', '/v1/vaults', undefined, token)).status;
    return { id, asked };
  };
  const publicToken = async () => {
    const { id: key_id } = await key();
    const { id, token } = await made('/v1/public-tokens', { key_id, name: unique('p') });
    const asked = async (url: string) =>
      (await callService(url, 'GET', '/api/v1/public-key', undefined, token)).status;
    return { id, asked };
  };
  const identity = async () => {
    const { id } = await made('/v1/identities', {
      name: unique('machine'),
      method: 'secret_id',
      vault_ids: [(await vault()).id],
    });
    const secretId = await made('/v1/secret-ids', { identity_id: id, name: unique('sid'), max_uses: 3 });
    const asked = async (url: string) =>
      (
        await callService(
          url,
          'POST',
          '/api/v1/login',
          { identity_id: id, secret_id: secretId.token },
          null,
          {
            origin: url,
          },
        )
      ).status;
    return { id, secretId: secretId.id as string, asked };
  };
  const member = async (role = 'viewer') => {
    const email = `${unique('member')}@example.org`;
    const { browser, id } = await invite(service, owner, email, role);
    return { email, browser, id };
  };
  const rule = async (more = {}) => {
    const { id: secret_id, vault_id, name } = await secret();
    const given = { hosts: ['example.com'], methods: ['GET'], paths: ['/**'], approval: 'always', ...more };
    const { id } = await made('/v1/use-rules', { secret_id, name: unique('rule'), place: bearer, ...given });
    const agent = await made('/v1/access-keys', {
      vault_id,
      name: unique('agent'),
      names_only: true,
      may_use: true,
    });
    const use = (url: string) =>
      callService(service.url, 'POST', '/api/v1/vaults/self/use', { secret: name, url }, agent.token);
    return { id, use };
  };
  const startedRun = async (more: object = {}) => {
    const { id: ruleId } = await rule(more);
    const { vault_id, secret_id } = await ok(owner.get(`/v1/use-rules/${ruleId}`));
    const { name } = await ok(owner.get(`/v1/secrets/${secret_id}`));
    const { id, token } = await made('/v1/runs', { purpose: unique('run'), vault_ids: [vault_id] });
    const use = (url = 'https://example.com/', at = service.url) =>
      callService(at, 'POST', '/api/v1/vaults/self/use', { secret: name, url }, token);
    const asked = async (at: string) =>
      (await callService(at, 'GET', '/api/v1/vaults/self', undefined, token)).status;
    return { id: id as string, use, asked };
  };
  const approval = async () => {
    const { use } = await rule();
    const { body, text } = await use('https://example.com/');
    assert.ok(body.approval, text);
    return body.approval.id as string;
  };
  const proposal = async () => {
    const { id: vault_id } = await made('/v1/vaults', { name: unique('vault'), review: true });
    const { body } = await owner.post('/v1/secrets', { vault_id, name: unique('S'), value: 'x' });
    return { id: body.proposal.id as string, other: (await member('editor')).browser };
  };
  const target = once(async () => {
    const started = await startTarget();
    await started.close();
    return started;
  });
  const issuer = async () =>
    made('/v1/issuers', issuerBody((await vault()).id, unique('issuer'), await target()));
  const leased = async () => {
    const { id, vault_id, name } = await issuer();
    const { token } = await made('/v1/access-keys', { vault_id, name: unique('holder') });
    const issue = (url: string) => callService(url, 'POST', '/api/v1/vaults/self/leases', { name }, token);
    const lease = (await ok(issue(service.url))).lease.id as string;
    return {
      id: id as string,
      lease,
      asked: async (url: string) => (await issue(url)).status,
      renewed: async (url: string) =>
        (await callService(url, 'POST', `/v1/leases/${lease}/renew`, {}, await apiKey)).status,
    };
  };
  const authority = async () =>
    made('/v1/authorities', authorityBody((await vault()).id, unique('authority')));
  const profile = async () => made('/v1/profiles', profileBody((await authority()).id, unique('profile')));
  const issued = async () =>
    made(`/v1/profiles/${(await profile()).id}/issue`, { names: ['api.internal.example'] });
  const acmeClient = async () => {
    const { id, vault_id } = await made('/v1/profiles', {
      ...profileBody((await authority()).id, unique('acme')),
      acme: { enabled: true },
    });
    const { id: access_key_id } = await made('/v1/access-keys', { vault_id, name: unique('acme') });
    const binding = await made(`/v1/profiles/${id}/acme-binding`, { access_key_id });
    const client = await AcmeClient.at(service.url, id);
    await client.register(binding);
    return client;
  };
  const goneOf = (lease: string) =>
    until(async () => (await owner.get(`/v1/leases/${lease}`)).body.state === 'gone');
  const webhook = async (url = 'https://hooks.invalid/') =>
    (await made('/v1/webhooks', { name: unique('hook'), url, events: ['resource.created'] })).id as string;
  const cookieAsked = ({ cookies }: Browser) => {
    const kept = new Map(cookies);
    return async (url: string) => {
      const browser = new Browser(url);
      for (const [name, value] of kept) browser.cookies.set(name, value);
      return (await browser.get('/v1/vaults')).status;
    };
  };
  const codeOf = (seed: string) => codeAt(fromBase32(seed), stepAt(service.clock.now()));
  const withCodes = async () => {
    const { browser, email } = await member();
    await ok(browser.prove());
    const { secret: seed } = await ok(browser.post('/auth/totp/begin'));
    const { recovery_codes } = await ok(browser.post('/auth/totp', { code: codeOf(seed) }));
    return { browser, email, recovery: recovery_codes as string[] };
  };
  const withPasskey = async () => {
    const { browser } = await member();
    await ok(browser.prove());
    const site = service.url.replace('127.0.0.1', 'localhost');
    const there = new Browser(site);
    for (const [name, value] of browser.cookies) there.cookies.set(name, value);
    const options = await ok(there.post('/auth/passkeys/options'));
    const credential = new Authenticator(site).create(options);
    const { id } = await ok(there.post('/auth/passkeys', { name: 'Laptop', credential }));
    return () => ok(there.call('DELETE', `/auth/passkeys/${id}`));
  };
  const removing = async (path: string, { id }: { id: string }, purge = false): Promise<Prepared> => ({
    withdraw: () => remove(`${path}/${id}${purge ? '?purge=true' : ''}`),
    asked: url => asOwner(url, `${path}/${id}`),
  });
  const renaming = async (path: string, { id }: { id: string }): Promise<Prepared> => ({
    withdraw: () => put(`${path}/${id}`, { name: unique('renamed') }),
  });
  const grant = async () => {
    const tokens = await signedIn({ service, owner, vaultId: (await vault()).id });
    const asked = async (url: string) =>
      (await callService(url, 'GET', '/api/v1/vaults/self', undefined, tokens.access_token)).status;
    return { refreshed: () => ok(refresh(service.url, tokens.refresh_token)), asked };
  };

  const all: Readonly<Record<Withdrawing, () => Promise<Prepared>>> = {
    'access-key.revoked': async () => {
      const { id, asked } = await accessKey();
      return { withdraw: () => remove(`/v1/access-keys/${id}`), asked };
    },
    'access-key.updated': async () => renaming('/v1/access-keys', await accessKey()),
    'access-key.used': async () => {
      const { asked } = await accessKey({ max_uses: 5 });
      return { withdraw: () => asked(service.url) };
    },
    'account.code_used': async () => {
      const { email, recovery } = await withCodes();
      return { withdraw: () => ok(service.browser().signIn(email, password, recovery[0]!)) };
    },
    'account.codes_enabled': async () => ({ withdraw: withCodes }),
    'account.codes_removed': async () => {
      const { browser, recovery } = await withCodes();
      return {
        withdraw: () => ok(browser.post('/auth/totp/remove', { password, code: recovery[0] })),
      };
    },
    'account.password_changed': async () => {
      const { browser } = await member();
      return {
        withdraw: () =>
          ok(browser.post('/auth/password/change', { current: password, password: newPassword })),
      };
    },
    'account.passkey_removed': async () => ({ withdraw: await withPasskey() }),
    'account.reset': async () => {
      const { id } = await member();
      return { withdraw: () => made(`/v1/members/${id}/invitation`, {}) };
    },
    'api-key.revoked': async () => {
      const { id, asked } = await newApiKey();
      return { withdraw: () => remove(`/v1/api-keys/${id}`), asked };
    },
    'api-key.updated': async () => renaming('/v1/api-keys', await newApiKey()),
    'approval.cancelled': async () => {
      const { id, use } = await startedRun();
      await use();
      return { withdraw: () => made(`/v1/runs/${id}/end`, {}) };
    },
    'approval.refused': async () => {
      const id = await approval();
      return { withdraw: () => made(`/auth/approvals/${id}/refuse`, {}) };
    },
    'approval.used': async () => {
      const upstream = await startUpstream();
      const { use } = await rule({ hosts: [upstream.url] });
      const asked = await use(`${upstream.url}/own`);
      await made(`/auth/approvals/${asked.body.approval.id}/approve`, { scope: 'call' });
      return { withdraw: () => ok(use(`${upstream.url}/own`)), close: upstream.close };
    },
    'certificate.deleted': async () => removing('/v1/certificates', await certificate()),
    'certificate.purged': async () => removing('/v1/certificates', await certificate(), true),
    'device-login.denied': async () => {
      const { user_code } = await ok(owner.post('/auth/device', { host: 'laptop' }));
      return { withdraw: () => ok(owner.post('/auth/device/deny', { user_code })) };
    },
    'group.deleted': async () =>
      removing('/v1/groups', await made('/v1/groups', { name: unique('group'), grants: [], member_ids: [] })),
    'acme-account.deactivated': async () => {
      const client = await acmeClient();
      return { withdraw: () => client.post(client.kid, { status: 'deactivated' }) };
    },
    'acme-account.updated': async () => {
      const client = await acmeClient();
      return { withdraw: () => client.post(client.kid, { contact: ['mailto:ada@example.org'] }) };
    },
    'acme-order.finished': async () => {
      const client = await acmeClient();
      const order = await client.order(['api.internal.example']);
      return { withdraw: () => client.finalize(order) };
    },
    'authority.deleted': async () => removing('/v1/authorities', await authority()),
    'authority.updated': async () => renaming('/v1/authorities', await authority()),
    'profile.deleted': async () => removing('/v1/profiles', await profile()),
    'profile.updated': async () => renaming('/v1/profiles', await profile()),
    'issued-certificate.revoked': async () => {
      const { id } = await issued();
      const path = `/v1/issued-certificates/${id}`;
      const asked = async (url: string) =>
        (await callService(url, 'GET', path, undefined, await apiKey)).body.state === 'valid' ? 200 : 404;
      return { withdraw: () => made(`${path}/revoke`, undefined), asked };
    },
    'group.updated': async () =>
      renaming('/v1/groups', await made('/v1/groups', { name: unique('group'), grants: [], member_ids: [] })),
    'identity.deleted': async () => {
      const { id, asked } = await identity();
      return { withdraw: () => remove(`/v1/identities/${id}`), asked };
    },
    'identity.updated': async () => renaming('/v1/identities', await identity()),
    'issuer.deleted': async () => removing('/v1/issuers', await issuer()),
    'issuer.ended': async () => {
      const { id, lease, asked } = await leased();
      return { withdraw: () => remove(`/v1/issuers/${id}?revoke=true`).then(() => goneOf(lease)), asked };
    },
    'issuer.updated': async () => renaming('/v1/issuers', await issuer()),
    'key.deleted': async () => removing('/v1/keys', await key()),
    'key.purged': async () => removing('/v1/keys', await key(), true),
    'key.ssh_restored': async () => {
      const { id } = await sshAuthority();
      await made(`/v1/keys/${id}/ssh-revocations`, { serials: ['7'] });
      return { withdraw: () => made(`/v1/keys/${id}/ssh-revocations`, { serials: ['7'], undo: true }) };
    },
    'key.ssh_revoked': async () => {
      const { id } = await sshAuthority();
      return { withdraw: () => made(`/v1/keys/${id}/ssh-revocations`, { serials: ['7'] }) };
    },
    'key.ssh_updated': async () => {
      const { id } = await sshAuthority();
      return { withdraw: () => put(`/v1/keys/${id}`, { ssh: null }) };
    },
    'keyring.root_key_changed': async () => ({
      withdraw: () => command(['root-key', 'rotate', '--new-root-key-file', join(service.data, 'new.key')]),
    }),
    'keyring.slot_removed': async () => {
      const { stdout } = await run(['root-key', 'add', 'shamir', '--json', ...service.place]);
      return { withdraw: () => command(['root-key', 'remove', JSON.parse(stdout).slot]) };
    },
    'keyring.terms_retired': async () => ({ withdraw: () => command(['keyring', 'rotate']) }),
    'lease.ended': async () => {
      const { lease, renewed } = await leased();
      return { withdraw: () => made(`/v1/leases/${lease}/revoke`, undefined), asked: renewed };
    },
    'lease.revoked': async () => {
      const { lease, renewed } = await leased();
      const withdraw = () => made(`/v1/leases/${lease}/revoke`, undefined).then(() => goneOf(lease));
      return { withdraw, asked: renewed };
    },
    'member.invited': async () => ({
      withdraw: () => made('/v1/members', { email: 'late@example.org', role: 'viewer' }),
    }),
    'member.joined': async () => {
      const { token } = await made('/v1/members', { email: 'joins@example.org', role: 'viewer' });
      return {
        withdraw: () => ok(service.browser().post('/auth/invitation/accept', { token, password })),
      };
    },
    'member.recovered': async () => {
      const { email } = await member('owner');
      return { withdraw: () => command(['owner', 'reset', '--email', email]) };
    },
    'member.removed': async () => {
      const { id, browser } = await member();
      return { withdraw: () => remove(`/v1/members/${id}`), asked: cookieAsked(browser) };
    },
    'member.updated': async () => {
      const { id } = await member();
      return { withdraw: () => put(`/v1/members/${id}`, { role: 'auditor' }) };
    },
    'oauth-grant.ended': async () => {
      const { asked } = await grant();
      const { id } = (await owner.get('/auth/oauth/grants')).body.data[0];
      return { withdraw: () => ok(owner.call('DELETE', `/auth/oauth/grants/${id}`)), asked };
    },
    'oauth-grant.refreshed': async () => {
      const { refreshed } = await grant();
      return { withdraw: refreshed };
    },
    'organization.updated': async () => ({ withdraw: () => put('/v1/organization', { name: 'Renamed' }) }),
    'passkey.removed': async () => ({ withdraw: await withPasskey() }),
    'proposal.bypassed': async () => {
      const { id } = await proposal();
      const path = `/v1/proposals/${id}/confirm?bypass=true&reason=urgent`;
      return { withdraw: () => made(path, undefined) };
    },
    'proposal.confirmed': async () => {
      const { id, other } = await proposal();
      return { withdraw: () => ok(other.post(`/v1/proposals/${id}/confirm`)) };
    },
    'proposal.rejected': async () => {
      const { id } = await proposal();
      return { withdraw: () => made(`/v1/proposals/${id}/reject`, undefined) };
    },
    'public-token.revoked': async () => {
      const { id, asked } = await publicToken();
      return { withdraw: () => remove(`/v1/public-tokens/${id}`), asked };
    },
    'public-token.updated': async () => renaming('/v1/public-tokens', await publicToken()),
    'run.ended': async () => {
      const { id, asked } = await startedRun();
      return { withdraw: () => made(`/v1/runs/${id}/end`, {}), asked };
    },
    'run.used': async () => {
      const upstream = await startUpstream();
      const { use } = await startedRun({ hosts: [upstream.url], approval: 'never' });
      return { withdraw: () => ok(use(`${upstream.url}/own`)), close: upstream.close };
    },
    'secret-id.revoked': async () => {
      const { secretId, asked } = await identity();
      return { withdraw: () => remove(`/v1/secret-ids/${secretId}`), asked };
    },
    'secret-id.updated': async () => renaming('/v1/secret-ids', { id: (await identity()).secretId }),
    'secret-id.used': async () => {
      const { asked } = await identity();
      return { withdraw: () => asked(service.url) };
    },
    'secret.deleted': async () => removing('/v1/secrets', await secret()),
    'secret.purged': async () => removing('/v1/secrets', await secret(), true),
    'session.ended': async () => {
      const browser = service.browser();
      await ok(browser.signIn('owner@example.org'));
      const asked = cookieAsked(browser);
      return { withdraw: () => ok(browser.post('/auth/sign-out')), asked };
    },
    'stage.deleted': async () => {
      const { id } = await vault();
      return removing('/v1/stages', await made('/v1/stages', { name: unique('stage'), vault_ids: [id] }));
    },
    'use-rule.deleted': async () => removing('/v1/use-rules', await rule()),
    'use-rule.updated': async () => renaming('/v1/use-rules', await rule()),
    'vault.deleted': async () => removing('/v1/vaults', await vault()),
    'vault.purged': async () => removing('/v1/vaults', await vault(), true),
    'vault.updated': async () => renaming('/v1/vaults', await vault()),
    'webhook.deleted': async () => removing('/v1/webhooks', { id: await webhook() }),
    'webhook.disabled': async () => {
      const receiver = await startReceiver();
      receiver.answer = (_, response) => response.writeHead(410).end();
      const id = await webhook(receiver.url);
      const isOff = async () => (await owner.get(`/v1/webhooks/${id}`)).body.enabled === false;
      return { withdraw: () => vault().then(() => until(isOff)), close: receiver.close };
    },
    'webhook.secret_rotated': async () => {
      const id = await webhook();
      return { withdraw: () => made(`/v1/webhooks/${id}/rotate-secret`, {}) };
    },
    'webhook.updated': async () => renaming('/v1/webhooks', { id: await webhook() }),
  };
  return all;
}

const bearer = { type: 'bearer' };
