/** Runs a hostile agent's calls against a service, and says what got out: it must be nothing. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { type Attack, echoes, guesses, hostileAnswers, strayCalls } from './agent-attacks.ts';
import type { Answer } from './harness.ts';
import { tracesIn, type UsesWorld } from './uses-world.ts';

export interface Campaign {
  readonly tried: number;
  /** How many of each class. */
  readonly classes: Readonly<Record<string, number>>;
  /** What went wrong, by the name of the attack. */
  readonly faults: readonly string[];
  /** Connections that the attacker's own listener saw. */
  readonly strangers: number;
}

/** The places that a rule may put the value into, with what a call needs for it. */
export const placings = [
  { place: { type: 'bearer' }, methods: ['GET', 'POST'] },
  { place: { type: 'header', name: 'x-api-key' }, methods: ['GET', 'POST'] },
  { place: { type: 'basic', username: 'agent' }, methods: ['GET', 'POST'] },
  { place: { type: 'query', name: 'key' }, methods: ['GET', 'POST'] },
  { place: { type: 'json', pointer: '/auth/token' }, methods: ['POST'] },
  { place: { type: 'form', field: 'token' }, methods: ['POST'] },
] as const;
export type Placing = (typeof placings)[number];

export async function runAgentCampaign(
  world: UsesWorld,
  placing: Placing,
  some?: (name: string, at: number) => boolean,
  strays = true,
): Promise<Campaign> {
  const { upstream, service } = world;
  let strangers = 0;
  const stranger = createServer(socket => {
    strangers++;
    socket.on('error', () => {}).destroy();
  });
  stranger.listen(0, '127.0.0.1');
  await new Promise(resolve => stranger.once('listening', resolve));
  const other = `localhost:${(stranger.address() as AddressInfo).port}`;
  const rule = await world.rule({
    ...placing,
    response_headers: ['x-*', 'location', 'content-type', 'etag', 'link', 'refresh', 'warning'],
  });
  const faults: string[] = [];
  const attacks = [
    ...(strays ? [...strayCalls(upstream, other), ...guesses(upstream)] : []),
    ...echoes(upstream, some),
    ...hostileAnswers(upstream, other),
  ].map(attack => asPosted(attack, placing));
  for (const attack of attacks) faults.push(...(await faultsOf(world, rule, attack)));
  const held = await stored(world);
  if (tracesIn(held).length > 0) faults.push(`the logs hold ${tracesIn(held)}`);
  await service.call('DELETE', `/v1/use-rules/${rule}`);
  await new Promise(resolve => stranger.close(resolve));
  return { tried: attacks.length, classes: countedBy(attacks), faults, strangers };
}

function countedBy(attacks: readonly Attack[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of attacks) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** A value that goes into the body needs one. */
function asPosted(attack: Attack, { methods }: Placing): Attack {
  const isPosted =
    (methods as readonly string[]).includes('GET') || 'method' in attack.call || !attack.reaches;
  return isPosted ? attack : { ...attack, call: { ...attack.call, method: 'POST' } };
}

async function faultsOf(world: UsesWorld, rule: string, attack: Attack): Promise<string[]> {
  const { upstream } = world;
  if (attack.answer !== undefined) upstream.answer = attack.answer;
  const [connections, requests] = [upstream.connections, upstream.requests.length];
  const { status, text, body, headers } = await tried(world, rule, attack.call);
  const faults: string[] = [];
  const traces = tracesIn(text + JSON.stringify([...headers]));
  if (traces.length > 0) faults.push(`${attack.name}: the value came back as ${traces}`);
  if (status >= 500) faults.push(`${attack.name}: status ${status}`);
  if (attack.reaches) {
    if (status !== 200) faults.push(`${attack.name}: status ${status} ${text}`);
    if (attack.outcome !== undefined && body.outcome !== attack.outcome)
      faults.push(`${attack.name}: ${body.outcome} ${body.reason}`);
  } else {
    if (status === 200) faults.push(`${attack.name}: was allowed`);
    if (upstream.connections > connections || upstream.requests.length > requests)
      faults.push(`${attack.name}: the upstream was reached`);
  }
  return faults;
}

let lifted = 0;

/** The agent may go on: a change of the rule lifts its suspension. */
async function tried({ service, use }: UsesWorld, rule: string, call: Attack['call']): Promise<Answer> {
  const answer = await use({ rule, ...call });
  if (/part of it/.test(answer.text) || answer.body.outcome === 'withheld')
    await service.call('PUT', `/v1/use-rules/${rule}`, { timeout: 20 + (lifted++ % 10) });
  return answer;
}

/** What the service wrote down meanwhile. */
async function stored({ service }: UsesWorld): Promise<string> {
  const logs = await service.call('GET', '/v1/request-logs?limit=100');
  const audit = await service.call('GET', '/v1/audit-logs?limit=100');
  return [logs.text, audit.text, ...service.reports].join('\n');
}
