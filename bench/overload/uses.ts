/** Agents that use secrets and keys as much as they can, and the effect on another agent. */
import { generateKeyPair } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { Asked, Exchanges, Tally } from './exchanges.ts';
import type { Press, Scene } from './scene.ts';
import { clock } from './steady-load.ts';

const value = 'ghp_7Qx2mZr9Lk4Tn8VbcW1sYd6Hf3Jg0Ae5';
const longest = 1_048_576;

/** Answers of 1 MiB full of the value, which take longest to search. */
export async function longAnswers(scene: Scene): Promise<Press> {
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
  return beside(scene, asked('/long'), asked('/short'));
}

export async function signatures(scene: Scene): Promise<Press> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 4096 });
  const made = await make(scene, 'keys', { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) });
  const rule = { key_id: made.id, operations: ['sign'], algorithms: ['RS256'] };
  await post(scene, 'use-rules', { ...rule, name: 'many', approval: 'never', rate_limit: null });
  const asked = (token: string) =>
    requestOf('/api/v1/vaults/self/keys/sign', token, { key: made.name, alg: 'RS256', message: 'aGVsbG8' });
  return beside(scene, asked, asked);
}

/** One agent makes 64 calls at a time; another makes one call after the other, as before without the first. */
async function beside(
  scene: Scene,
  greedy: (token: string) => Asked,
  modest: (token: string) => Asked,
): Promise<Press> {
  const { exchanges } = scene;
  const [first, second] = [await agent(scene), await agent(scene)];
  for (const asked of [greedy(first), modest(second)]) await proven(scene, asked);
  const alone = await asking(exchanges, modest(second), clock() + aloneFor);
  return async () => {
    const greedily = exchanges.keepAsking(64, () => greedy(first));
    await asking(exchanges, modest(second), Infinity, seen =>
      scene.note(
        `another agent: ${seen.counts.answered} answered, ${seen.counts.refused} refused, ${seen.perSecond.toFixed(1)}/s with it and ${alone.perSecond.toFixed(1)}/s alone, ${Math.round(seen.slowest)} ms at most`,
      ),
    );
    await greedily;
  };
}

/** In milliseconds. */
const aloneFor = 2_000;

interface Seen {
  readonly counts: Tally;
  readonly slowest: number;
  readonly perSecond: number;
}

/** One after the other. */
async function asking(
  exchanges: Exchanges,
  asked: Asked,
  until: number,
  tell: (seen: Seen) => void = () => {},
): Promise<Seen> {
  const counts: Tally = { answered: 0, refused: 0, cut: 0 };
  const start = clock();
  let seen: Seen = { counts, slowest: 0, perSecond: 0 };
  while (!exchanges.isOver && clock() < until) {
    const began = clock();
    const outcome = await exchanges.ask(asked);
    if (exchanges.isOver) break;
    counts[outcome]++;
    const perSecond = (counts.answered * 1000) / (clock() - start);
    seen = { counts, slowest: Math.max(seen.slowest, clock() - began), perSecond };
    tell(seen);
  }
  return seen;
}

/** Fails on calls that are refused for other reasons than their number, because they would measure nothing. */
async function proven({ exchanges }: Scene, { path, token, body }: Asked): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${exchanges.port}${path}`, {
    method: 'POST',
    headers,
    body: body!,
  });
  const { outcome = 'answered' } = (await answer.json()) as { outcome?: string };
  if (answer.status !== 200 || outcome !== 'answered')
    throw new Error(`${path}: ${answer.status} ${outcome}`);
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
