/** Agents that have secrets and keys used as much as they can, and how another one fares beside them. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Asked } from './exchanges.ts';
import type { Scene } from './scene.ts';
import { clock } from './steady-load.ts';

const value = 'ghp_7Qx2mZr9Lk4Tn8VbcW1sYd6Hf3Jg0Ae5';
const longest = 1_048_576;

/** Answers of 1 MiB in which the value is everywhere: what takes longest to look through. */
export async function longAnswers(scene: Scene): Promise<void> {
  const body = `${value}, `.repeat(longest / (value.length + 2)).slice(0, -2);
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end(request.url === '/long' ? body : 'fine');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const made = await make(scene, 'secrets', { value });
  const rule = {
    secret_id: made.id,
    hosts: [url],
    methods: ['GET'],
    paths: ['/**'],
    place: { type: 'bearer' },
  };
  await post(scene, 'use-rules', {
    ...rule,
    name: 'long',
    approval: 'never',
    rate_limit: null,
    max_response: longest,
  });
  const asked = (path: string) => (token: string) =>
    requestOf(`/api/v1/vaults/self/use`, token, { secret: made.name, url: url + path });
  await beside(scene, asked('/long'), asked('/short'));
}

export async function signatures(scene: Scene): Promise<void> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 4096 });
  const made = await make(scene, 'keys', { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) });
  const rule = { key_id: made.id, operations: ['sign'], algorithms: ['RS256'] };
  await post(scene, 'use-rules', { ...rule, name: 'many', approval: 'never', rate_limit: null });
  const asked = (token: string) =>
    requestOf('/api/v1/vaults/self/keys/sign', token, { key: made.name, alg: 'RS256', message: 'aGVsbG8' });
  await beside(scene, asked, asked);
}

/** One agent asks 64 times at once, another now and then. */
async function beside(
  scene: Scene,
  greedy: (token: string) => Asked,
  modest: (token: string) => Asked,
): Promise<void> {
  const { exchanges, note } = scene;
  const [first, second] = [await agent(scene), await agent(scene)];
  const counts = { answered: 0, refused: 0, cut: 0 };
  let slowest = 0;
  const modestly = async () => {
    while (!exchanges.isOver) {
      const began = clock();
      const outcome = await exchanges.ask(modest(second));
      if (exchanges.isOver) return;
      counts[outcome]++;
      slowest = Math.max(slowest, clock() - began);
      note(
        `of another agent ${counts.answered} answered, ${counts.refused} refused, ${Math.round(slowest)} ms at most`,
      );
    }
  };
  await Promise.all([exchanges.keepAsking(64, () => greedy(first)), modestly()]);
}

function requestOf(path: string, token: string, body: object): Asked {
  return { method: 'POST', path, token, body: JSON.stringify(body) };
}

async function agent(scene: Scene): Promise<string> {
  const wanted = { vault_id: scene.data.scratch.id, name: 'agent', names_only: true, may_use: true };
  return (await post(scene, 'access-keys', wanted)).token;
}

async function make(
  scene: Scene,
  kind: 'secrets' | 'keys',
  more: object,
): Promise<{ id: string; name: string }> {
  const name = `USED_${Date.now()}`;
  const { id } = await post(scene, kind, { vault_id: scene.data.scratch.id, name, ...more });
  return { id, name };
}

async function post(
  { data, exchanges }: Scene,
  path: string,
  body: object,
): Promise<{ id: string; token: string }> {
  const headers = { authorization: `Bearer ${data.apiKey}`, 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`http://127.0.0.1:${exchanges.port}/v1/${path}`, sent);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<{ id: string; token: string }>;
}
