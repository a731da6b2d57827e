/** How failures at the tool endpoint are told, and how its tools are listed: by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure, invalid } from '../src/contract/errors.ts';
import { failureHeaders, failureOf } from '../src/http/listener/errors.ts';
import { answerError, badRequest } from '../src/mcp/error-answers.ts';
import type { HttpSurface } from '../src/mcp/http-surface.ts';
import { instructions, listingFor } from '../src/mcp/listing.ts';
import { RpcError } from '../src/mcp/messages.ts';
import { type Challenge, noKey, SignInRequired } from '../src/mcp/sign-in.ts';

interface Given {
  readonly body?: unknown;
  readonly complete?: boolean;
  /** Null for a service without OAuth. */
  readonly challenge?: ((challenge: Challenge) => string | null) | null;
}

function answered(error: unknown, given: Given = {}) {
  const { body, complete, challenge } = { body: {}, complete: true, challenge: null, ...given };
  const headers: Record<string, string> = {};
  const told: { status: number; type: string; sent: unknown; errors: unknown[] } = {
    status: 0,
    type: '',
    sent: null,
    errors: [],
  };
  const reply = {
    header: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
      return reply;
    },
    headers: (all: Record<string, string>) => {
      for (const [name, value] of Object.entries(all)) reply.header(name, value);
      return reply;
    },
    code: (status: number) => {
      told.status = status;
      return reply;
    },
    type: (type: string) => {
      told.type = type;
      return reply;
    },
    send: (sent: unknown) => {
      told.sent = sent;
      return reply;
    },
  };
  const parts = {
    failureOf,
    headersOf: failureHeaders,
    onError: (cause: unknown) => told.errors.push(cause),
    signIn:
      challenge === null
        ? null
        : { mode: 'offered', challengeOf: (_: unknown, given: Challenge) => challenge(given) },
  } as unknown as HttpSurface;
  const request = { id: 'request', body, raw: { complete } } as unknown as FastifyRequest;
  answerError(parts, error, request, reply as unknown as FastifyReply);
  const { code, message } = (told.sent as { error: { code: number; message: string } }).error;
  return { ...told, headers, code, message };
}

describe('an error at the tool endpoint', () => {
  const session = 'mcp-session-id';
  const rows: [error: unknown, body: unknown, status: number, code: number, message: RegExp][] = [
    [new RpcError(409, -32_002, 'own'), {}, 409, -32_002, /^own$/],
    [badRequest('odd'), {}, 400, -32_000, /^Bad Request: odd$/],
    [{ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }, null, 415, -32_000, /^Unsupported Media Type/],
    [{ code: 'FST_ERR_CTP_BODY_TOO_LARGE' }, null, 413, -32_000, /^Payload too large/],
    [{ code: 'FST_ERR_CTP_EMPTY_JSON_BODY' }, null, 400, -32_700, /^Parse error/],
    [invalid('', 'the body must be valid JSON'), undefined, 400, -32_700, /^the body must be valid JSON$/],
    [invalid('name', 'must be a string'), {}, 400, -32_000, /^name must be a string$/],
    [new Failure('NOT_FOUND'), undefined, 404, -32_000, /^Resource not found$/],
    [new Failure('NOT_FOUND', { field: session }), {}, 404, -32_001, /./],
    [invalid(session, 'must be one'), undefined, 400, -32_000, /must be one$/],
    [new Failure('UNAVAILABLE'), {}, 503, -32_603, /unavailable/],
    [new Error('secret path'), {}, 500, -32_603, /^Something went wrong on the server$/],
    [new Failure('RATE_LIMITED', { retryAfter: 3 }), {}, 429, -32_000, /^Too many requests$/],
  ];
  for (const [error, body, status, code, message] of rows)
    it(`${error instanceof Error ? error.message : JSON.stringify(error)} is ${status} and ${code}`, () => {
      const told = answered(error, { body });
      assert.deepEqual(
        [told.status, told.code, told.type],
        [status, code, 'application/json; charset=utf-8'],
      );
      assert.match(told.message, message);
      assert.deepEqual(Object.keys(told.sent as object), ['jsonrpc', 'id', 'error']);
      assert.equal(told.errors.length, status >= 500 ? 1 : 0);
    });

  it('tells the operator of the cause, where there is one', () => {
    const [cause, own] = [new Error('disk'), new Failure('UNAVAILABLE')];
    assert.deepEqual(answered(new Failure('UNAVAILABLE', { cause })).errors, [cause]);
    assert.deepEqual(answered(own).errors, [own]);
  });

  it('has the headers of its failure, and closes the connection where a body is unread', () => {
    assert.equal(answered(new Failure('RATE_LIMITED', { retryAfter: 3 })).headers['retry-after'], '3');
    assert.equal(answered(new Failure('NOT_FOUND')).headers.connection, undefined);
    assert.equal(answered(new Failure('NOT_FOUND'), { complete: false }).headers.connection, 'close');
  });

  const challenges: [error: unknown, challenge: Challenge | null][] = [
    [noKey(), { error: null, scope: 'secrets:names' }],
    [
      new SignInRequired(403, { error: 'insufficient_scope', scope: 'keys:read' }),
      { error: 'insufficient_scope', scope: 'keys:read' },
    ],
    [new Failure('UNAUTHORIZED'), { error: 'invalid_token', scope: 'secrets:names' }],
    [new Failure('FORBIDDEN'), null],
    [new RpcError(401, 1, 'other'), null],
  ];
  for (const [error, challenge] of challenges)
    it(`${(error as Error).message} ${challenge === null ? 'leads nobody to sign in' : `leads to ${challenge.scope}`}`, () => {
      const asked: Challenge[] = [];
      const led = answered(error, {
        challenge: given => {
          asked.push(given);
          return 'there';
        },
      });
      assert.deepEqual(asked, challenge === null ? [] : [challenge]);
      assert.equal(led.headers['www-authenticate'], challenge === null ? undefined : 'there');
      const usual = error instanceof Failure && challenge !== null ? 'Bearer' : undefined;
      assert.equal(answered(error, { challenge: () => null }).headers['www-authenticate'], usual);
      assert.equal(answered(error).headers['www-authenticate'], usual);
    });
});

describe('the tools, as they are listed', () => {
  const names = (naming: 'dotted' | 'underscore', hasKey = true) =>
    listingFor(naming, hasKey).map(({ name }) => name);

  it('have dots in their names, or none where a client takes none, in every text', () => {
    assert.ok(names('dotted').every(name => name.includes('.')));
    assert.deepEqual(
      names('underscore'),
      names('dotted').map(name => name.replaceAll('.', '_')),
    );
    for (const { description } of listingFor('underscore', true))
      for (const name of names('dotted')) assert.ok(!description.includes(name), description);
    assert.ok(
      listingFor('dotted', true).some(({ description }) =>
        names('dotted').some(name => description.includes(name)),
      ),
    );
    assert.doesNotMatch(instructions, /\d{4}/);
  });

  it('take a connection only from those who sent no credential', () => {
    for (const { inputSchema } of listingFor('dotted', true))
      assert.ok(!('vault' in inputSchema.properties) && !('credentials' in inputSchema.properties));
    for (const { inputSchema } of listingFor('dotted', false))
      assert.deepEqual(
        [inputSchema.properties.vault, inputSchema.properties.credentials],
        [{ type: 'object' }, { type: 'object' }],
      );
  });

  it('are copied for each, so that nobody changes another’s list', () => {
    listingFor('dotted', true).length = 0;
    assert.ok(names('dotted').length > 0);
  });

  it('say which of them read, destroy and reach out, where that is not what a client assumes', () => {
    const hintsOf = (name: string) => listingFor('dotted', true).find(one => one.name === name)!.annotations;
    assert.deepEqual(hintsOf('secrets.use'), { destructiveHint: true });
    assert.deepEqual(hintsOf('keys.sign'), { destructiveHint: false, openWorldHint: false });
    assert.deepEqual(hintsOf('secrets.get'), { readOnlyHint: true, openWorldHint: false });
  });

  it('say what a model needs to write a call and to read its answer, and no more', () => {
    const shown = (name: string, hasKey: boolean) => {
      const { inputSchema, outputSchema } = listingFor('dotted', hasKey).find(one => one.name === name)!;
      return { input: inputSchema, output: outputSchema.properties };
    };
    const text = { type: 'string' };
    const orNone = { type: ['string', 'null'] };
    const connection = { vault: { type: 'object' }, credentials: { type: 'object' } };
    const key = { type: 'string', description: 'Its exact name, or its id.' };
    const algs = { type: 'string', enum: ['RSA-OAEP', 'RSA-OAEP-256'] };
    const decrypt = { key, rule: text, alg: algs, ciphertext: text };
    const required = ['key', 'alg', 'ciphertext'];
    const output = { kid: text, alg: text, plaintext: text, rule: text, request_id: text, receipt: text };
    assert.deepEqual(shown('keys.decrypt', true), {
      input: { type: 'object', properties: decrypt, required },
      output,
    });
    assert.deepEqual(shown('keys.decrypt', false).input.properties, { ...decrypt, ...connection });
    assert.deepEqual(shown('vault.describe', true).input, { type: 'object', properties: {} });
    // Of what answers and refusals have in common, the types of both.
    const { outcome, reason, status, stored, approval, refusals } = shown('secrets.use', true).output;
    assert.deepEqual(
      [outcome, reason, status, stored, approval, refusals],
      [
        text,
        orNone,
        { type: ['integer', 'null'] },
        { type: ['object', 'null'] },
        { type: ['boolean', 'object'] },
        { type: 'array' },
      ],
    );
    assert.deepEqual(shown('keys.get', true).output.expiration_date, orNone);
  });
});
