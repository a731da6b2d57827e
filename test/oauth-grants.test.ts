/** What comes of a grant: its code, its refresh tokens, and its end, row by row, in the domain alone. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { mintToken, parseToken } from '../src/access/token.ts';
import { Failure } from '../src/contract/errors.ts';
import { type ConsentBody, OAuthError } from '../src/contract/oauth.ts';
import type { AuthorizationRequest } from '../src/domain/oauth/authorization-requests.ts';
import type { CodeRequest, Issued, TokenRequest } from '../src/domain/oauth/token-requests.ts';
import { type DomainWorld, type Joined, minute, openDomain } from './domain-world.ts';
import { refusalOf } from './refusal-of.ts';

const verifier = 'v'.repeat(43);
const hour = 60 * minute;
const asked = {
  client: { id: 'client', name: 'Client', known: true },
  redirectUri: 'http://127.0.0.1/back',
  challenge: createHash('sha256').update(verifier).digest('base64url'),
  resource: 'https://vault.example.org/mcp',
} as AuthorizationRequest;
const { redirectUri, resource } = asked;
const request = { clientId: 'client', resource };
const refused = 'the code or refresh token is not valid for this request';

describe('a grant', () => {
  let world: DomainWorld;
  let editor: Joined;
  let vaultId: string;

  before(async () => {
    world = await openDomain();
    editor = await world.join('editor@example.org', 'editor');
    vaultId = (await world.domain.vaults.create(world.operator, { name: 'v' })).id;
  });
  after(() => world.close());

  const oauth = () => world.domain.oauth;
  const origin = () => world.origin;
  /** The editor proves who they are, as often as it takes; others are as they are. */
  const approve = async (given: Partial<ConsentBody> = {}, by?: Joined) => {
    if (by === undefined && world.now() >= editor.caller.proof.provenAt! + 4 * minute)
      editor = await world.prove(editor);
    const consent = { request: '', vault_id: vaultId, scopes: ['secrets:read' as const], ...given };
    return oauth().grants.approve(by ?? editor, asked, consent);
  };
  const exchange = (token: string, more: Partial<CodeRequest> = {}) =>
    oauth().tokens.exchange({ token, ...request, redirectUri, verifier, ...more }, origin());
  const refresh = (token: string, more: Partial<TokenRequest> = {}) =>
    oauth().tokens.refresh({ token, ...request, ...more }, origin());
  const given = async (consent: Partial<ConsentBody> = {}, by?: Joined) =>
    exchange(await approve(consent, by));
  const idOf = (token: string) => parseToken(token)!.id;
  const living = async (by = editor) => (await oauth().grants.list(by)).map(({ id }) => id);
  const isLiving = async ({ refreshToken }: Issued) => (await living()).includes(idOf(refreshToken));
  /** An OAuth error and why, as the audit log has it. */
  const reasonOf = async (done: Promise<unknown>): Promise<unknown> => {
    await assert.rejects(done, new OAuthError('invalid_grant', refused));
    // What names no grant is in the log of no organization.
    const [row] = world.sql('SELECT entry FROM audit_logs ORDER BY position DESC LIMIT 1');
    const { action, outcome, details } = JSON.parse(String(row!.entry));
    assert.deepEqual([action, outcome], ['oauth-grant.refused', 'denied']);
    return details.reason;
  };

  describe('’s code', () => {
    it('gives an access key for an hour and a refresh token, whatever time it takes', async () => {
      const code = await approve();
      world.tick(1);
      const { lifetime, scope, accessToken, refreshToken } = await exchange(code);
      world.tick(0);
      assert.deepEqual([lifetime, scope], [3_600, 'secrets:read']);
      assert.deepEqual([parseToken(accessToken)!.kind, parseToken(refreshToken)!.kind], ['vault', 'refresh']);
      const actions = (await world.audits(2)).map(({ action }) => action);
      assert.deepEqual(actions, ['access-key.created', 'oauth-grant.exchanged']);
    });

    const rows: [string, Partial<CodeRequest>, string | null][] = [
      ['as it was asked for', {}, null],
      ['without a client’s id', { clientId: null }, null],
      ['of another client', { clientId: 'other' }, 'the code was issued for another request'],
      [
        'for another resource',
        { resource: 'https://other.example/mcp' },
        'the code was issued for another request',
      ],
      ['to another address', { redirectUri: `${redirectUri}s` }, 'the code was issued for another request'],
      ['to no address', { redirectUri: null }, 'the code was issued for another request'],
      ['with another verifier', { verifier: 'w'.repeat(43) }, 'the verifier does not match the code'],
    ];
    for (const [what, more, reason] of rows)
      it(`is ${reason === null ? 'taken' : 'refused'} ${what}`, async () => {
        const code = await approve();
        if (reason !== null) {
          assert.equal(await reasonOf(exchange(code, more)), reason);
          const [{ subject, vault_id } = {}] = await world.audits(1);
          assert.deepEqual([subject?.id, subject?.name, vault_id], [idOf(code), 'Client', vaultId]);
        }
        await exchange(code, reason === null ? more : {});
      });

    it('is not known where it was made up, of a grant or of none', async () => {
      const code = await approve();
      const wrong = [mintToken('code', idOf(code)), mintToken('code', vaultId), 'x'];
      for (const token of [...wrong, mintToken('refresh', idOf(code))])
        assert.equal(await reasonOf(exchange(token)), 'unknown code', token);
      await exchange(code);
    });

    it('is good for a minute, and not at its end', async () => {
      const [one, other] = [await approve(), await approve()];
      world.pass(minute - 1);
      await exchange(one);
      world.pass(1);
      assert.equal(await reasonOf(exchange(other)), 'the code has expired');
    });

    it('that is used twice ends the grant', async () => {
      const code = await approve();
      const tokens = await exchange(code);
      assert.ok(await isLiving(tokens));
      assert.equal(await reasonOf(exchange(code)), 'the code was used before');
      const [, revoked, ended] = await world.audits(3);
      assert.deepEqual(
        [ended!.action, ended!.details.reason],
        ['oauth-grant.ended', 'its code was used twice'],
      );
      assert.equal(ended!.actor.kind, 'oauth-client');
      assert.deepEqual(
        [revoked!.action, revoked!.subject!.id],
        ['access-key.revoked', idOf(tokens.accessToken)],
      );
      assert.equal(await reasonOf(refresh(tokens.refreshToken)), 'unknown refresh token');
    });

    it('is nothing once its member may not give it any more', async () => {
      const other = await world.join('leaving@example.org', 'editor');
      const code = await approve({}, other);
      await world.domain.members.update(world.operator, other.memberId, { role: 'viewer' });
      assert.equal(await reasonOf(exchange(code)), 'the member may no longer grant it');
      await world.domain.members.remove(world.operator, other.memberId);
      assert.equal(await reasonOf(exchange(code)), 'the member may no longer grant it');
    });
  });

  describe('’s refresh token', () => {
    before(() => world.pass());

    const rows: [string, Partial<TokenRequest>, boolean][] = [
      ['by its client', {}, true],
      ['without a client’s id', { clientId: null }, true],
      ['by another client', { clientId: 'other' }, false],
      ['for another resource', { resource: 'https://other.example/mcp' }, false],
    ];
    for (const [what, more, isTaken] of rows)
      it(`is ${isTaken ? 'taken' : 'refused'} ${what}`, async () => {
        const { refreshToken } = await given();
        if (isTaken) await refresh(refreshToken, more);
        else {
          const reason = 'the refresh token was issued for another request';
          assert.equal(await reasonOf(refresh(refreshToken, more)), reason);
          await refresh(refreshToken);
        }
      });

    it('gives another hour, whatever time it takes, and tells of the key that changed', async () => {
      const { refreshToken } = await given();
      world.tick(1);
      const { lifetime } = await refresh(refreshToken);
      world.tick(0);
      assert.equal(lifetime, 3_600);
      const entries = (await world.audits(2)).map(({ action, details }) => [action, details.repeated]);
      assert.deepEqual(entries, [
        ['access-key.updated', undefined],
        ['oauth-grant.refreshed', false],
      ]);
    });

    it('is answered again in half a minute, which changes nothing', async () => {
      const { refreshToken } = await given();
      const first = await refresh(refreshToken);
      const stored = () =>
        world.sql('SELECT revision, updated_at FROM oauth_grants WHERE id = ?', idOf(refreshToken));
      const before = stored();
      const audited = (await world.audits(1))[0]!.id;
      world.pass(30_000 - 1);
      const again = await refresh(refreshToken);
      assert.deepEqual(again, { ...first, lifetime: 3_570 });
      assert.deepEqual(stored(), before);
      const [newest, other] = await world.audits(2);
      assert.deepEqual([newest!.action, newest!.details], ['oauth-grant.refreshed', { repeated: true }]);
      assert.equal(other!.id, audited, 'and nothing else is written down');
      world.pass(1);
      assert.equal(await reasonOf(refresh(refreshToken)), 'the refresh token was used before');
      assert.equal(await isLiving(first), false);
      const [, , ended] = await world.audits(3);
      assert.equal(ended!.details.reason, 'a refresh token was used twice');
    });

    it('is not known where it was made up, of a grant or of none, or where the code was not exchanged', async () => {
      const tokens = await given();
      const waiting = await approve();
      for (const token of [
        mintToken('refresh', idOf(tokens.refreshToken)),
        mintToken('refresh', vaultId),
        mintToken('refresh', idOf(waiting)),
        mintToken('code', idOf(tokens.refreshToken)),
        'x',
      ])
        assert.equal(await reasonOf(refresh(token)), 'unknown refresh token', token);
      assert.ok(await isLiving(tokens), 'and ends nothing');
      assert.ok(await exchange(waiting));
    });

    it('gives a key that ends with the grant, and none from then on', async () => {
      const { lifetime, refreshToken } = await given({ expires_in: 90 });
      assert.equal(lifetime, 90);
      world.pass(90_000 - 1_000);
      const next = await refresh(refreshToken);
      assert.equal(next.lifetime, 1);
      world.pass(1_000);
      assert.equal(await reasonOf(refresh(next.refreshToken)), 'the grant has ended');
    });

    it('is taken thirty times a minute for each grant, and is told when it is taken again', async () => {
      world.pass();
      let [{ refreshToken: token }, { refreshToken: other }] = [await given(), await given()];
      for (let count = 0; count < 30; count++) ({ refreshToken: token } = await refresh(token));
      world.pass(minute - 1_000);
      const isLimited = (error: unknown) =>
        error instanceof Failure && error.code === 'RATE_LIMITED' && error.retryAfter === 1;
      await assert.rejects(refresh(token), isLimited);
      ({ refreshToken: other } = await refresh(other));
      world.pass(1_000);
      await refresh(token);
    });

    it('that is not valid is refused sixty times a minute, and then not even looked for among earlier ones', async () => {
      const first = await given();
      const second = await refresh(first.refreshToken);
      const third = await refresh(second.refreshToken);
      world.pass();
      const forged = mintToken('refresh', idOf(first.refreshToken));
      for (let count = 0; count < 60; count++)
        await assert.rejects(refresh(forged), new OAuthError('invalid_grant', refused));
      world.pass(minute - 1_000);
      const isLimited = (error: unknown) =>
        error instanceof Failure && error.code === 'RATE_LIMITED' && error.retryAfter === 1;
      await assert.rejects(refresh(forged), isLimited);
      await assert.rejects(refresh(first.refreshToken), isLimited);
      assert.ok(await isLiving(third), 'it was not looked for');
      world.pass(1_000);
      assert.equal(await reasonOf(refresh(first.refreshToken)), 'the refresh token was used before');
      assert.equal(await isLiving(third), false);
    });

    const ends: [string, (tokens: Issued) => Promise<unknown> | unknown][] = [
      [
        'its access key was revoked',
        ({ accessToken }) => world.domain.accessKeys.remove(world.operator, idOf(accessToken), false),
      ],
      [
        'its access key is gone',
        ({ accessToken }) => world.sql('DELETE FROM credentials WHERE id = ?', idOf(accessToken)),
      ],
      [
        'its member may not read it any more',
        () => world.domain.members.update(world.operator, editor.memberId, { role: 'viewer' }),
      ],
    ];
    for (const [what, end] of ends)
      it(`ends the grant where ${what}`, async () => {
        const tokens = await given();
        await end(tokens);
        assert.equal(await reasonOf(refresh(tokens.refreshToken)), 'the grant has ended');
        const ended = (await world.audits(3)).find(({ action }) => action === 'oauth-grant.ended');
        assert.equal(
          ended!.details.reason,
          'its access key was revoked, or its member may no longer grant it',
        );
        assert.equal(await reasonOf(refresh(tokens.refreshToken)), 'unknown refresh token');
        await world.domain.members.update(world.operator, editor.memberId, { role: 'editor' });
      });
  });

  describe('as a whole', () => {
    before(() => world.pass());

    it('is given of a vault that its member may read, as far as they may', async () => {
      const viewer = await world.join('viewer@example.org', 'viewer');
      assert.match(await refusalOf(approve({ vault_id: editor.memberId })), /^NOT_FOUND/);
      assert.match(await refusalOf(approve({}, viewer)), /^FORBIDDEN: .*secrets:reveal/);
      await approve({ scopes: ['secrets:names'] }, viewer);
    });

    it('takes a fresh proof where it lasts longer than the session', async () => {
      const person = await world.join('proving@example.org', 'editor');
      const week = 7 * 24 * 3_600;
      await approve({ expires_in: week }, person);
      assert.match(await refusalOf(approve({ expires_in: week + 1 }, person)), /^PROOF_REQUIRED/);
      await approve({ expires_in: week + 1 }, await world.prove(person));
    });

    it('lasts for twelve hours where nothing is said', async () => {
      await approve();
      const [approved] = await world.audits(1);
      assert.equal(approved!.details.expiration_date, new Date(world.now() + 12 * hour).toISOString());
    });

    it('is one of fifty of a member; those that ended make room', async () => {
      const person = await world.join('many@example.org', 'editor');
      for (let count = 0; count < 50; count++) await approve({ expires_in: 60 }, person);
      assert.equal(
        await refusalOf(approve({}, person)),
        'CONFLICT: You can have at most 50 clients at a time; revoke some first',
      );
      world.pass(minute);
      await approve({}, await world.prove(person));
    });

    it('is listed while its access key can be used or refreshed', async () => {
      const person = await world.join('listing@example.org', 'editor');
      await approve({}, person);
      const whole = await given({}, person);
      const short = await given({ expires_in: 60 }, person);
      const [a, b] = [idOf(whole.refreshToken), idOf(short.refreshToken)];
      assert.deepEqual(await living(person), [b, a], 'newest first, and none whose code was not exchanged');
      world.pass(minute - 1);
      assert.deepEqual(await living(person), [b, a]);
      world.pass(1);
      assert.deepEqual(await living(person), [a], 'until it ends');
      world.pass(2 * hour);
      assert.deepEqual(await living(person), [a], 'and longer than the key, which can be refreshed');
      await world.domain.members.update(world.operator, person.memberId, { role: 'viewer' });
      assert.deepEqual(await living(person), [], 'and not where the member could not give it');
      await world.domain.members.update(world.operator, person.memberId, { role: 'editor' });
      assert.deepEqual(await living(person), [a]);
      const later = { ...person.person, account: { ...person.person.account, epoch: 99 } };
      assert.deepEqual(await living({ ...person, person: later }), [], 'and not after a reset');
      await world.domain.accessKeys.remove(world.operator, idOf(whole.accessToken), false);
      assert.deepEqual(await living(person), []);
      const gone = await given({}, await world.prove(person));
      world.sql('DELETE FROM credentials WHERE id = ?', idOf(gone.accessToken));
      assert.deepEqual(await living(person), []);
    });

    it('is ended by its member, and by no other', async () => {
      const [one, other] = [await given(), await given()];
      const owner = await world.join('owner@example.org', 'owner');
      assert.match(await refusalOf(oauth().grants.revoke(owner, idOf(one.refreshToken))), /^NOT_FOUND/);
      await oauth().grants.revoke(editor, idOf(one.refreshToken));
      const [revoked, ended] = await world.audits(2);
      assert.deepEqual([revoked!.action, revoked!.actor.kind], ['access-key.revoked', 'member']);
      assert.equal(ended!.details.reason, 'revoked by its member');
      assert.deepEqual([await isLiving(one), await isLiving(other)], [false, true]);
      const [key] = world.sql('SELECT revoked_at FROM credentials WHERE id = ?', idOf(one.accessToken));
      assert.equal(key!.revoked_at, world.now());
    });

    it('is ended by the operator of its organization', async () => {
      const tokens = await given();
      const id = idOf(tokens.refreshToken);
      const foreign = { ...world.operator, organizationId: vaultId };
      assert.match(await refusalOf(oauth().grants.endBy(foreign, id)), /^NOT_FOUND/);
      assert.match(await refusalOf(oauth().grants.endBy(world.operator, vaultId)), /^NOT_FOUND/);
      assert.ok(await isLiving(tokens));
      await oauth().grants.endBy(world.operator, id);
      assert.equal(await isLiving(tokens), false);
      const [, ended] = await world.audits(2);
      assert.equal(ended!.details.reason, 'ended by the operator');
    });

    it('is ended by whoever has its access key or its newest refresh token, and by nothing else', async () => {
      const tokens = await given();
      const plain = await world.domain.accessKeys.create(world.operator, {
        vault_id: vaultId,
        name: 'plain',
      });
      const waiting = await approve();
      for (const token of [
        'x',
        plain.token!,
        mintToken('vault', vaultId),
        mintToken('vault', idOf(tokens.accessToken)),
        mintToken('refresh', idOf(tokens.refreshToken)),
        mintToken('refresh', idOf(waiting)),
        mintToken('refresh', vaultId),
        waiting,
      ])
        await oauth().grants.revokeByToken(token, origin());
      assert.ok(await isLiving(tokens));
      await exchange(waiting);
      for (const which of ['accessToken', 'refreshToken'] as const) {
        const own = await given();
        await oauth().grants.revokeByToken(own[which], origin());
        assert.equal(await isLiving(own), false, which);
        const [, ended] = await world.audits(2);
        assert.equal(ended!.details.reason, 'revoked by its client');
      }
    });

    it('that ends with a revoked access key says nothing of that key again', async () => {
      const tokens = await given();
      await world.domain.accessKeys.remove(world.operator, idOf(tokens.accessToken), false);
      const revisionOf = () =>
        world.sql('SELECT revision FROM credentials WHERE id = ?', idOf(tokens.accessToken));
      const before = revisionOf();
      await oauth().grants.endBy(world.operator, idOf(tokens.refreshToken));
      assert.deepEqual(
        (await world.audits(2)).map(({ action }) => action),
        ['oauth-grant.ended', 'access-key.revoked'],
      );
      assert.deepEqual(revisionOf(), before);
      const gone = await given();
      world.sql('DELETE FROM credentials WHERE id = ?', idOf(gone.accessToken));
      await oauth().grants.endBy(world.operator, idOf(gone.refreshToken));
    });

    it('that was changed in the database is not believed', async () => {
      const tokens = await given();
      world.sql('UPDATE oauth_grants SET scope = ? WHERE id = ?', 'keys:read', idOf(tokens.refreshToken));
      await assert.rejects(refresh(tokens.refreshToken));
      await assert.rejects(oauth().grants.revokeByToken(tokens.accessToken, origin()));
      world.sql('DELETE FROM oauth_grants WHERE id = ?', idOf(tokens.refreshToken));
      const other = await given();
      world.sql('UPDATE credentials SET narrowing = ? WHERE id = ?', '{}', idOf(other.accessToken));
      await assert.rejects(refresh(other.refreshToken));
    });
  });
});
