/** Demo data: vaults with contents, keys in use, refused requests, and resources that expire soon. */
import type { Page } from 'playwright-core';
import { ask, type Fresh } from './browser.ts';

const day = 86_400_000;

export interface Demo {
  readonly vaultId: string;
  readonly otherVaultId: string;
  readonly secretId: string;
  readonly keyId: string;
  readonly certificateId: string;
  readonly webhookId: string;
  readonly identityId: string;
  readonly roleId: string;
  readonly accessKey: string;
}

export async function furnish(page: Page): Promise<Demo> {
  const make = async (collection: string, body: unknown) => {
    const { status, body: made } = await ask(page, 'POST', `/v1/${collection}`, body);
    if (status !== 200) throw new Error(`${collection}: ${JSON.stringify(made)}`);
    return made;
  };
  const now = Date.now();
  const after = (days: number) => new Date(now + days * day).toISOString();
  const others = [];
  for (const [name, description] of vaults)
    others.push(await make('vaults', { name, description, tags: { team: name.split('-')[0] } }));
  const vault = await make('vaults', {
    name: 'payments-production',
    description: 'Everything that the payment service needs at run time',
    tags: { team: 'payments', stage: 'production' },
  });
  const vaultId: string = vault.id;
  const secrets = [];
  for (const [name, days, tags] of contents) {
    const dates = days === null ? {} : { expiration_date: after(days) };
    secrets.push(
      await make('secrets', { vault_id: vaultId, name, value: `value-of-${name}`, tags, ...dates }),
    );
  }
  const secretId: string = secrets.at(-1).id;
  for (const value of [
    'postgres://app:first@db.internal/payments\npool=10',
    'postgres://app:second@db.internal/payments\npool=20',
  ]) {
    await ask(page, 'PUT', `/v1/secrets/${secretId}`, { value });
  }
  await ask(page, 'DELETE', `/v1/secrets/${secrets[0].id}`);
  const key = await make('keys', {
    vault_id: vaultId,
    name: 'webhook-signing',
    generate: { key_type: 'EC', curve: 'P-256' },
    tags: { use: 'signing' },
  });
  await make('keys', {
    vault_id: vaultId,
    name: 'token-signing-2026',
    generate: { key_type: 'OKP', curve: 'Ed25519' },
    expiration_date: after(21),
  });
  await make('keys', {
    vault_id: vaultId,
    name: 'archive-encryption',
    generate: { key_type: 'ML-KEM', key_size: 768 },
  });
  const certificate = await make('certificates', {
    vault_id: vaultId,
    name: 'payments.example.com',
    key_id: key.id,
    self_signed: { subject: 'CN=payments.example.com,O=Acme', sans: ['dns:payments.example.com'], days: 45 },
  });
  const webhook = await make('webhooks', {
    url: 'https://hooks.example.com/strongroom',
    events: ['resource.near_expiry', 'resource.expired', 'access_key.revoked'],
  });
  const identity = await make('identities', {
    name: 'deploy pipeline',
    method: 'jwt',
    issuer: 'https://token.actions.githubusercontent.com',
    audience: 'strongroom',
    subjects: ['repo:acme/payments:ref:refs/heads/main', 'repo:acme/payments:environment:production'],
    claims: { repository_owner_id: ['9919'] },
    vault_ids: [vaultId],
    kinds: ['secret'],
    names: ['STRIPE_*'],
  });
  const role = await make('identities', { name: 'backup server', method: 'secret_id', vault_ids: [vaultId] });
  const proof = await make('secret-ids', { identity_id: role.id, name: 'rack 4', max_uses: 10 });
  await ask(page, 'POST', '/api/v1/login', { identity_id: role.id, secret_id: proof.token });
  await ask(page, 'POST', '/api/v1/login', { identity_id: role.id, secret_id: 'sr_login_wrong' });
  await make('public-tokens', { key_id: key.id, name: 'partner bank' });
  await make('api-keys', {
    name: 'deploy pipeline',
    role: 'editor',
    scopes: ['secrets:read', 'secrets:write'],
  });
  await make('members', { email: 'ada@example.com', role: 'admin' });
  const grants = [{ vault_id: vaultId, role: 'editor' }];
  const member = await make('members', { email: 'grace@example.com', role: 'none', grants });
  await make('groups', { name: 'payments', grants, member_ids: [member.id], single_sign_on: true });
  await make('access-keys', {
    vault_id: vaultId,
    name: 'reporting job',
    kinds: ['secret'],
    names: ['REPORT_*'],
    cidrs: ['10.0.0.0/8'],
    rate_limit: 60,
  });
  const { token } = await make('access-keys', { vault_id: vaultId, name: 'payments-api' });
  return {
    vaultId,
    otherVaultId: others[0].id,
    secretId,
    keyId: key.id,
    certificateId: certificate.id,
    webhookId: webhook.id,
    identityId: identity.id,
    roleId: role.id,
    accessKey: token,
  };
}

/**
 * Reads through the vault endpoint, spread over the hours since the service's clock started; some reads are refused.
 * Keeps the page's session from idling meanwhile.
 */
export async function read(page: Page, service: Fresh, { vaultId, accessKey }: Demo): Promise<void> {
  const { clock } = service;
  for (let hour = Math.round((Date.now() - clock.now()) / 3_600_000); hour >= 0; hour--) {
    clock.pass(Math.max(0, Date.now() - hour * 3_600_000 - clock.now()));
    await ask(page, 'GET', '/v1/about');
    const times = 4 + Math.round(10 * Math.abs(Math.sin(hour / 4)));
    for (let time = 0; time < times; time++)
      await readOnce(service, vaultId, time % 9 === 8 ? `${accessKey}x` : accessKey);
  }
}

/** Lets an agent ask for a call that requires approval. */
export async function askForUse(page: Page, service: Fresh, { vaultId, secretId }: Demo): Promise<void> {
  const { body: secret } = await ask(page, 'GET', `/v1/secrets/${secretId}`);
  await ask(page, 'POST', '/v1/use-rules', {
    secret_id: secretId,
    name: 'issues of acme',
    hosts: ['api.github.com'],
    methods: ['POST'],
    paths: ['/repos/acme/**'],
    place: { type: 'json', pointer: '/auth/token' },
  });
  const key = { vault_id: vaultId, name: 'coding agent', names_only: true, may_use: true };
  const { body: agent } = await ask(page, 'POST', '/v1/access-keys', key);
  const answer = await fetch(`${service.url}/api/v1/vaults/self/use`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      secret: secret.name,
      method: 'POST',
      url: 'https://api.github.com/repos/acme/shop/issues',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'Broken link on the front page', labels: ['website'] }),
    }),
  });
  const { approval } = (await answer.json()) as { approval?: object };
  if (approval === undefined) throw new Error(`the call is not waiting for approval: ${answer.status}`);
}

async function readOnce({ url }: Fresh, vaultId: string, key: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/vaults/${vaultId}`, {
    headers: { authorization: `Bearer ${key}`, accept: 'application/json', 'user-agent': 'payments-api/4.2' },
  });
  await answer.arrayBuffer();
}

const vaults = [
  ['analytics-staging', 'Keys of the reporting stack, staging'],
  ['website-production', 'Tokens of the public site'],
  ['payments-staging', ''],
  ['identity-production', 'Signing keys and provider credentials'],
] as const;

const contents = [
  ['OLD_API_TOKEN', null, {}],
  ['STRIPE_SECRET_KEY', 4, { provider: 'stripe' }],
  ['STRIPE_WEBHOOK_SECRET', null, { provider: 'stripe' }],
  ['SMTP_PASSWORD', 26, {}],
  ['REDIS_URL', null, {}],
  ['SENTRY_DSN', null, {}],
  ['BANK_CLIENT_SECRET', 71, { provider: 'bank' }],
  ['SESSION_KEY', 12, {}],
  ['DATABASE_URL', null, { critical: 'yes' }],
] as const;
