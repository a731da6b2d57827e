/** In whose log a refused request is recorded and what it says there, and what the log says that a read gave. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { type Authenticator, type Owner, Refused } from '../src/domain/credentials/authentication.ts';
import { attributionWith } from '../src/domain/reads/attribution.ts';
import { entryOf, identify, newFindings, refusalOf } from '../src/domain/reads/request-entries.ts';
import { answer, requestedOne } from '../src/domain/reads/vault-answers.ts';
import type { Fields, RequestFacts } from '../src/domain/reads/vault-request.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';
import type { Store } from '../src/store/store.ts';

const idOf = (number: number) => `01999999-9999-7999-8999-99999999999${number}`;
const [vault, otherVault, key, nowhere] = [1, 2, 3, 4].map(idOf) as [string, string, string, string];
const narrowing = { restrictions: [] } as unknown as Owner['narrowing'];
const facts: RequestFacts = {
  sender: { address: '192.0.2.1', userAgent: 'curl\u0000' },
  requestId: 'request',
  route: '/route',
  method: 'GET',
  tool: 'keys.get',
  token: 'token',
  vaultId: null,
  keyId: null,
};

describe('a refused request', () => {
  const asked: string[] = [];
  const rows: Record<string, Partial<ResourceRow>> = {
    [vault]: { id: vault, type: 'vault', organization_id: 'one', vault_id: vault },
    [key]: { id: key, type: 'key', organization_id: 'one', vault_id: vault },
  };
  const find = (type: string) => async (id: string) => {
    asked.push(id);
    return rows[id]?.type === type ? rows[id] : undefined;
  };
  const store = { resources: { vault: find('vault'), key: find('key') } } as unknown as Store;
  const owner = (organizationId: string, vaultId: string | null): Owner => ({
    id: 'credential',
    organizationId,
    vaultId,
    narrowing,
  });
  const attributed = (request: Partial<RequestFacts>, shown: Owner | null, failure?: Failure) => {
    const authenticate = { ownerOf: async () => shown } as unknown as Authenticator;
    const refused = failure ?? new Refused(0, shown, 'expired');
    return attributionWith(store, authenticate)({ ...facts, ...request }, refused);
  };

  const its = owner('one', vault);
  const others = owner('two', otherVault);
  const neighbours = owner('one', otherVault);
  const credential = { credentialId: 'credential', narrowing };
  const nobody = { credentialId: null, narrowing: null };
  const inVault = { organizationId: 'one', vaultId: vault };
  const nowhereKnown = { organizationId: null, vaultId: null, ...nobody, reason: null };
  const cases: [what: string, Partial<RequestFacts>, Owner | null, Failure | undefined, expected: object][] =
    [
      [
        'of a vault, by its own credential',
        { vaultId: vault },
        its,
        undefined,
        { ...inVault, ...credential, reason: null },
      ],
      ['of a vault, by nobody', { vaultId: vault }, null, undefined, { ...inVault, ...nobody, reason: null }],
      [
        'of a vault, by a credential of another one',
        { vaultId: vault },
        neighbours,
        undefined,
        { ...inVault, ...nobody, reason: 'wrong_vault' },
      ],
      [
        'of a vault, by a credential of another one and of another kind',
        { vaultId: vault },
        neighbours,
        new Refused(0, neighbours, 'wrong_kind'),
        { ...inVault, ...nobody, reason: null },
      ],
      [
        'of a vault, by a credential of another organization',
        { vaultId: vault },
        others,
        undefined,
        { ...inVault, ...nobody, reason: 'unknown_credential' },
      ],
      [
        'of a vault, by a credential of another organization and of another kind',
        { vaultId: vault },
        others,
        new Refused(0, others, 'wrong_kind'),
        { ...inVault, ...nobody, reason: 'unknown_credential' },
      ],
      [
        'of a vault, after too many failures',
        { vaultId: vault },
        others,
        new Refused(1, others, 'expired'),
        { ...inVault, ...nobody, reason: null },
      ],
      [
        'of a vault, refused for something else',
        { vaultId: vault },
        others,
        new Failure('UNAUTHORIZED'),
        { ...inVault, ...nobody, reason: null },
      ],
      [
        'of a vault, by its own credential, refused for something else',
        { vaultId: vault },
        its,
        new Failure('NOT_FOUND'),
        { ...inVault, ...credential, reason: null },
      ],
      [
        'of a key, by its own credential',
        { keyId: key },
        its,
        undefined,
        { ...inVault, ...credential, reason: null },
      ],
      ['of a key, by nobody', { keyId: key }, null, undefined, { ...inVault, ...nobody, reason: null }],
      [
        'of a vault that does not exist',
        { vaultId: nowhere },
        its,
        undefined,
        { organizationId: 'one', vaultId: null, ...credential, reason: null },
      ],
      [
        'of a vault that is no id',
        { vaultId: 'nonsense' },
        its,
        undefined,
        { organizationId: 'one', vaultId: null, ...credential, reason: null },
      ],
      ['of a vault that does not exist, by nobody', { vaultId: nowhere }, null, undefined, nowhereKnown],
      [
        'of a vault that does not exist, with a key that does',
        { vaultId: nowhere, keyId: key },
        null,
        undefined,
        nowhereKnown,
      ],
      [
        'of a key that does not exist',
        { keyId: nowhere },
        its,
        undefined,
        { ...inVault, ...credential, reason: null },
      ],
      ['of a key that is no id', { keyId: 'nonsense' }, null, undefined, nowhereKnown],
      ['of nothing, by a credential', {}, its, undefined, { ...inVault, ...credential, reason: null }],
      ['of nothing, by nobody', {}, null, undefined, nowhereKnown],
    ];
  for (const [what, request, shown, failure, expected] of cases)
    it(what, async () => {
      asked.length = 0;
      assert.deepEqual(await attributed(request, shown, failure), expected);
      assert.ok(!asked.includes('nonsense'), 'what is no id is not looked for');
    });

  it('is of nobody where the refusal found no owner', async () => {
    const found = await attributed({ vaultId: vault }, its, new Refused(0, null, 'expired'));
    assert.deepEqual(found, { ...inVault, ...nobody, reason: null });
  });
});

describe('the entry of a request', () => {
  it('says what was found out, and nothing where nothing was', () => {
    const findings = newFindings(facts);
    const before = entryOf(facts, findings, 401);
    const expected = {
      organization_id: null,
      success: false,
      resource_type: 'vault',
      ip_address: '192.0.2.1',
      route: '/route',
      method: 'GET',
      status: 401,
      vault_id: null,
      access_key_id: null,
      narrowing: undefined,
      requested: '',
      tool: 'keys.get',
      user_agent: 'curl\uFFFD',
      duration_ms: before.duration_ms,
      request_id: 'request',
    };
    assert.deepEqual(before, expected);
    identify(findings, { id: 'credential', organizationId: 'one', vaultId: vault, narrowing });
    findings.requested = 'secrets\n';
    const after = entryOf(facts, findings, 200);
    assert.deepEqual(after, {
      ...expected,
      organization_id: 'one',
      success: true,
      status: 200,
      vault_id: vault,
      access_key_id: 'credential',
      narrowing,
      requested: 'secrets\uFFFD',
      duration_ms: after.duration_ms,
    });
    assert.ok(after.duration_ms >= 0 && after.duration_ms < 60_000);
  });

  it('says why it was refused, or what its log may say of that', () => {
    const findings = newFindings(facts);
    const failure = new Failure('NOT_FOUND', { because: 'restricted' });
    const { status, success, reason } = refusalOf(facts, findings, failure);
    assert.deepEqual([status, success, reason], [404, false, 'restricted']);
    findings.reason = 'wrong_vault';
    assert.equal(refusalOf(facts, findings, failure).reason, 'wrong_vault');
  });

  const exportable = JSON.stringify({ holds: 'private', exportable: true });
  const kept = JSON.stringify({ holds: 'private', exportable: false });
  for (const [type, fields, attributes, text] of [
    ['certificate', 'value', '{}', 'certificate n'],
    ['certificate', 'metadata', '{}', 'certificate n'],
    ['secret', 'value', '{}', 'secret=value n'],
    ['secret', 'metadata', '{}', 'secret=metadata n'],
    ['secret', 'names', '{}', 'secret=metadata n'],
    ['key', 'public-half', exportable, 'key=public n'],
    ['key', 'value', exportable, 'key=private n'],
    ['key', 'value', kept, 'key=public n'],
  ] as [ResourceRow['type'], Fields, string, string][])
    it(`says what was given of one resource: ${text}, of ${fields} and ${attributes}`, () =>
      assert.equal(requestedOne({ type, name: 'n', attributes } as ResourceRow, fields), text));

  it('has a digest of what was sent, but none of PEM', () => {
    const digest = createHash('sha256').update('ü').digest('base64url').slice(0, 27);
    for (const format of ['json', 'text'] as const)
      assert.deepEqual(answer('ü', format, 'r', 5), {
        body: Buffer.from('ü'),
        format,
        digest,
        requested: 'r',
        validUntil: 5,
      });
    assert.equal(answer('ü', 'pem', 'r', 5).digest, null);
  });
});
