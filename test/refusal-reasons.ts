/** One request for each reason for which the vault endpoint refuses an access key, made through the real endpoints. */
import assert from 'node:assert/strict';
import type { RefusalReason } from '../src/contract/refusals.ts';
import type { Answer, Made, Service } from './harness.ts';

export interface RefusedRequest {
  readonly reason: RefusalReason;
  readonly about: string;
  readonly answer: Answer;
}

const hour = 3_600_000;

export async function refusedRequests(service: Service, other: Made): Promise<RefusedRequest[]> {
  const done: RefusedRequest[] = [];
  let network = 0;

  async function make(path: string, body: object, as = service.key): Promise<Answer['body']> {
    const answer = await service.call('POST', `/v1/${path}`, body, as);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }

  /** Each from an address of its own: failures are limited by address. */
  async function ask(
    reason: RefusalReason,
    about: string,
    token: string | null,
    query = '',
    vault = vaultId,
    address = `2001:db8:0:${(++network).toString(16)}::1`,
  ) {
    const headers = { 'x-forwarded-for': address, ...(token === null ? { authorization: '' } : {}) };
    const path = `/api/v1/vaults/${vault}${query}`;
    done.push({ reason, about, answer: await service.call('GET', path, undefined, token ?? '', headers) });
  }

  const { id: vaultId } = await make('vaults', { name: 'reasons' });
  const { id: elsewhere } = await make('vaults', { name: 'elsewhere' });
  const key = (name: string, more: object = {}, vault_id = vaultId) =>
    make('access-keys', { vault_id, name, ...more });
  const secret = (name: string, more: object = {}) =>
    make('secrets', { vault_id: vaultId, name, value: `value of ${name}`, ...more });
  const inAnHour = new Date(service.clock.now() + hour).toISOString();

  const all = await key('all');
  const revoked = await key('revoked');
  await service.call('DELETE', `/v1/access-keys/${revoked.id}`);
  const once = await key('once', { max_uses: 1 });
  const limited = await key('rated', { rate_limit: 1 });
  for (const { token } of [once, limited])
    assert.equal((await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, token)).status, 200);
  const foreignVault = await make('vaults', { name: 'foreign' }, other.key);
  const foreign = await make('access-keys', { vault_id: foreignVault.id, name: 'foreign' }, other.key);
  const networks = { cidrs: ['2001:db8:ffff::/48', '198.51.100.0/24'] };
  const [ipv4, ipv6] = [await key('ipv4', networks), await key('ipv6', networks)];
  const [shown, off] = [await secret('SHOWN'), await secret('OFF', { enabled: false })];
  const later = await secret('LATER', { activation_date: inAnHour });
  const [namesOnly, narrow] = [
    await key('names', { names_only: true }),
    await key('narrow', { names: ['A_*'] }),
  ];

  await ask('no_credential', 'no token', null);
  await ask('unknown_credential', 'a token that was never one', 'sr_vault_bad');
  await ask('unknown_credential', 'a key of another organization', foreign.token);
  await ask('wrong_kind', 'an API key', service.key);
  await ask('revoked', 'a revoked key', revoked.token);
  await ask('wrong_vault', 'a key of another vault', (await key('there', {}, elsewhere)).token);
  await ask('used_up', 'a key without uses', once.token);
  await ask('rate_limit', 'a key over its rate', limited.token);
  await ask('outside_networks', 'IPv4 outside', ipv4.token, '', vaultId, '198.51.101.1');
  await ask('outside_networks', 'IPv6 outside', ipv6.token, '', vaultId, '2001:db8:fffe:ffff::1');
  await ask('names_only', 'a value, with a names-only key', namesOnly.token, `?resource=${shown.id}`);
  await ask('restricted', 'a name that the key does not see', narrow.token, `?resource=${shown.id}`);
  await ask('not_found', 'an id of nothing', all.token, `?resource=${vaultId}`);
  await ask('disabled', 'a disabled secret', all.token, `?resource=${off.id}`);
  await ask('not_active', 'a secret that is not active yet', all.token, `?resource=${later.id}`);
  await ask('invalid_request', 'a query that is none', all.token, '?secrets=all');
  const ending = await key('ending', { expiration_date: inAnHour });
  const over = await secret('OVER', { expiration_date: inAnHour });
  service.clock.pass(hour);
  await ask('expired', 'an expired key', ending.token);
  await ask('resource_expired', 'an expired secret', all.token, `?resource=${over.id}`);
  await service.call('DELETE', `/v1/vaults/${elsewhere}`);
  const gone = await key('gone', {}, (await make('vaults', { name: 'gone' })).id);
  await service.call('DELETE', `/v1/vaults/${gone.vault_id}`);
  await ask('vault_deleted', 'a deleted vault', gone.token, '', gone.vault_id);
  for (let failure = 0; failure < 60; failure++)
    await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, 'sr_vault_bad', {
      'x-forwarded-for': '192.0.2.9',
    });
  await ask('too_many_failures', 'one too many', 'sr_vault_bad', '', vaultId, '192.0.2.9');
  return done;
}
