/** Logins of machines: whether a proof is one, what it is good for, and what is written down where it is not. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { after, before, describe, it, mock } from 'node:test';
import { BasicConstraintsExtension, type X509Certificate, X509CertificateGenerator } from '@peculiar/x509';
import { SignJWT } from 'jose';
import type { Caller } from '../src/access/caller.ts';
import { mintToken, parseToken } from '../src/access/token.ts';
import { Failure } from '../src/contract/errors.ts';
import type { IdentityCreate } from '../src/contract/identities.ts';
import { type LoginParts, loginsWith } from '../src/domain/identities/logins.ts';
import type { LoginProof } from '../src/domain/identities/proofs.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import {
  audits,
  type DomainWorld,
  day,
  domainWorld,
  minute,
  organization,
  refused,
} from './accounts-world.ts';
import { type IssuerKey, newKey } from './token-issuer.ts';

let world: DomainWorld;
let owner: Caller;
let vault: string;
let another: string;
let names = 0;
before(async () => {
  world = await domainWorld();
  owner = world.operator(await organization(world, 'Acme'));
  vault = (await world.vaults.create(owner, { name: 'one' })).id;
  another = (await world.vaults.create(owner, { name: 'two' })).id;
});
after(() => world.close());

const identity = (more: Partial<IdentityCreate> = {}, by = owner) =>
  world.identities.create(by, {
    name: `machine ${++names}`,
    method: 'secret_id',
    vault_ids: [vault, another],
    ...more,
  });
const login = (identityId: string, proof: LoginProof, vaultId?: string, origin = world.origin()) =>
  world.logins.login({ identityId, proof, vaultId }, origin);
const row = async (id: string) => (await world.parts.store.credentials.byId(id))!;

/** That a login is refused, and for which reason the log says. */
async function refusedFor(
  reason: string,
  attempt: Promise<unknown>,
  of: string | null = owner.organizationId,
) {
  await refused(attempt, 'UNAUTHORIZED');
  const [told] = audits(world, of, 1);
  assert.deepEqual([told!.action, told!.details.reason], ['identity.login_refused', reason]);
}

describe('a secret id', () => {
  const proofBy = (secretId: string): LoginProof => ({ method: 'secret_id', secretId });
  const minted = async (more: object = {}, by = owner) => {
    const { id } = await identity();
    const made = await world.secretIds.create(by, { identity_id: id, ...more });
    return { id, secretId: made.id, proof: proofBy(made.token) };
  };

  it('gives its machine an access key of the first vault, or of the one that is asked for', async () => {
    const { id, proof, secretId } = await minted({ name: 'ci' });
    const { accessKey, identity: of, lifetime } = await login(id, proof);
    assert.deepEqual([accessKey.vault_id, of.id, lifetime], [vault, id, 900]);
    assert.equal(accessKey.expiration_date, new Date(world.now() + 900_000).toISOString());
    assert.equal((await login(id, proof, another)).accessKey.vault_id, another);
    assert.equal((await world.secretIds.get(owner, secretId)).uses, 0);
    assert.deepEqual(JSON.parse((await row(accessKey.id)).narrowing), { secret_id: secretId });
    const [told] = audits(world, owner.organizationId, 1);
    assert.deepEqual(
      [told!.action, told!.actor.kind, told!.details],
      ['access-key.created', 'identity', { method: 'secret_id', secret_id: secretId }],
    );
    const reader = await world.authenticate.accessKey(accessKey.token!, vault, world.origin());
    assert.equal(reader.id, accessKey.id);
  });

  it('is good for so many logins where it says so', async () => {
    const { id, proof, secretId } = await minted({ max_uses: 2 });
    await login(id, proof);
    assert.equal((await world.secretIds.get(owner, secretId)).uses, 1);
    assert.ok(audits(world, owner.organizationId, 2).some(({ action }) => action === 'secret-id.used'));
    await login(id, proof);
    await refusedFor('the secret id is used up', login(id, proof));
    assert.equal((await world.secretIds.get(owner, secretId)).uses, 2);
  });

  it('is good for nothing else, and nothing else is for it', async () => {
    const { id, proof } = await minted();
    const other = await identity();
    const { accessKey } = await login(id, proof);
    const { token } = await world.apiKeys.create(owner, { name: 'key', role: 'viewer' });
    const unknown = 'the secret id is unknown';
    await refusedFor('the secret id belongs to another identity', login(other.id, proof));
    for (const secret of ['x', accessKey.token!, token!])
      await refusedFor(unknown, login(id, proofBy(secret)));
    const { secretId } = proof as { secretId: string };
    const forged = mintToken('login', parseToken(secretId)!.id);
    await refusedFor(unknown, login(id, proofBy(forged)));
    await refusedFor(unknown, login(id, proofBy(mintToken('login', world.parts.newId()))));
    await refusedFor(unknown, login(world.parts.newId(), proof), null);
    const byToken = await identity({
      method: 'jwt',
      issuer: 'https://i.example.org',
      audience: 'a',
      subjects: ['s'],
    });
    await refusedFor(unknown, login(byToken.id, proof));
  });

  it('ends at its date, and when it is revoked', async () => {
    const { id, proof } = await minted({ expiration_date: world.now() + day });
    world.pass(day - 1);
    await login(id, proof);
    world.pass(1);
    await refusedFor('the secret id was revoked or has expired', login(id, proof));
    const revoked = await minted();
    await world.secretIds.remove(owner, revoked.secretId);
    await refusedFor('the secret id was revoked or has expired', login(revoked.id, revoked.proof));
  });

  it('ends with the API key that made it, and so does what comes of it', async () => {
    const made = await world.apiKeys.create(owner, {
      name: `key ${++names}`,
      role: 'owner',
      expiration_date: world.now() + day,
    });
    const key = await world.authenticate.apiKey(made.token!, world.origin());
    const { id, proof, secretId } = await minted({}, key);
    const ofIdentity = await identity({}, key);
    const secret = await world.secretIds.create(key, { identity_id: ofIdentity.id });
    const plain = await world.secretIds.create(owner, { identity_id: ofIdentity.id });
    for (const [{ accessKey }, secret_id] of [
      [await login(id, proof), secretId],
      [await login(ofIdentity.id, proofBy(secret.token)), secret.id],
      [await login(ofIdentity.id, proofBy(plain.token)), plain.id],
    ] as const)
      assert.deepEqual(JSON.parse((await row(accessKey.id)).narrowing), { made_with: [made.id], secret_id });
    await world.apiKeys.remove(owner, made.id, false);
    const over = 'the API key that created the identity or the secret id is no longer valid';
    await refusedFor(over, login(id, proof));
    await refusedFor(over, login(ofIdentity.id, proofBy(plain.token)));
  });

  describe('is good', () => {
    const secretOf = async (more: Partial<IdentityCreate>) => {
      const { id } = await identity(more);
      const { token } = await world.secretIds.create(owner, { identity_id: id });
      return { id, proof: proofBy(token) };
    };

    it('until its identity ends, and no access key is longer', async () => {
      const { id, proof } = await secretOf({ expiration_date: world.now() + minute, lifetime: 120 });
      const { lifetime, accessKey } = await login(id, proof);
      assert.deepEqual(
        [lifetime, accessKey.expiration_date],
        [60, new Date(world.now() + minute).toISOString()],
      );
      world.pass(minute - 1);
      assert.equal((await login(id, proof)).lifetime, 0);
      world.pass(1);
      await refusedFor('the identity has expired', login(id, proof));
    });

    it('from its identity’s networks', async () => {
      const { id, proof } = await secretOf({ cidrs: ['192.0.2.0/24'] });
      await login(id, proof, undefined, world.origin('192.0.2.7'));
      await refusedFor(
        'the address is outside the identity’s networks',
        login(id, proof, undefined, world.origin('198.51.100.7')),
      );
    });

    it('for its identity’s vaults that are there', async () => {
      const none = 'the vault is not one of the identity’s';
      const third = (await world.vaults.create(owner, { name: 'three' })).id;
      const { id, proof } = await secretOf({ vault_ids: [third, vault] });
      await refusedFor(none, login(id, proof, another));
      await login(id, proof, third);
      await world.vaults.remove(owner, third, false);
      await refusedFor('the vault was deleted', login(id, proof, third));
      await refusedFor('the vault was deleted', login(id, proof));
      await world.vaults.remove(owner, third, true);
      await refusedFor('the vault was deleted', login(id, proof));
      await login(id, proof, vault);
    });

    it('as itself: the access key is named after both, where that is a name', async () => {
      const { id, name } = await identity({ name: 'm' });
      const named = async (secret: string) => {
        const { token } = await world.secretIds.create(owner, { identity_id: id, name: secret });
        return (await login(id, proofBy(token))).accessKey.name;
      };
      assert.equal(await named('ci'), 'm: ci');
      const longest = 'é'.repeat(255 - 'm: '.length);
      assert.equal(await named(longest), `m: ${longest}`);
      assert.equal(await named(`${longest}é`), name);
      assert.equal(await named('a\u202eb'), name);
    });
  });

  it('that fails too often makes its address wait, unless one is good', async () => {
    const { id, proof } = await minted();
    const origin = world.origin();
    for (let count = 0; count < 60; count++)
      await refused(login(id, proofBy('x'), undefined, origin), 'UNAUTHORIZED');
    const before = audits(world, owner.organizationId, 1)[0]!.id;
    await refused(login(id, proofBy('x'), undefined, origin), 'RATE_LIMITED', { retryAfter: 60 - second() });
    assert.equal(audits(world, owner.organizationId, 1)[0]!.id, before);
    await login(id, proof, undefined, origin);
    world.pass((59 - second()) * 1_000);
    await refused(login(id, proofBy('x'), undefined, origin), 'RATE_LIMITED', { retryAfter: 1 });
  });
  const second = () => Math.floor(world.now() / 1_000) % 60;

  it('gives nothing where the identity was edited in the database', async () => {
    const { id, proof } = await minted();
    world.database.prepare('UPDATE identities SET lifetime = 3600 WHERE id = ?').run(id);
    await refused(login(id, proof), 'INTERNAL_ERROR');
  });

  it('is refused as used only where it is taken by then', async () => {
    const { id, proof } = await minted();
    const failing = (...errors: Error[]) => {
      const { parts, attempts, issuers, authenticate } = world;
      const used = async (...given: Parameters<typeof parts.guard.used>) => {
        const error = errors.shift();
        if (error !== undefined) throw error;
        return parts.guard.used(...given);
      };
      const changed = { ...parts, guard: { ...parts.guard, used }, attempts, issuers, authenticate };
      return loginsWith(changed as LoginParts).login({ identityId: id, proof }, world.origin());
    };
    assert.ok(await failing());
    assert.ok(await failing(new StaleChange()));
    await refusedFor('jti: the token was used before', failing(new Failure('CONFLICT')));
    for (const error of [
      new Failure('UNAVAILABLE'),
      new Error('broken'),
      Object.assign(new Error('broken'), { code: 'CONFLICT' }),
    ])
      await assert.rejects(failing(error), caught => caught === error);
  });
});

describe('a token', () => {
  const issuer = 'https://issuer.example.org';
  let one: IssuerKey;
  let two: IssuerKey;
  before(async () => {
    [one, two] = [await newKey('one', 'ES256'), await newKey('two', 'ES256')];
    publish(one);
  });

  function publish(...keys: IssuerKey[]): void {
    world.documents.set(`${issuer}/.well-known/openid-configuration`, { issuer, jwks_uri: `${issuer}/keys` });
    world.documents.set(`${issuer}/keys`, { keys: keys.map(({ jwk }) => jwk) });
  }
  const signed = (claims: object = {}, key = one) => {
    const now = Math.floor(world.now() / 1_000);
    return new SignJWT({ iss: issuer, aud: 'us', sub: 'repo:acme', exp: now + 300, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: key.kid })
      .sign(key.privateKey);
  };
  const trust = { method: 'jwt' as const, issuer, audience: 'us', subjects: ['repo:*'] };
  const by = async (id: string, claims: object = {}, key = one) =>
    login(id, { method: 'jwt', jwt: await signed(claims, key) });

  it('logs in whom it names, again and again', async () => {
    const { id, name } = await identity(trust);
    const jwt = await signed();
    const { accessKey } = await login(id, { method: 'jwt', jwt });
    assert.equal(accessKey.name, `${name}: repo:acme`);
    await login(id, { method: 'jwt', jwt });
    const [told] = audits(world, owner.organizationId, 1);
    assert.deepEqual(told!.details, { method: 'jwt', subject: 'repo:acme' });
  });

  it('has its subject in the log, up to 200 characters', async () => {
    const { id } = await identity(trust);
    const sub = `repo:${'a'.repeat(300)}`;
    await by(id, { sub });
    assert.deepEqual(audits(world, owner.organizationId, 1)[0]!.details, {
      method: 'jwt',
      subject: sub.slice(0, 200),
    });
  });

  it('names a subject and claims as the identity wants them', async () => {
    const { id } = await identity({ ...trust, claims: { ref: ['main'] } });
    await by(id, { ref: 'main' });
    await refusedFor('sub: no pattern of the identity matches', by(id, { sub: 'other', ref: 'main' }));
    await refusedFor('ref: no pattern of the identity matches', by(id, { ref: 'dev' }));
    await refusedFor('aud: it is not the one expected', by(id, { aud: 'them', ref: 'main' }));
    await refusedFor('it is not a JSON Web Token', login(id, { method: 'jwt', jwt: 'x' }));
  });

  it('is good once where the identity says so, by its jti', async () => {
    const { id } = await identity({ ...trust, single_use: true });
    const jwt = await signed({ jti: 'a' });
    await login(id, { method: 'jwt', jwt });
    await refusedFor('jti: the token was used before', login(id, { method: 'jwt', jwt }));
    await by(id, { jti: 'b' });
    for (const jti of [undefined, '', 7]) await refusedFor('jti: it is missing', by(id, { jti }));
    const other = await identity({ ...trust, single_use: true });
    await login(other.id, { method: 'jwt', jwt });
  });

  it('by a key that the issuer has since is taken once it publishes it', async () => {
    const { id } = await identity(trust);
    await by(id);
    world.pass(10_000);
    await refusedFor('kid: the issuer has no such key', by(id, {}, two));
    publish(one, two);
    await refusedFor('kid: the issuer has no such key', by(id, {}, two));
    world.pass(10_000);
    await by(id, {}, two);
  });

  it('that the issuer did not sign has nobody asked for newer keys', async () => {
    const { id } = await identity(trust);
    await by(id);
    world.pass(60_000);
    const before = world.fetched.length;
    const forged = { ...two, kid: 'one' };
    await refusedFor('the signature is not the issuer’s', by(id, {}, forged));
    assert.equal(world.fetched.length, before);
    const { id: pinned } = await identity({ ...trust, jwks: { keys: [{ ...two.jwk }] } });
    await by(pinned, {}, two);
    await refusedFor('kid: the issuer has no such key', by(pinned, {}, one));
    assert.equal(world.fetched.length, before, 'the keys that were given are all');
  });

  it('is checked all the same where there is nobody whom it could be of', async () => {
    const { id } = await identity();
    const jwt = await signed();
    const verify = mock.method(globalThis.crypto.subtle, 'verify');
    const verified = async (reason: string, attempt: Promise<unknown>, of?: string | null) => {
      verify.mock.resetCalls();
      await refusedFor(reason, attempt, of);
      return verify.mock.callCount();
    };
    assert.equal(
      await verified('there is no such identity', login(world.parts.newId(), { method: 'jwt', jwt }), null),
      1,
    );
    const otherwise = 'the identity uses another login method';
    assert.equal(await verified(otherwise, login(id, { method: 'jwt', jwt })), 1);
    assert.equal(await verified(otherwise, login(id, { method: 'certificate', certificate: null })), 0);
    verify.mock.restore();
  });
});

describe('a client certificate', () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  interface Issued {
    readonly certificate: X509Certificate;
    readonly keys: webcrypto.CryptoKeyPair;
  }
  let authority: Issued;
  let stranger: Issued;
  before(async () => {
    [authority, stranger] = [await issue('CN=Authority'), await issue('CN=Stranger')];
  });
  async function issue(subject: string, issuer?: Issued): Promise<Issued> {
    const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
      'sign',
      'verify',
    ])) as webcrypto.CryptoKeyPair;
    const certificate = await X509CertificateGenerator.create(
      {
        serialNumber: '01',
        subject,
        issuer: issuer?.certificate.subject ?? subject,
        notBefore: new Date(world.now() - day),
        notAfter: new Date(world.now() + 100 * day),
        publicKey: keys.publicKey,
        signingKey: (issuer?.keys ?? keys).privateKey,
        signingAlgorithm: algorithm,
        extensions: issuer === undefined ? [new BasicConstraintsExtension(true, 1, true)] : [],
      },
      webcrypto as unknown as Crypto,
    );
    return { certificate, keys };
  }
  const shown = async (subject: string, issuer = authority): Promise<LoginProof> => ({
    method: 'certificate',
    certificate: new Uint8Array((await issue(subject, issuer)).certificate.rawData),
  });

  it('logs in whom it names, if an authority of the identity issued it', async () => {
    const { id } = await identity({
      method: 'certificate',
      ca_pem: authority.certificate.toString('pem'),
      subjects: ['CN=build*'],
    });
    const { accessKey } = await login(id, await shown('CN=build-1'));
    assert.match(accessKey.name, /: CN=build-1$/);
    assert.deepEqual(audits(world, owner.organizationId, 1)[0]!.details, {
      method: 'certificate',
      subject: 'CN=build-1',
    });
    const none = 'the client certificate is not from one of the identity’s authorities, or is not valid';
    await refusedFor(
      'no client certificate was sent',
      login(id, { method: 'certificate', certificate: null }),
    );
    await refusedFor(none, login(id, await shown('CN=build-1', stranger)));
    await refusedFor(
      'no pattern of the identity matches the certificate’s names',
      login(id, await shown('CN=other')),
    );
    await refusedFor('the secret id is unknown', login(id, { method: 'secret_id', secretId: 'x' }));
    await refusedFor('the identity uses another login method', login(id, { method: 'jwt', jwt: 'x' }));
    const missing = login(world.parts.newId(), { method: 'certificate', certificate: null });
    await refusedFor('there is no such identity', missing, null);
  });
});
