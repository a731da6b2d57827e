/** Signing in and out, and the way to the issuer and back: what is answered, kept in cookies and told the operator. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { mountAuth } from '../src/http/routes/auth-visitors.ts';
import { signInRoutes } from '../src/http/routes/sign-in.ts';
import { signOnRoutes } from '../src/http/routes/sign-on.ts';
import { type AppAnswer, bareApp } from './bare-app.ts';

const ownPage = { origin: 'http://localhost:8080' };
const session = { cookie: '__Host-strongroom=session', ...ownPage };
const kept = { cookie: '__Host-strongroom-sso=kept', ...ownPage };
const cleared = '__Host-strongroom=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict';
const noSignOn = '__Host-strongroom-sso=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax';
const memberId = '0199a3c4-7f00-7abc-8def-000000000001';
const cookiesOf = ({ headers }: AppAnswer) => [headers['set-cookie'] ?? []].flat().map(String);

interface World {
  /** What calls of the domain answer, by their names. */
  readonly given?: Readonly<Record<string, unknown>>;
  readonly failing?: Readonly<Record<string, Error>>;
  readonly more?: object;
}

/** A double of accounts and of the issuer, which notes what it was asked for. */
function world({ given = {}, failing = {}, more = {} }: World = {}) {
  const calls: unknown[][] = [];
  const does =
    (name: string, usual: unknown = null) =>
    (...sent: unknown[]) => {
      calls.push([
        name,
        ...sent
          .filter(one => typeof one !== 'object' || one === null || one instanceof URL)
          .map(one => (one instanceof URL ? one.href : one)),
      ]);
      if (failing[name] !== undefined) throw failing[name];
      return name in given ? given[name] : usual;
    };
  const later = (name: string, usual: unknown = null) => {
    const act = does(name, usual);
    return async (...sent: unknown[]) => act(...sent);
  };
  const accounts = {
    joining: { setupRequired: later('setupRequired', false), hasJoined: later('hasJoined', true) },
    describe: later('describe', 'a person'),
    signIn: { byPassword: later('byPassword', 'new') },
    sessions: {
      recognise: later('recognise'),
      find: later('find', { session: { id: 'found' } }),
      end: later('end'),
      require: later('require', { session: { id: 'own' } }),
    },
    identities: {
      enter: later('enter', 'entered'),
      brief: later('brief', {}),
      choices: later('choices', []),
      choose: later('choose', 'chosen'),
      unanswered: async (_from: object, why: string) => does('unanswered')(why),
    },
    proofs: { proveByIdentity: later('proveByIdentity') },
    checkAddress: does('checkAddress'),
  };
  const singleSignOn = {
    name: 'Issuer',
    clientSecret: 'never told',
    start: later('start', { url: 'https://issuer.example/authorize', kept: 'asked' }),
    finish: later('finish', { identity: {}, proves: null }),
    keep: does('keep', 'identity'),
    kept: does('kept', { identity: {} }),
  };
  const app = bareApp(
    { accounts },
    (surface, parts, strangers) =>
      mountAuth(surface, parts, strangers, [
        ...signInRoutes(parts),
        ...signOnRoutes(parts, singleSignOn as never),
      ]),
    { singleSignOn, ...more },
  );
  return { calls, names: () => calls.map(([name]) => name), ...app };
}

describe('the state of a visitor', () => {
  const as = { session: { id: 'own' } };
  const rows: [
    given: Record<string, unknown>,
    headers: object,
    nobody: boolean,
    setup: boolean,
    person: string | null,
    isCleared: boolean,
  ][] = [
    [{}, {}, false, false, null, false],
    [{ hasJoined: false }, {}, true, false, null, false],
    [{ hasJoined: false, setupRequired: true }, {}, false, true, null, false],
    [{ setupRequired: true }, {}, false, true, null, false],
    [{ recognise: as }, session, false, false, 'a person', false],
    [{ recognise: as, hasJoined: false }, session, false, false, 'a person', false],
    [{}, session, false, false, null, true],
    [{ recognise: as }, {}, false, false, 'a person', false],
  ];
  for (const [given, headers, nobody, setup, person, isCleared] of rows)
    it(`is told ${JSON.stringify(given)} with ${JSON.stringify(headers)}`, async () => {
      const { send } = world({ given });
      const answer = await send('GET', '/auth/state', undefined, headers as Record<string, string>);
      assert.deepEqual(answer.body, {
        setup_required: setup,
        nobody_joined: nobody,
        signed_in: person,
        methods: { password: true, passkey: true, oidc: { name: 'Issuer' } },
        version: '1.2.3',
        base_url: 'http://localhost:8080',
      });
      assert.deepEqual(cookiesOf(answer), isCleared ? [cleared] : []);
    });

  it('knows of no issuer where there is none', async () => {
    const { body } = await world({ more: { singleSignOn: null } }).send('GET', '/auth/state');
    assert.equal(body.methods.oidc, null);
  });
});

describe('signing in and out', () => {
  it('sets the cookie of the new session for 12 hours or however long one lasts', async () => {
    const { send } = world();
    const answer = await send(
      'POST',
      '/auth/password',
      { email: 'a@example.org', password: 'password' },
      ownPage,
    );
    assert.deepEqual([answer.status, answer.body.signed_in], [200, 'a person'], answer.text);
    assert.match(
      cookiesOf(answer)[0]!,
      /^__Host-strongroom=new; Path=\/; Max-Age=[1-9]\d+; HttpOnly; Secure; SameSite=Strict$/,
    );
  });

  it('ends the session that is there, and removes its cookie in any case', async () => {
    for (const [as, ended] of [
      [{ session: { id: 'own' } }, [['end', 'own']]],
      [null, []],
    ] as const) {
      const { send, calls } = world({ given: { recognise: as } });
      const answer = await send('POST', '/auth/sign-out', undefined, session);
      assert.deepEqual([answer.status, answer.body, cookiesOf(answer)], [200, {}, [cleared]]);
      assert.deepEqual(calls, [['recognise', 'session'], ...ended]);
    }
  });
});

describe('the way to the issuer', () => {
  const start = (query: string, options: World = {}) => {
    const { send, ...rest } = world(options);
    return {
      ...rest,
      answer: send('GET', `/auth/oidc/start${query}`, undefined, { cookie: session.cookie }),
    };
  };
  const callback = 'http://localhost:8080/auth/oidc/callback';

  it('begins with what the browser has to bring back, within ten minutes', async () => {
    const { answer, calls } = start('');
    const { status, headers } = await answer;
    assert.deepEqual([status, headers.location], [302, 'https://issuer.example/authorize']);
    assert.deepEqual(cookiesOf(await answer), [
      '__Host-strongroom-sso=asked; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax',
    ]);
    assert.deepEqual(calls, [['start', callback, null]]);
  });

  it('proves again who is signed in, where that is asked for', async () => {
    const { answer, calls } = start('?prove=1');
    assert.equal((await answer).headers.location, 'https://issuer.example/authorize');
    assert.deepEqual(calls, [
      ['require', 'session'],
      ['start', callback, 'own'],
    ]);
    const over = start('?prove', { failing: { require: new Failure('UNAUTHORIZED') } });
    assert.equal((await over.answer).headers.location, '/sign-in?error=UNAUTHORIZED');
    assert.equal(over.calls.length, 1);
  });

  const cause = new Error('the issuer is away');
  const failures: [error: Error, location: string | undefined, told: 'cause' | 'itself' | null][] = [
    [new Failure('UNAUTHORIZED', { cause }), '/sign-in?error=UNAUTHORIZED', 'cause'],
    [new Failure('UNAUTHORIZED'), '/sign-in?error=UNAUTHORIZED', 'itself'],
    [new Failure('INTERNAL_ERROR', { cause }), '/sign-in?error=INTERNAL_ERROR', 'cause'],
    [new Failure('UNAVAILABLE', { cause }), '/sign-in?error=UNAVAILABLE', 'cause'],
    [new Failure('RATE_LIMITED', { cause }), '/sign-in?error=RATE_LIMITED', null],
    [new Failure('FORBIDDEN', { cause }), '/sign-in?error=FORBIDDEN', null],
    [cause, undefined, 'itself'],
  ];
  for (const [error, location, told] of failures)
    it(`ends on the sign-in page after ${error instanceof Failure ? error.code : 'a fault'}, and tells the operator ${told}`, async () => {
      const { answer, errors } = start('', { failing: { start: error } });
      const { status, headers } = await answer;
      assert.deepEqual([status, headers.location], [location === undefined ? 500 : 302, location]);
      assert.deepEqual(cookiesOf(await answer), location === undefined ? [] : [noSignOn]);
      assert.deepEqual(errors, told === null ? [] : [told === 'cause' ? cause : error]);
    });
});

describe('the way back from the issuer', () => {
  const finish = async (options: World = {}) => {
    const { send, calls, names, errors } = world(options);
    const answer = await send('GET', '/auth/oidc/callback?code=c', undefined, kept);
    return {
      answer,
      location: answer.headers.location,
      cookies: cookiesOf(answer),
      calls,
      names: names(),
      errors,
    };
  };
  const newSession = (token: string, cookies: string[]) => {
    assert.equal(cookies[0], noSignOn);
    assert.match(
      cookies[1]!,
      new RegExp(
        `^__Host-strongroom=${token}; Path=/; Max-Age=[1-9]\\d+; HttpOnly; Secure; SameSite=Strict$`,
      ),
    );
    assert.equal(cookies.length, 2);
  };

  it('signs in who may', async () => {
    const { location, cookies, calls } = await finish();
    assert.equal(location, '/');
    newSession('entered', cookies);
    assert.deepEqual(calls, [
      ['checkAddress'],
      ['finish', 'http://localhost:8080/auth/oidc/callback?code=c', 'kept'],
      ['enter'],
    ]);
  });

  it('has a person choose who has more than one membership', async () => {
    const { location, cookies, names } = await finish({ given: { enter: null } });
    assert.equal(location, '/sign-in/choose');
    assert.deepEqual(cookies, [
      '__Host-strongroom-sso=identity; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax',
    ]);
    assert.deepEqual(names, ['checkAddress', 'finish', 'enter', 'brief', 'keep']);
  });

  it('proves who is signed in already, and signs nobody in for it', async () => {
    const { location, cookies, calls } = await finish({ given: { finish: { identity: {}, proves: 'own' } } });
    assert.deepEqual([location, cookies], ['/settings/security', [noSignOn]]);
    assert.deepEqual(calls.slice(2), [['proveByIdentity', 'own']]);
  });

  it('asks the issuer nothing for an address that failed too often', async () => {
    const { location, names } = await finish({ failing: { checkAddress: new Failure('RATE_LIMITED') } });
    assert.deepEqual([location, names], ['/sign-in?error=RATE_LIMITED', ['checkAddress']]);
  });

  const cause = new Error('the state does not match');
  it('writes down what was refused, and why, and counts it', async () => {
    const { location, cookies, calls, errors } = await finish({
      failing: { finish: new Failure('UNAUTHORIZED', { cause }) },
    });
    assert.deepEqual([location, cookies], ['/sign-in?error=UNAUTHORIZED', [noSignOn]]);
    assert.deepEqual(calls.slice(2), [['checkAddress'], ['unanswered', 'the state does not match']]);
    assert.deepEqual(errors, [cause]);
    for (const error of [
      new Failure('UNAVAILABLE', { cause }),
      Object.assign(new Error('broken', { cause }), { code: 'UNAUTHORIZED' }),
    ]) {
      const other = await finish({ failing: { finish: error } });
      assert.deepEqual(other.names, ['checkAddress', 'finish']);
      assert.equal(other.answer.status, error instanceof Failure ? 302 : 500);
    }
  });
});

describe('the choice of a membership', () => {
  const choices = async (options: World = {}) => {
    const { send, ...rest } = world(options);
    return { answer: await send('GET', '/auth/oidc/choices', undefined, kept), ...rest };
  };
  const choose = async (options: World = {}) => {
    const { send, ...rest } = world(options);
    return { answer: await send('POST', '/auth/oidc/choose', { member_id: memberId }, kept), ...rest };
  };

  it('is among those of the person whom the issuer vouched for', async () => {
    const { answer, calls } = await choices({ given: { choices: ['one'] } });
    assert.deepEqual([answer.status, answer.body], [200, { data: ['one'] }]);
    assert.deepEqual(calls, [['kept', 'kept'], ['choices']]);
  });

  it('signs in as that member', async () => {
    const { answer, calls } = await choose();
    assert.deepEqual([answer.status, answer.body], [200, {}]);
    assert.deepEqual(
      cookiesOf(answer).map(cookie => cookie.split(';')[0]),
      ['__Host-strongroom-sso=', '__Host-strongroom=chosen'],
    );
    assert.deepEqual(calls, [
      ['kept', 'kept'],
      ['choose', memberId],
    ]);
  });

  it('is refused without what the issuer vouched for, which is written down', async () => {
    const cause = new Error('it is over');
    for (const made of [
      await choices({ failing: { kept: new Failure('UNAUTHORIZED', { cause }) } }),
      await choose({ failing: { kept: new Failure('UNAUTHORIZED', { cause }) } }),
    ]) {
      assert.deepEqual([made.answer.status, cookiesOf(made.answer)], [401, []]);
      assert.deepEqual(made.calls.slice(1), [['checkAddress'], ['unanswered', 'it is over']]);
      assert.deepEqual(made.errors, [cause]);
    }
    for (const made of [
      await choices({ failing: { choices: new Failure('FORBIDDEN') } }),
      await choose({ failing: { choose: new Failure('FORBIDDEN') } }),
    ]) {
      assert.deepEqual([made.answer.status, cookiesOf(made.answer), made.errors], [403, [], []]);
    }
  });

  it('is not even written down for an address that failed too often', async () => {
    const { answer, names } = await choices({
      failing: {
        kept: new Failure('UNAUTHORIZED', { cause: new Error('x') }),
        checkAddress: new Failure('RATE_LIMITED'),
      },
    });
    assert.deepEqual([answer.status, names()], [429, ['kept', 'checkAddress']]);
  });
});
