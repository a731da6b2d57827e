/** A vault with something of each kind in it, and the ways to call its tools. */
import { type Answer, callService, type EngineName, type Service, startService } from './harness.ts';

export interface World {
  readonly service: Service;
  readonly vaultId: string;
  readonly accessKey: string;
  readonly accessKeyId: string;
  readonly secretId: string;
  readonly keyId: string;
  readonly certificateId: string;
}

export const value = 'postgres://app:hunter2@db/prod';

export async function startWorld(
  engine: EngineName = 'sqlite',
  flags: readonly string[] = [],
): Promise<World> {
  const service = await startService({ engine, flags });
  const vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
  const secret = { vault_id: vaultId, name: 'DATABASE_URL', value, tags: { team: 'payments' } };
  const secretId = (await service.call('POST', '/v1/secrets', secret)).body.id;
  await service.call('POST', '/v1/secrets', { vault_id: vaultId, name: 'API_TOKEN', value: 'token-value' });
  const keyId = await makeKey(service, vaultId, 'signing');
  const self_signed = { subject: 'CN=example.org', days: 30 };
  const certificate = { vault_id: vaultId, name: 'tls', key_id: keyId, self_signed };
  const certificateId = (await service.call('POST', '/v1/certificates', certificate)).body.id;
  const { id: accessKeyId, token: accessKey } = await makeAccessKey(service, vaultId);
  return { service, vaultId, accessKey, accessKeyId, secretId, keyId, certificateId };
}

export async function makeKey(service: Service, vaultId: string, name: string, more = {}): Promise<string> {
  const generate = { key_type: 'EC', curve: 'P-256' };
  return (await service.call('POST', '/v1/keys', { vault_id: vaultId, name, generate, ...more })).body.id;
}

export async function makeAccessKey(
  service: Service,
  vaultId: string,
  narrowing: Record<string, unknown> = {},
): Promise<{ id: string; token: string }> {
  return (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'agent', ...narrowing }))
    .body;
}

export interface Call {
  readonly session?: string | undefined;
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}

/** POSTs a body to the tool endpoint as it is. */
export function post(
  url: string,
  body: unknown,
  { session, key = null, headers = {}, path = '/mcp' }: Call = {},
) {
  const all = { ...(session === undefined ? {} : { 'mcp-session-id': session }), ...headers };
  return callService(url, 'POST', path, body, key, all);
}

/** A session id, asked for in the bare form, with the key in its header that shall belong to it. */
export async function bareSession(url: string, key: string | null = null): Promise<string> {
  const answer = await post(url, { method: 'initialize' }, { key });
  return answer.headers.get('mcp-session-id')!;
}

/** A session of a revision of 2025. */
export async function rpcSession(url: string, protocolVersion: string): Promise<string> {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const answer = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  return answer.headers.get('mcp-session-id')!;
}

export function bareCall(url: string, name: string, args: unknown, call: Call = {}): Promise<Answer> {
  return post(url, { method: 'tools/call', params: { name, arguments: args } }, call);
}

export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export function modernCall(url: string, name: string, args: unknown, { headers = {}, ...call }: Call = {}) {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, _meta: envelope },
  };
  const standard = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
  return post(url, body, { ...call, headers: { ...standard, ...headers } });
}
