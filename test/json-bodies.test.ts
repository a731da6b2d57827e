/** JSON from strangers, and how failures are told: by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Failure, type FailureCode, invalid } from '../src/contract/errors.ts';
import { errorBody, failureHeaders, failureOf, messageBody } from '../src/http/listener/errors.ts';
import { parseJson } from '../src/http/listener/json.ts';

const bytesOf = (text: string) => Buffer.from(text);
function refusalOf(body: string | Uint8Array): string | null {
  try {
    parseJson(typeof body === 'string' ? bytesOf(body) : body);
    return null;
  } catch (error) {
    assert.ok(error instanceof Failure);
    assert.equal(error.code, 'INVALID_REQUEST');
    return `${error.field} ${error.reason}`.trim();
  }
}

describe('a body in JSON', () => {
  it('is what any parser makes of it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
        const text = JSON.stringify(value, null, 1);
        if (!text.includes('"__proto__"')) assert.deepEqual(parseJson(bytesOf(text)), JSON.parse(text));
      }),
    );
  });

  it('is read from its own bytes alone', () => {
    const pool = bytesOf('xx{"a":1}yy');
    assert.deepEqual(parseJson(pool.subarray(2, -2)), { a: 1 });
  });

  const valid = 'the body must be valid JSON';
  const deep = 'the body must not be nested deeper than 32 levels';
  const rows: [body: string, refusal: string | null][] = [
    ['1', null],
    ['', valid],
    ['{', valid],
    ['}', valid],
    [']{"a":1,"b":2}', valid],
    ['{"a":1}x', valid],
    ['"a', valid],
    ['"a\\"', valid],
    ['"a\\\\"', null],
    ['{"a', valid],
    ['{"\\x":1}', valid],
    ['"\\x"', valid],
    ['{"a\n":1}', valid],
    ['['.repeat(32) + ']'.repeat(32), null],
    ['['.repeat(33) + ']'.repeat(33), deep],
    ['{"a":'.repeat(33), deep],
    [`${'{"a":'.repeat(32)}1${'}'.repeat(32)}`, null],
    ['['.repeat(1_000_000), deep],
    [`[${'[],'.repeat(100)}1]`, null],
    [`"${'['.repeat(100)}"`, null],
    ['{"a":1,"a":2}', 'a must be given once'],
    ['{"a":1,"\\u0061":2}', 'a must be given once'],
    ['{"a":{"a":1},"b":{"a":1}}', null],
    ['{"a":{"b":1},"a":1}', 'a must be given once'],
    ['{"a":[1],"a":1}', 'a must be given once'],
    ['{"b":[{"a":1},{"a":1}]}', null],
    ['[{"a":1,"a":1}]', 'a must be given once'],
    ['["a","a"]', null],
    ['{"a":"a","b":"a"}', null],
    ['{"a":["a","a"],"c":"a"}', null],
    ['{"a":"b","b":"c"}', null],
    ['{"":1,"":2}', 'must be given once'],
    ['{"a\\u0000":1,"a\\u0000":2}', 'must be given once'],
    [`{"${'a'.repeat(130)}":1,"${'a'.repeat(130)}":2}`, `${'a'.repeat(128)} must be given once`],
    ['{"__proto__":1}', '__proto__ is not a field of this request'],
    ['{"\\u005f_proto__":1}', '__proto__ is not a field of this request'],
    ['{"a":{"b":1,"__proto__":1}}', '__proto__ is not a field of this request'],
    ['{"a":"__proto__"}', null],
    ['["__proto__"]', null],
    ['{"constructor":1}', null],
  ];
  for (const [body, refusal] of rows)
    it(`${body.length > 50 ? `${body.slice(0, 20)}… of ${body.length}` : JSON.stringify(body)} is ${refusal === null ? 'taken' : `refused: ${refusal.slice(0, 60)}`}`, () => {
      assert.equal(refusalOf(body), refusal);
      if (refusal === null) assert.deepEqual(parseJson(bytesOf(body)), JSON.parse(body));
    });

  it('in another encoding is refused, not mended', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ])
      assert.equal(refusalOf(Uint8Array.from(bytes)), 'the body must be valid UTF-8');
  });
});

describe('a failure', () => {
  const own = new Failure('CONFLICT');
  const errors: [error: unknown, code: FailureCode, field?: string, retryAfter?: number][] = [
    [{ code: 'FST_ERR_MAX_PARAM_LENGTH', statusCode: 414 }, 'NOT_FOUND'],
    [{ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE', statusCode: 415 }, 'INVALID_REQUEST', 'content-type'],
    [{ code: 'FST_ERR_CTP_INVALID_CONTENT_LENGTH', statusCode: 400 }, 'INVALID_REQUEST', 'content-length'],
    [{ statusCode: 503 }, 'UNAVAILABLE', '', 1],
    [{ statusCode: 400 }, 'INVALID_REQUEST'],
    [{ statusCode: 499 }, 'INVALID_REQUEST'],
    [{ statusCode: 399 }, 'INTERNAL_ERROR'],
    [{ statusCode: 500 }, 'INTERNAL_ERROR'],
    [{ code: 'SQLITE_BUSY' }, 'INTERNAL_ERROR'],
    [new Error('inner'), 'INTERNAL_ERROR'],
    ['text', 'INTERNAL_ERROR'],
  ];
  for (const [error, code, field = '', retryAfter] of errors)
    it(`from ${JSON.stringify(error)} is ${code}`, () => {
      const failure = failureOf(error);
      assert.deepEqual([failure.code, failure.field, failure.retryAfter], [code, field, retryAfter]);
      assert.doesNotMatch(JSON.stringify(errorBody(failure)), /inner|SQLITE/);
      if (code === 'INTERNAL_ERROR') assert.equal(failure.cause, error);
    });
  it('of our own stays what it is', () => assert.equal(failureOf(own), own));

  it('is told with its field and reason, and in the general words of its status', () => {
    assert.deepEqual(errorBody(invalid('name', 'must be a string')), {
      error: {
        code: 'INVALID_REQUEST',
        message: 'The request is not valid',
        details: { field: 'name', reason: 'must be a string' },
      },
    });
    const codes: FailureCode[] = ['NOT_ACTIVE', 'EXPIRED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'];
    assert.deepEqual(
      codes.map(code => errorBody(new Failure(code)).error.code),
      ['FORBIDDEN', 'NOT_FOUND', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'],
    );
  });

  it('is told in one sentence at the vault endpoint', () => {
    assert.deepEqual(messageBody(invalid('name', 'must be a string')), { message: 'name must be a string' });
    assert.deepEqual(messageBody(invalid('', 'the body is wrong')), { message: 'the body is wrong' });
    assert.deepEqual(messageBody(new Failure('EXPIRED')), { message: 'Resource expired' });
  });

  it('is kept by nobody, asks for a credential where one is missing, and says when to come back', () => {
    const kept = { 'Cache-Control': 'no-store' };
    assert.deepEqual(failureHeaders(new Failure('FORBIDDEN')), kept);
    assert.deepEqual(failureHeaders(new Failure('UNAUTHORIZED')), { ...kept, 'WWW-Authenticate': 'Bearer' });
    assert.deepEqual(failureHeaders(new Failure('RATE_LIMITED', { retryAfter: 0 })), {
      ...kept,
      'Retry-After': '0',
    });
  });
});
