/** Names that people read have no characters that people can't see: every field of every body that takes one. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Document, type Json, type Operation } from './document.ts';
import { type Browser, type EmptyService, setUp, startEmpty } from './people.ts';

const id = '01890000-0000-7000-8000-000000000000';

/** Fields that hold a name, and those of them that look one up: what exists is found by the name that it has. */
const named = /^(name|client|host|email|organization|display_name|client_name)$/;
const lookUps: Readonly<Record<string, readonly string[]>> = {
  'POST /auth/password': ['email', 'organization'],
};

/** One or more of each kind that is not drawn, or that no font knows. */
const unseen = [
  ...[
    '\u00ad',
    '\u061c',
    '\u180e',
    '\u200b',
    '\u200c',
    '\u200d',
    '\u200e',
    '\u202e',
    '\u2060',
    '\u2066',
    '\ufeff',
    '\ufff9',
  ],
  ...[
    '\u034f',
    '\u115f',
    '\u1160',
    '\u17b4',
    '\u3164',
    '\uffa0',
    '\u2800',
    '\ufe00',
    '\ufe0f',
    '\u180b',
    '\u{e0100}',
  ],
  ...[
    '\u{e0041}',
    '\u{e007f}',
    '\u{1d173}',
    '\ue000',
    '\u{f0000}',
    '\u{10fffd}',
    '\u0378',
    '\u{e0fff}',
    '\ufdd0',
  ],
];

describe('names that people read', () => {
  let service: EmptyService;
  let owner: Browser;
  let document: Document;

  before(async () => {
    service = await startEmpty('sqlite', ['--oauth', 'offered', '--oauth-registration']);
    owner = await setUp(service);
    await owner.prove();
    document = new Document((await owner.get('/v1/openapi.json')).body);
  });
  after(() => service.stop());

  function fieldsOf({ value }: Operation): string[] {
    let schema: Json = value.requestBody?.content['application/json'].schema ?? {};
    while (schema.$ref !== undefined)
      schema = schema.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, part: string) => at[part], document.value);
    return Object.keys(schema.properties ?? {}).filter(field => named.test(field));
  }

  it('contain nothing that is not seen, whichever body gives them', async () => {
    const tried: string[] = [];
    for (const operation of [...document.operations('/v1/'), ...document.operations('/auth/')]) {
      const { method, path } = operation;
      const route = `${method} ${path}`;
      for (const field of fieldsOf(operation).filter(one => !lookUps[route]?.includes(one))) {
        tried.push(`${route} ${field}`);
        const example = document.requestExample(operation);
        for (const hidden of unseen) {
          const body = {
            ...example,
            [field]: field === 'email' ? `a${hidden}b@example.org` : `pay${hidden}roll`,
          };
          const answer = await owner.once(method, path.replace(/\{\w+\}/, id), body);
          assert.equal(answer.status, 400, `${route} ${field} ${escape(hidden)}: ${answer.text}`);
          assert.deepEqual(
            [answer.body.error.details.field, /invisible|control/.test(answer.body.error.details.reason)],
            [field, true],
            `${route} ${escape(hidden)}: ${answer.text}`,
          );
        }
        service.clock.pass(61_000);
      }
    }
    assert.ok(tried.length >= 25, tried.join('\n'));
  });

  it('may be of any script, with marks and signs that are seen', async () => {
    for (const name of ['Zoë', 'Ωμέγα', '日本語', 'עברית', 'हिन्दी', 'naïve 🙂', 'a b', 'x/y:z@1'])
      assert.equal((await owner.post('/v1/vaults', { name })).status, 200, name);
  });

  it('are looked up as they are: what had such a name before is found by it', async () => {
    const signIn = { email: 'owner@example.org', password: 'wrong password', organization: 'Ac\u200bme' };
    assert.equal((await owner.once('POST', '/auth/password', signIn)).status, 401);
    const { body: vault } = await owner.post('/v1/vaults', { name: 'look-ups' });
    const items = [{ name: 'a\u200bb', value: 'x' }];
    const compared = await owner.post('/v1/secrets/compare', { vault_id: vault.id, items });
    assert.equal(compared.status, 200, compared.text);
    assert.equal(compared.body.results[0].name, 'a\u200bb');
  });

  it('of OAuth clients that register themselves obey the same rule', async () => {
    const client = { client_name: 'Trusted\u200b', redirect_uris: ['http://127.0.0.1/callback'] };
    const refused = await owner.once('POST', '/oauth/register', client);
    assert.equal(refused.status, 400, refused.text);
    const taken = await owner.once('POST', '/oauth/register', { ...client, client_name: 'Trusted' });
    assert.ok(taken.status < 300, taken.text);
  });
});
