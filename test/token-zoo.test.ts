/** A hundred tokens that are wrong in one way each: none of them gets anything, and all get the same answer. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, it } from 'node:test';
import type { JWTPayload } from 'jose';
import { onEngines } from './at-once.ts';
import { type Answer, type Service, startService } from './harness.ts';
import { newKey, startTokenIssuer, type TokenIssuer } from './token-issuer.ts';
import { wrongTokens, type Zoo } from './token-zoo.ts';

const claimConditions = { repository_owner_id: ['7'], '/kubernetes.io/namespace': ['prod'] };
const nowhere = '01999999-9999-7999-8999-999999999999';

onEngines('a token that is wrong', engine => {
  let service: Service;
  let issuer: TokenIssuer;
  let stranger: TokenIssuer;
  let zoo: Omit<Zoo, 'claims'>;
  let vaultId: string;
  let identityId: string;

  before(async () => {
    const [rsa, ec, ed, encryption, signing] = await Promise.all([
      newKey('rsa'),
      newKey('ec', 'ES256'),
      newKey('ed', 'EdDSA'),
      newKey('enc', 'RS256', { use: 'enc' }),
      newKey('sig', 'RS256', { key_ops: ['sign'] }),
    ]);
    const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const weak = {
      ...rsa!,
      kid: 'weak',
      privateKey: small.privateKey.toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, [
        'sign',
      ]),
      jwk: { ...small.publicKey.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' },
    };
    issuer = await startTokenIssuer([rsa!, ec!, ed!, encryption!, signing!, weak]);
    stranger = await startTokenIssuer([await newKey('rsa'), await newKey('ec', 'ES256')]);
    zoo = {
      issuer,
      stranger,
      rsa: rsa!,
      ec: ec!,
      ed: ed!,
      unfit: { encryption: encryption!, signing: signing!, weak },
    };
    service = await startService({ engine, flags: ['--allow-private-issuers', '127.0.0.0/8'] });
    vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
    identityId = await identity('deploy');
  });
  after(async () => {
    await service?.stop();
    await issuer?.close();
    await stranger?.close();
  });

  async function identity(name: string, more: object = {}): Promise<string> {
    const { body, text } = await service.call('POST', '/v1/identities', {
      name,
      method: 'jwt',
      issuer: issuer.url,
      audience: 'strongroom',
      subjects: ['repo:acme/shop:*'],
      claims: claimConditions,
      vault_ids: [vaultId],
      ...more,
    });
    assert.ok(body.id, text);
    return body.id;
  }

  function goodClaims(): JWTPayload {
    const iat = Math.floor(service.clock.now() / 1_000);
    return {
      iss: issuer.url,
      sub: 'repo:acme/shop:ref:refs/heads/main',
      aud: 'strongroom',
      iat,
      nbf: iat,
      exp: iat + 300,
      repository_owner_id: '7',
      'kubernetes.io': { namespace: 'prod' },
    };
  }

  const logIn = (jwt: string, id = identityId, more: object = {}) =>
    service.call('POST', '/api/v1/login', { identity_id: id, jwt, ...more }, null);

  async function isTaken(token: Promise<string>, id?: string): Promise<void> {
    const answer = await logIn(await token, id);
    assert.equal(answer.status, 200, answer.text);
  }

  const shown = ({ status, text, headers }: Answer) => {
    const rest = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
    return JSON.stringify({ status, text, rest });
  };

  it('gets nothing, and the answer that all others get', async () => {
    await isTaken(issuer.sign(goodClaims()));
    assert.ok(Object.keys(wrongTokens).length >= 120, `${Object.keys(wrongTokens).length} tokens`);
    const seen = new Map<string, string>();
    for (const [name, make] of Object.entries(wrongTokens)) {
      service.clock.pass(2_000); // More than 60 failures a minute would be limited.
      const answer = await logIn(await make({ ...zoo, claims: goodClaims() }));
      assert.equal(answer.status, 401, `${name}: ${answer.text}`);
      seen.set(shown(answer), name);
    }
    assert.deepEqual([...seen.values()].length, 1, JSON.stringify([...seen]));
    await isTaken(issuer.sign(goodClaims()));
  });

  it('gets the same where the identity is another, none, or proves itself otherwise', async () => {
    const good = await issuer.sign(goodClaims());
    const bad = shown(await logIn('token'));
    const other = await identity('other', { issuer: stranger.url });
    const secret = await service.call('POST', '/v1/identities', {
      name: 'by secret',
      method: 'secret_id',
      vault_ids: [vaultId],
    });
    const gone = await identity('gone');
    await service.call('DELETE', `/v1/identities/${gone}`);
    for (const id of [other, secret.body.id, gone, nowhere]) assert.equal(shown(await logIn(good, id)), bad);
    assert.equal(shown(await logIn(good, identityId, { vault_id: nowhere })), bad);
    const asSecret = { identity_id: identityId, secret_id: good };
    assert.equal(shown(await service.call('POST', '/api/v1/login', asSecret, null)), bad);
    const bare = { identity_id: identityId };
    assert.equal(shown(await service.call('POST', '/api/v1/login', bare, null)), bad);
  });

  it('is right again in each of the ways that are allowed', async () => {
    const claims = goodClaims();
    await isTaken(issuer.sign(claims, {}, zoo.ec));
    await isTaken(issuer.sign(claims, {}, zoo.ed));
    await isTaken(issuer.sign(claims, { typ: 'at+jwt' }));
    await isTaken(issuer.sign({ ...claims, aud: ['vault', 'strongroom'] }));
    await isTaken(issuer.sign({ ...claims, repository_owner_id: ['1', '7'] }));
    await isTaken(issuer.sign({ ...claims, repository_owner_id: 7 }));
    await isTaken(issuer.sign({ ...claims, exp: claims.iat! - 30 })); // Clocks differ.
    await isTaken(issuer.sign({ ...claims, nbf: claims.iat! + 30, iat: claims.iat! + 30 }));
  });

  it('is told to operators with the condition that failed, and to nobody else', async () => {
    const about = `subject_id=${identityId}&action=identity.login_refused&limit=100`;
    // There are more than one page holds.
    const pages = [1, 2].map(page => service.call('GET', `/v1/audit-logs?${about}&page=${page}`));
    const entries = (await Promise.all(pages)).flatMap(({ body }) => body.data);
    assert.ok(entries.length < 200, 'all are here');
    const reasons = new Set(entries.map((entry: { details: { reason: string } }) => entry.details.reason));
    for (const reason of [
      'sub: no pattern of the identity matches',
      '/kubernetes.io/namespace: no pattern of the identity matches',
      'exp: it has expired',
      'aud: it is not the one expected',
      'iss: it is missing',
    ])
      assert.ok(reasons.has(reason), `${reason}: ${[...reasons].join('; ')}`);
    assert.ok(!JSON.stringify(entries).includes('eyJ'), 'no token is repeated');
  });

  it('is refused a second time where each is good for one login, also at the same moment', async () => {
    const once = await identity('once', { single_use: true });
    const jti = 'a-job-of-its-own';
    const token = await issuer.sign({ ...goodClaims(), jti });
    const answers = await Promise.all([1, 2, 3, 4].map(() => logIn(token, once)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
    assert.equal((await logIn(token, once)).status, 401);
    await isTaken(issuer.sign({ ...goodClaims(), jti: 'another' }), once);
    for (const wrong of [undefined, '', 7, ['x']])
      assert.equal(
        (await logIn(await issuer.sign({ ...goodClaims(), jti: wrong as string }), once)).status,
        401,
      );
  });

  it('is refused after sixty in a minute as too many, while a good one is served', async () => {
    service.clock.standInNewMinute();
    const statuses = [];
    for (let attempt = 0; attempt < 62; attempt++) statuses.push((await logIn('token')).status);
    assert.deepEqual([statuses.slice(0, 60).every(status => status === 401), statuses.at(-1)], [true, 429]);
    await isTaken(issuer.sign(goodClaims()));
    service.clock.run();
    service.clock.pass(61_000);
  });
});
