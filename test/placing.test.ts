/** Where the value goes in each kind of place, and which messages have no room for it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Placement } from '../src/contract/use-rules.ts';
import { parsedCall } from '../src/domain/uses/judging.ts';
import { placed, placeInWords, secretOf, shownPlaced } from '../src/domain/uses/placing.ts';
import type { CallRule } from '../src/domain/uses/rule-records.ts';
import { judged, needsApproval, verdictOf } from '../src/domain/uses/verdicts.ts';

type Sent = Parameters<typeof parsedCall>[0];
const url = 'https://api.example.com/x';

function message(place: Placement, value: string, sent: Partial<Sent> = {}) {
  const call = parsedCall({ method: 'POST', url, ...sent });
  const { body, ...rest } = placed(place, call, value);
  return { ...rest, body: body?.toString() ?? null };
}

function refusal(place: Placement, value: string, sent: Partial<Sent> = {}): string | null {
  try {
    message(place, value, sent);
    return null;
  } catch (error) {
    return (error as { field: string }).field;
  }
}

const bearer: Placement = { type: 'bearer' };
const header: Placement = { type: 'header', name: 'x-key' };
const pair: Placement = { type: 'basic', username: null };
const basic: Placement = { type: 'basic', username: 'me' };
const query: Placement = { type: 'query', name: 'key' };
const json: Placement = { type: 'json', pointer: '/auth/a~1b~0' };
const form: Placement = { type: 'form', field: 'key' };
const base64 = (text: string) => Buffer.from(text).toString('base64');
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

describe('a value', () => {
  it('goes into a header, with its prefix', () => {
    assert.deepEqual(message(bearer, 'v w', { headers: { accept: 'a' } }), {
      url,
      body: null,
      headers: { accept: 'a', authorization: 'Bearer v w' },
    });
    assert.equal(message(header, 'v').headers['x-key'], 'v');
    assert.equal(message({ ...header, prefix: 'Token ' }, 'v').headers['x-key'], 'Token v');
  });

  it('goes into a pair as the password, or is the pair', () => {
    assert.equal(message(basic, 'ü:w').headers.authorization, `Basic ${base64('me:ü:w')}`);
    assert.equal(message(pair, 'a:b').headers.authorization, `Basic ${base64('a:b')}`);
  });

  it('goes behind the query', () => {
    assert.equal(message(query, 'a&b', { method: 'GET' }).url, `${url}?key=a%26b`);
    assert.equal(message(query, 'v', { url: `${url}?a=1` }).url, `${url}?a=1&key=v`);
  });

  it('goes into a field of JSON, and makes the objects around it', () => {
    const headers = { 'content-type': 'application/json' };
    assert.deepEqual(message(json, '"'), { url, headers, body: '{"auth":{"a/b~":"\\""}}' });
    assert.equal(message(json, 'v', { body: '{"auth":{},"n":1.0}' }).body, '{"auth":{"a/b~":"v"},"n":1.0}');
    assert.equal(message(json, 'v', { body: '{"auth":{"c":1}}' }).body, '{"auth":{"a/b~":"v","c":1}}');
    assert.equal(
      message(json, 'v', { body: ' {"n" : [ 1, {} ] }' }).body,
      ' {"auth":{"a/b~":"v"},"n" : [ 1, {} ] }',
    );
    for (const rest of [
      '"n":[]',
      '"n":"}\\"{","m":[ "]" , "\\\\" , [ ] ]',
      '"n":-1.50e+3 , "m":true\n,"o":null\t',
      '"":{ "auth" : { } }\r\n',
    ])
      assert.equal(message(json, 'v', { body: `{${rest}}` }).body, `{"auth":{"a/b~":"v"},${rest}}`);
    assert.equal(
      message(json, 'v', { body: '{"x":1,"auth" : {\n"c":1}}' }).body,
      '{"x":1,"auth" : {"a/b~":"v",\n"c":1}}',
    );
    assert.equal(
      message({ type: 'json', pointer: '/a/b/c' }, 'v', { body: '{"a":{"b":{}}}' }).body,
      '{"a":{"b":{"c":"v"}}}',
    );
    assert.equal(
      message({ type: 'json', pointer: '/a/b/c' }, 'v', { body: '{"a":{}}' }).body,
      '{"a":{"b":{"c":"v"}}}',
    );
    assert.equal(message({ type: 'json', pointer: '/a' }, 'v', { body: ' { }' }).body, ' {"a":"v" }');
    const own: Sent['headers'] = { 'content-type': 'application/vnd.api+json; charset=UTF-8' };
    assert.deepEqual(message(json, 'v', { headers: own }).headers, own);
  });

  it('goes behind the fields of a form', () => {
    assert.deepEqual(message(form, 'a b&'), { url, headers: formType, body: 'key=a+b%26' });
    assert.equal(message(form, 'v', { body: 'a=1' }).body, 'a=1&key=v');
    const loud = { 'content-type': 'APPLICATION/x-www-form-urlencoded' };
    assert.deepEqual(message(form, 'v', { headers: loud }).headers, formType);
  });

  const refusals: [field: string | null, place: Placement, value: string, sent?: Partial<Sent>][] = [
    ['secret', bearer, 'a\nb'],
    ['secret', bearer, 'ü'],
    ['secret', bearer, 'a '],
    ['secret', header, ''],
    ['secret', header, ' a'],
    [null, header, 'a'],
    ['secret', basic, 'a\u0000'],
    ['secret', pair, 'no colon'],
    [null, pair, ':'],
    ['url', query, 'v', { url: `${url}?key=1` }],
    ['url', query, 'v', { url: `${url}?a=1&KEY` }],
    ['url', query, 'v', { url: `${url}?a=1;key=2` }],
    ['url', query, 'v', { url: `${url}?+key=2` }],
    [null, query, 'v', { url: `${url}?keys=1` }],
    ['headers', json, 'v', { headers: { 'content-type': 'text/plain' } }],
    ['headers', json, 'v', { headers: { 'content-type': 'application/json; charset=utf-16' } }],
    ['body', json, 'v', { body: '[]' }],
    ['body', json, 'v', { body: '{' }],
    ['body', json, 'v', { body: '{"auth":1}' }],
    ['body', json, 'v', { body: '{"auth":{"a/b~":1}}' }],
    ['body', json, 'v', { body: '{"auth":{"a/b~":{}}}' }],
    ['body', json, 'v', { body: '{"auth":[]}' }],
    ['body', json, 'v', { body: '{"\\u0061uth":null}' }],
    ['body', json, 'v', { body: '1' }],
    ['body', json, 'v', { body: '"{}"' }],
    ['body', json, 'v', { body: '\ufeff{}' }],
    ['body', json, 'v', { body: '{"n":1,"n":2}' }],
    ['body', json, 'v', { body: '{"n":1,"\\u006e":2}' }],
    ['body', json, 'v', { body: '{"n":[{"m":1,"m":2}]}' }],
    [null, json, 'v', { body: '{"n":[{"m":1},{"m":2}]}' }],
    ['body', json, 'v', { body: `{"n":${'['.repeat(100)}1${']'.repeat(100)}}` }],
    [null, json, 'v', { body: `{"n":${'['.repeat(100)}${']'.repeat(100)}}` }],
    ['body', json, 'v', { body: `{"n":${'['.repeat(101)}${']'.repeat(101)}}` }],
    [null, json, 'v', { body: `{"n":${'['.repeat(99)}1${']'.repeat(99)}}` }],
    ['body', json, 'v', { body: `${'{"n":'.repeat(101)}1${'}'.repeat(101)}` }],
    [null, json, 'v', { body: `${'{"n":'.repeat(100)}1${'}'.repeat(100)}` }],
    ['headers', form, 'v', { headers: { 'content-type': 'application/json' } }],
    ['body', form, 'v', { body: 'key=1' }],
    ['body', form, 'v', { body: 'a b' }],
    [null, form, 'v', { body: 'keys=1' }],
  ];
  for (const [field, place, value, sent] of refusals)
    it(`${field === null ? 'fits' : `does not fit (${field})`}: ${JSON.stringify([place, value, sent]).slice(0, 120)}`, () =>
      assert.equal(refusal(place, value, sent), field));

  it('is shown as a placeholder, in the very message', () => {
    const shown = (place: Placement, sent: Partial<Sent> = {}) => {
      const { body, headers, url: to } = shownPlaced(place, parsedCall({ method: 'POST', url, ...sent }));
      return [to, headers.authorization ?? headers['x-key'], body?.toString()];
    };
    assert.deepEqual(shown(bearer), [url, 'Bearer [value]', undefined]);
    assert.deepEqual(shown(header), [url, '[value]', undefined]);
    assert.deepEqual(shown(pair), [url, 'Basic [value], in base64', undefined]);
    assert.deepEqual(shown(basic), [url, 'Basic me:[value], in base64', undefined]);
    assert.deepEqual(shown(query), [`${url}?key=[value]`, undefined, undefined]);
    assert.deepEqual(shown(json), [url, undefined, '{"auth":{"a/b~":"[value]"}}']);
    assert.deepEqual(shown(form, { body: 'a=1' }), [url, undefined, 'a=1&key=[value]']);
  });

  it('is the password alone where the value is a pair', () => {
    assert.equal(secretOf(pair, 'user:pass:word'), 'pass:word');
    assert.equal(secretOf(basic, 'user:pass'), 'user:pass');
    for (const place of [bearer, header, query, json, form])
      assert.equal(secretOf(place, 'user:pass'), 'user:pass');
  });

  it('has a place that a person can read', () => {
    assert.deepEqual([bearer, header, basic, query, json, form].map(placeInWords), [
      'in the Authorization header, as a bearer token',
      'in the header x-key',
      'in the Authorization header, as a user name and password',
      'in the query parameter key',
      'in the JSON field /auth/a~1b~0',
      'in the form field key',
    ]);
  });
});

describe('the rules of a secret', () => {
  const rule = (id: string, change: Partial<CallRule>) =>
    ({
      id,
      name: `rule ${id}`,
      hosts: ['api.example.com'],
      methods: ['GET', 'POST'],
      paths: ['/**'],
      request_headers: [],
      max_request: 10,
      approval: 'writes',
      ...change,
    }) as CallRule;
  const call = parsedCall({ url });
  const post = parsedCall({ url, method: 'POST' });
  const other = rule('1', { hosts: ['other.example.com'] });

  it('allow by the first that does, and say why each of the others does not', () => {
    const [second, third] = [rule('2', {}), rule('3', {})];
    assert.equal(judged([other, second, third], call).rule, second);
    const reason = 'is not among the hosts of the rule';
    assert.deepEqual(judged([other], call), {
      rule: null,
      refusals: [{ rule: '1', name: 'rule 1', field: 'url', reason }],
    });
    assert.deepEqual(verdictOf([other, second], post), {
      allowed: true,
      rule: '2',
      approval: true,
      refusals: [],
    });
    assert.deepEqual(verdictOf([other], call), {
      allowed: false,
      rule: null,
      approval: false,
      refusals: [{ rule: '1', name: 'rule 1', field: 'url', reason }],
    });
  });

  it('ask for an approval always, for what changes something, or never', () => {
    for (const [approval, ofGet, ofPost] of [
      ['always', true, true],
      ['writes', false, true],
      ['never', false, false],
    ] as const) {
      assert.equal(needsApproval(rule('1', { approval }), call), ofGet);
      assert.equal(needsApproval(rule('1', { approval }), post), ofPost);
    }
  });
});
