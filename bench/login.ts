/**
 * Measures how long refused logins take, by how far each gets, in turns against one service, and how long a successful
 * one takes. Prints medians, and each as a ratio to the median of all refusals: the closer to 1, the less the time
 * reveals.
 */
import { performance } from 'node:perf_hooks';
import { type Service, startService } from '../test/harness.ts';
import { newKey, startTokenIssuer } from '../test/token-issuer.ts';

const rounds = Number(process.env.ROUNDS ?? 200);
const [own, strange] = [await newKey('one'), await newKey('one')];
const issuer = await startTokenIssuer([own]);
const service: Service = await startService({ flags: ['--allow-private-issuers', '127.0.0.0/8'] });
const vault = await service.call('POST', '/v1/vaults', { name: 'bench' });
const identity = async (name: string, subjects: string[]) =>
  (
    await service.call('POST', '/v1/identities', {
      name,
      method: 'jwt',
      issuer: issuer.url,
      audience: 'strongroom',
      subjects,
      vault_ids: [vault.body.id],
    })
  ).body.id as string;
const known = await identity('known', ['job:*']);
const unknown = '01999999-9999-7999-8999-999999999999';

function claims(more: object = {}) {
  const iat = Math.floor(service.clock.now() / 1_000);
  return { iss: issuer.url, sub: 'job:1', aud: 'strongroom', iat, exp: iat + 300, ...more };
}
const kinds: Readonly<Record<string, () => Promise<readonly [id: string, jwt: string]>>> = {
  'no such identity': async () => [unknown, await issuer.sign(claims())],
  'no token': async () => [known, 'token'],
  'another algorithm': async () => {
    const [, payload, signature] = (await issuer.sign(claims())).split('.');
    const header = Buffer.from('{"alg":"HS256","kid":"one"}').toString('base64url');
    return [known, `${header}.${payload}.${signature}`];
  },
  'another key': async () => [known, await issuer.sign(claims(), {}, strange)],
  'another audience': async () => [known, await issuer.sign(claims({ aud: 'x' }))],
  expired: async () => [known, await issuer.sign(claims({ exp: 1 }))],
  'another subject': async () => [known, await issuer.sign(claims({ sub: 'x' }))],
  good: async () => [known, await issuer.sign(claims())],
};

/** The first login after a pause takes longer. */
function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map(one => [Math.random(), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

const taken = new Map(Object.keys(kinds).map(name => [name, [] as number[]]));
for (let round = 0; round < rounds; round += 1) {
  service.clock.pass(61_000); // Otherwise, a rate limit would answer.
  for (const [name, make] of shuffled(Object.entries(kinds))) {
    const [identity_id, jwt] = await make();
    const started = performance.now();
    await service.call('POST', '/api/v1/login', { identity_id, jwt }, null);
    taken.get(name)!.push(performance.now() - started);
  }
}
const median = (all: readonly number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
const medians = [...taken].map(([name, all]) => [name, median(all)] as const);
const usual = median(medians.filter(([name]) => name !== 'good').map(([, time]) => time));
for (const [name, time] of medians)
  console.log(`${name.padEnd(20)} ${time.toFixed(2).padStart(6)} ms  ${(time / usual).toFixed(2)}`);
await service.stop();
await issuer.close();
process.exit(0);
