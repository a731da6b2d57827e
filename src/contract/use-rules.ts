/**
 * Schemas for use rules, which define the calls that the service makes with a secret, or the operations with a key,
 * for an access key that may use it. The rule limits where a call may go; an agent chooses only within it.
 */
import { z } from 'zod';
import { listOfAtMost } from './access.ts';
import { recordTimes, searchQuery } from './common.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { arrayUpTo, count, exactLine, exampleId, flag, id, name, oneOf } from './text.ts';
import { approvalDemands, responseModes, ruledOperations, useAlgorithms, useMethods } from './use-names.ts';

/**
 * Headers that an agent can't set and a response doesn't return, because they decide the destination, the caller's
 * identity or the end of a message.
 */
const reserved =
  /^(?:host|content-length|content-encoding|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|cookie|cookie2|set-cookie2?|authorization|proxy-.*|forwarded|x-forwarded-.*|x-real-ip|via|x-http-method(?:-override)?|x-method-override|x-original-url|x-rewrite-url|accept-encoding|range|if-range|content-range|content-location|sec-.*|alt-svc|:.*)$/;

export function isReservedHeader(header: string): boolean {
  return reserved.test(header);
}

const headerToken = /^[a-z0-9!#$%&'+.^_`|~-]{1,64}$/;
const header = exactLine(1, 64).refine(text => headerToken.test(text), {
  error: 'must be the name of a header, in lower case',
});
const openHeader = header.refine(text => !isReservedHeader(text), {
  error: 'must not be a header that controls routing, authentication or message length',
});
const placeHeader = header.refine(
  text => !isReservedHeader(text) || /^(?:authorization|cookie)$/.test(text),
  {
    error: 'must not be a header that controls routing or message length',
  },
);
const responseHeader = exactLine(1, 64).refine(
  text => /^[a-z0-9-]{1,63}\*?$/.test(text) && !isReservedHeader(text.replace(/\*$/, '')),
  { error: 'must be the name of a header in lower case, or the beginning of one followed by *' },
);

/**
 * A host as a URL writes it, with its port unless that is the default. Without `http://` in front, it is called over
 * HTTPS.
 */
function isHost(text: string): boolean {
  const [, plain = '', host = ''] = /^(http:\/\/)?(.*)$/.exec(text)!;
  const url = URL.parse(`${plain || 'https://'}${host}/`);
  if (url === null || url.host !== host || url.username !== '') return false;
  const labels = url.hostname.split('.');
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) return false;
  return labels.every(label => /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label));
}

const hosts = listOfAtMost(
  20,
  exactLine(1, 260).refine(isHost, {
    error: 'must be the exact name of a host in lower case, with its port unless that is the default',
  }),
).describe(
  'Exact names; no wildcards, no IP addresses. They are called over HTTPS; one that begins with `http://` must be in a range that the operator opened.',
);
const methods = listOfAtMost(useMethods.length, oneOf(useMethods));
const mostStars = 10;
const pathPattern = exactLine(1, 255)
  .refine(text => /^\/[!-~]*$/.test(text) && !/[?#\\]|\/\/|%(?:2f|5c|2e|25|00)/i.test(text), {
    error: 'must be a path as written in a URL, beginning with / and without a query',
  })
  .refine(text => (text.match(/\*\*?/g) ?? []).length <= mostStars, {
    error: `must have at most ${mostStars} stars`,
  });
const paths = listOfAtMost(50, pathPattern).meta({
  description: '`*` matches within one segment of the path, `**` across segments.',
  example: ['/repos/acme/**'],
});

const prefix = exactLine(0, 64).refine(text => /^[ -~]*$/.test(text), { error: 'must be ASCII' });
export const place = z
  .discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('bearer') }),
      z.strictObject({ type: z.literal('header'), name: placeHeader, prefix: prefix.optional() }),
      z.strictObject({ type: z.literal('basic'), username: exactLine(1, 255).nullable() }),
      z.strictObject({ type: z.literal('query'), name: exactLine(1, 128) }),
      z.strictObject({ type: z.literal('json'), pointer: exactLine(2, 255) }),
      z.strictObject({ type: z.literal('form'), field: exactLine(1, 128) }),
    ],
    { error: 'must be an object with the type bearer, header, basic, query, json or form' },
  )
  .meta({
    id: 'UsePlace',
    description:
      'Where the value goes: `bearer`, a `header` with an optional `prefix`, `basic` as the password of `username` (null if the value is both), a `query` parameter, a field of a `json` body by its pointer, or a `form` field.',
    example: { type: 'bearer' },
  });
export type Placement = z.output<typeof place>;

const store = z
  .strictObject({ secret_id: id, pointer: exactLine(1, 255) }, { error: 'must be an object' })
  .describe(
    'For `response: store`: the secret that gets a new version, and the JSON pointer of the field in the response.',
  );
const jwt = z
  .strictObject(
    {
      typ: exactLine(1, 64).optional(),
      issuer: exactLine(1, 255),
      audiences: listOfAtMost(20, exactLine(1, 255)),
      longest_lifetime: count(1, 86_400),
    },
    { error: 'must be an object' },
  )
  .describe(
    'Only JSON Web Tokens of this form are signed: with this issuer, one of these audiences, and `iat` and `exp` at most `longest_lifetime` seconds apart.',
  );

const gateway = z
  .strictObject(
    {
      max_request: count(0, 1_073_741_824),
      max_response: count(0, 4_294_967_296),
      timeout: count(1, 3_600),
    },
    { error: 'must be an object with max_request, max_response and timeout' },
  )
  .describe(
    'Limits for calls through the gateway, `/via/{rule}/…`, in bytes and seconds. With them, long bodies and responses are passed on while they arrive. Without them, the gateway uses the limits of the rule.',
  );

const orNull = <T extends z.ZodType>(schema: T) => schema.nullable().optional();

const decided = {
  hosts: orNull(hosts),
  methods: orNull(methods),
  paths: orNull(paths),
  place: orNull(place),
  request_headers: orNull(arrayUpTo(50, openHeader)).describe(
    'Headers that the agent may set. `accept` and `content-type` by default.',
  ),
  response_headers: orNull(arrayUpTo(50, responseHeader)).describe(
    'Headers that are returned. `content-type` by default; a name may end with `*`.',
  ),
  max_request: orNull(count(0, 65_536)).describe('Bytes of the body. 65,536 by default.'),
  max_response: orNull(count(0, 1_048_576)).describe(
    'Bytes of the decoded body; a longer response is withheld. 262,144 by default.',
  ),
  binary: orNull(flag).describe('Whether responses that are not text are returned. Default false.'),
  response: orNull(oneOf(responseModes)).describe(
    '`full` returns the response, `status-only` only its status; `store` stores one of its fields in a secret.',
  ),
  store: orNull(store),
  gateway: orNull(gateway),
  timeout: orNull(count(1, 30)).describe('Seconds for the whole call. 30 by default.'),
  operations: orNull(listOfAtMost(ruledOperations.length, oneOf(ruledOperations))),
  algorithms: orNull(listOfAtMost(useAlgorithms.length, oneOf(useAlgorithms))),
  jwt: orNull(jwt),
  approval: oneOf(approvalDemands)
    .optional()
    .describe(
      'Which calls a person must approve: `never` (none), `writes` (all except GET and HEAD, and every signature), or `always` (the default).',
    ),
  rate_limit: orNull(count(1, 1_000_000)).describe(
    'Calls per minute under this rule by all access keys together. 60 by default; null for no limit.',
  ),
};

const exampleCall = {
  hosts: ['api.github.com'],
  methods: ['GET', 'POST'],
  paths: ['/repos/acme/**'],
  place: { type: 'bearer' },
};

export const useRuleCreate = z
  .strictObject({ secret_id: id.optional(), key_id: id.optional(), name, ...decided })
  .refine(({ secret_id, key_id }) => (secret_id === undefined) !== (key_id === undefined), {
    error: 'is required unless key_id is given; not both',
    path: ['secret_id'],
  })
  .meta({
    id: 'UseRuleCreate',
    description:
      'A rule for a secret has `hosts`, `methods`, `paths` and `place`; a rule for a key has `operations` and `algorithms`.',
    example: { secret_id: exampleId, name: 'issues of acme', ...exampleCall, approval: 'writes' },
  });
export const useRuleUpdate = z
  .strictObject({ name: name.optional(), ...decided })
  .meta({ id: 'UseRuleUpdate', example: { approval: 'always' } });
export type UseRuleCreate = z.output<typeof useRuleCreate>;
export type UseRuleUpdate = z.output<typeof useRuleUpdate>;

export const useRuleQuery = searchQuery.extend({
  secret_id: id.optional(),
  key_id: id.optional(),
  vault_id: id.optional(),
});
export type UseRuleQuery = z.output<typeof useRuleQuery>;

export const useRule = z
  .object({
    id,
    vault_id: id,
    secret_id: id.nullable(),
    key_id: id.nullable(),
    name: z.string(),
    hosts: z.array(z.string()).nullable(),
    methods: z.array(oneOf(useMethods)).nullable(),
    paths: z.array(z.string()).nullable(),
    place: place.nullable(),
    request_headers: z.array(z.string()).nullable(),
    response_headers: z.array(z.string()).nullable(),
    max_request: z.int().nullable(),
    max_response: z.int().nullable(),
    binary: z.boolean().nullable(),
    response: oneOf(responseModes).nullable(),
    store: store.nullable(),
    gateway: gateway.nullable(),
    timeout: z.int().nullable(),
    operations: z.array(oneOf(ruledOperations)).nullable(),
    algorithms: z.array(oneOf(useAlgorithms)).nullable(),
    jwt: jwt.nullable(),
    approval: oneOf(approvalDemands),
    rate_limit: z.int().nullable(),
    created_by: z.string(),
    ...recordTimes,
  })
  .meta({
    id: 'UseRule',
    example: {
      id: exampleId,
      vault_id: exampleVaultId,
      secret_id: '0199a3c4-1111-7abc-8def-0123456789ab',
      key_id: null,
      name: 'issues of acme',
      ...exampleCall,
      request_headers: ['accept', 'content-type'],
      response_headers: ['content-type'],
      max_request: 65_536,
      max_response: 262_144,
      binary: false,
      response: 'full',
      store: null,
      gateway: null,
      timeout: 30,
      operations: null,
      algorithms: null,
      jwt: null,
      approval: 'writes',
      rate_limit: 60,
      created_by: '0199a3c4-2222-7abc-8def-0123456789ab',
      ...exampleTimes,
    },
  });
export type UseRule = z.output<typeof useRule>;

const presetFields = z.object({
  id: z.string(),
  title: z.string(),
  hosts: z.array(z.string()),
  methods: z.array(oneOf(useMethods)),
  paths: z.array(z.string()),
  place,
  request_headers: z.array(z.string()),
  response_headers: z.array(z.string()).optional(),
  binary: z.boolean().optional(),
  gateway: gateway.optional(),
});
export const usePresetList = z.object({ presets: z.array(presetFields) }).meta({
  id: 'UsePresetList',
  example: {
    presets: [{ id: 'github', title: 'GitHub', ...exampleCall, request_headers: ['accept', 'content-type'] }],
  },
});
