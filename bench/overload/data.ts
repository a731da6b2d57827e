/**
 * The data of the service under pressure: a vault that is read all the time, many that have not been read yet, a long
 * request log, and a member who can sign in. Filled through the API, so any commit works.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { startServer } from '../bench.ts';
import { fillLog } from '../log-entries.ts';

export interface Size {
  readonly vaults: number;
  readonly logEntries: number;
}

interface Vault {
  readonly id: string;
  readonly token: string;
}

export interface Data {
  readonly place: readonly string[];
  readonly apiKey: string;
  readonly read: Vault;
  /** The vault for writers. */
  readonly scratch: Vault;
  readonly unread: readonly Vault[];
  /** Another organization with long contents, whose keys create the pressure. */
  readonly large: Vault & { readonly apiKey: string; readonly second: Vault };
  readonly secrets: number;
  readonly person: { readonly email: string; readonly password: string };
}

const perVault = 50;
const longVault = 2_000;
const perRequest = 100;
const fillers = 8;
const person = { email: 'owner@example.com', password: 'correct horse battery staple' };

export async function fillData(command: string, folder: string, size: Size): Promise<Data> {
  const data = join(folder, 'data');
  // The entries of the log are older than the default retention.
  const place = ['--data', data, '--log-retention-days', '0', '--allow-private-webhooks', '127.0.0.0/8'];
  const setup = ['setup', '--data', data, '--organization', 'Bench', '--plan', 'enterprise', '--json'];
  const { api_key } = JSON.parse(execFileSync(process.execPath, [command, ...setup], { encoding: 'utf8' }));
  const server = await startServer(place, command, 'any');
  const post = poster(server.port, api_key);
  const read = await newVault(post, 'read', perVault);
  const scratch = await newVault(post, 'scratch', 0);
  const unread: Vault[] = [];
  const fillSome = async () => {
    while (unread.length < size.vaults) {
      const at = unread.push(scratch) - 1; // Reserves the place before the vault exists.
      unread[at] = await newVault(post, `vault ${at}`, perVault);
    }
  };
  await Promise.all(Array.from({ length: fillers }, fillSome));
  const more = [...setup.slice(0, 4), 'Pressing', ...setup.slice(5)];
  const pressing = JSON.parse(execFileSync(process.execPath, [command, ...more], { encoding: 'utf8' }));
  const postThere = poster(server.port, pressing.api_key);
  const second = await newVault(postThere, 'second', longVault);
  const large = { ...(await newVault(postThere, 'large', longVault)), apiKey: pressing.api_key, second };
  const { token } = await post('/v1/members', { email: person.email, role: 'owner' });
  await post('/auth/invitation/accept', { token, password: person.password });
  await server.stop();
  fillLog(data, size.logEntries);
  const secrets = (unread.length + 1) * perVault;
  return { place, apiKey: api_key, read, scratch, unread, large, secrets, person };
}

type Post = (path: string, body: object) => Promise<{ id: string; token: string }>;

function poster(port: number, apiKey: string): Post {
  const url = `http://127.0.0.1:${port}`;
  return async (path, body) => {
    const credential = path.startsWith('/v1') ? { authorization: `Bearer ${apiKey}` } : { origin: url };
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { ...credential, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json() as Promise<{ id: string; token: string }>;
  };
}

async function newVault(post: Post, name: string, secrets: number): Promise<Vault> {
  const { id } = await post('/v1/vaults', { name });
  const items = Array.from({ length: secrets }, (_, at) => ({
    vault_id: id,
    name: `SECRET_${at}`,
    value: 'x'.repeat(40),
  }));
  for (let at = 0; at < secrets; at += perRequest)
    await post('/v1/secrets/bulk', { items: items.slice(at, at + perRequest) });
  const { token } = await post('/v1/access-keys', { vault_id: id, name: 'bench' });
  return { id, token };
}
