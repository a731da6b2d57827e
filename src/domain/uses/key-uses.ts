/**
 * Uses keys that never leave the service: signs, verifies and decrypts for an access key that may use the key, as the
 * key's rules allow. A rule can require a JSON Web Token of a given form, so that no other bytes are ever signed.
 * Each use is in the log before it is made, and its outcome before the result is returned.
 */
import { isUtf8 } from 'node:buffer';
import { Failure, invalid } from '../../contract/errors.ts';
import type { RuledOperation, UseAlgorithm } from '../../contract/use-names.ts';
import type { DecryptCall, ShownRequest, SignCall, VerifyCall } from '../../contract/uses.ts';
import type { KeyVersion } from '../../material/operations/key-operations.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import type { VerifiedResource } from '../reads/visibility.ts';
import { keyAttributes } from '../resources/key-attributes.ts';
import { kidOf } from '../resources/key-operations.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { type ApprovedCall, approvalRequestsWith, fingerprintOf } from './approval-requests.ts';
import type { Concurrency } from './concurrency.ts';
import { type KeyOperationRequest, operationUsesWith } from './operation-uses.ts';
import {
  type Deed,
  type Identified,
  recordedUsesWith,
  type UseParts,
  type UseResult,
} from './recorded-uses.ts';
import { type KeyRule, keyRuleOf } from './rule-records.ts';
import { free } from './run-budgets.ts';
import { rulesOfRun } from './run-records.ts';
import { targetsOfUsesWith } from './use-targets.ts';
import { tokenPart } from './web-token-shape.ts';

export type KeyCall =
  | { readonly operation: 'sign'; readonly call: SignCall }
  | { readonly operation: 'verify'; readonly call: VerifyCall }
  | { readonly operation: 'decrypt'; readonly call: DecryptCall };

interface KeyUseRequest extends RequestFacts {
  readonly asked: KeyCall | Failure;
}

export interface KeyUses {
  readonly use: (request: KeyUseRequest) => Promise<UseResult<object>>;
  /** Without use rules: by the operations that the access key is restricted to. */
  readonly operate: (request: KeyOperationRequest) => Promise<UseResult<object>>;
}

/** The same for requests whose access key was identified. */
export type IdentifiedKeyUses = ReturnType<typeof keyUsesWith>;

const done: Readonly<Record<RuledOperation, string>> = {
  sign: 'signed',
  verify: 'verified',
  decrypt: 'decrypted',
};

export function keyUsesWith(parts: UseParts & { readonly slots: Concurrency }) {
  const { visibility, workers, now, slots } = parts;
  const using = recordedUsesWith(parts);
  const usable = targetsOfUsesWith(parts, 'key', keyRuleOf);
  const approvals = approvalRequestsWith(parts);

  async function perform(deed: Deed, { asked }: KeyUseRequest): Promise<object> {
    if (asked instanceof Failure) throw asked;
    return slots.within(deed.reader.countedAs, () => make(deed, asked));
  }

  async function make(deed: Deed, asked: KeyCall): Promise<object> {
    const { reader } = deed;
    const { operation, call } = asked;
    deed.requested = `key=${operation}`;
    const { vault, row, rules } = await usable(reader, call.key);
    const rule = ruleFor(rulesOfRun(reader, rules), asked);
    const input = inputOf(asked, rule, row, now());
    const approved = approvedCall(asked, rule, row, input);
    const what = `key=${operation} ${call.alg} call=${fingerprintOf(reader, approved)}`;
    deed.requested = `${what} ${row.name}`;
    const isApproved = rule.approval === 'always' || (rule.approval === 'writes' && operation !== 'verify');
    const approve = () => approvals.take(deed, vault, approved);
    await using.countUnder(rule, deed, free, isApproved ? approve : null);
    await deed.begin();
    const lane = { organization: reader.organizationId, key: reader.countedAs };
    const result = await carriedOut(asked, input, row, vault, workers.of(lane));
    deed.requested = `${what.replace(`=${operation}`, `=${done[operation]}`)} ${row.name}`;
    return { kid: row.id, alg: call.alg, ...result, rule: rule.id, request_id: '', receipt: '' };
  }

  async function carriedOut(
    { operation, call }: KeyCall,
    input: string,
    row: VerifiedResource,
    vault: OpenVault,
    jobs: ReturnType<typeof workers.of>,
  ) {
    const proof = operation === 'verify' ? call.signature : undefined;
    const asked = { alg: call.alg, version: row.version, value: input, signature: proof };
    const job = {
      operation,
      keyId: row.id,
      versions: [keyOf(operation, row, vault)],
      inputs: [asked],
    } as const;
    const [output] = await jobs.operateKey(job);
    if ('refused' in output!) throw refusalOf(output.refused);
    if ('valid' in output!) return { valid: output.valid };
    const { value } = output!;
    if (operation === 'decrypt') return { plaintext: value };
    if (operation === 'verify' || call.claims === undefined) return { signature: value, token: null };
    return { signature: null, token: `${Buffer.from(input, 'base64url')}.${value}` };
  }

  /** The current version; its private key is opened only if the operation needs it. */
  function keyOf(operation: RuledOperation, row: VerifiedResource, vault: OpenVault): KeyVersion {
    const { holds, key_type, public_pem, ssh } = keyAttributes(row);
    if (operation === 'sign' && ssh !== undefined)
      throw invalid('key', 'can’t sign: it signs SSH certificates only');
    if (operation !== 'verify' && holds === 'public') throw invalid('key', 'has no private key');
    const value = operation === 'verify' ? null : visibility.present.value(row, vault);
    return { version: row.version, keyType: key_type, value, publicPem: public_pem };
  }

  return {
    use: (request: Identified<KeyUseRequest>): Promise<UseResult<object>> =>
      using.run(request, deed => perform(deed, request)),
    operate: operationUsesWith({ ...parts, using, usable }),
  };
}

/** The input of a decryption has a name of its own here. */
function refusalOf({ field, reason }: { readonly field: string; readonly reason: string }): Failure {
  return invalid(field === 'value' ? 'ciphertext' : field, reason);
}

function ruleFor(rules: readonly KeyRule[], { operation, call }: KeyCall): KeyRule {
  const named = call.rule === undefined ? rules : rules.filter(({ id }) => id === call.rule);
  const allowing = named.find(
    rule => rule.operations.includes(operation) && rule.algorithms.includes(call.alg),
  );
  if (allowing !== undefined) return allowing;
  throw new Failure('FORBIDDEN', {
    message: 'Forbidden: no use rule of the key allows this',
    because: 'no_use_rule',
  });
}

/** The bytes that the key is used on, in base64url. */
function inputOf(
  { operation, call }: KeyCall,
  { jwt }: KeyRule,
  { id, version }: VerifiedResource,
  now: number,
): string {
  if (operation === 'verify') return call.message;
  if (operation === 'decrypt') return call.ciphertext;
  if ((call.message === undefined) === (call.claims === undefined)) {
    throw invalid('message', 'is required unless claims is given; not both');
  }
  if (call.claims !== undefined)
    return tokenPart({ alg: call.alg, kid: kidOf(id, version), claims: call.claims, shape: jwt, now });
  if (jwt !== null) throw invalid('claims', 'is required: the rule signs only JSON Web Tokens');
  return call.message!;
}

function approvedCall(
  { operation, call }: KeyCall,
  rule: KeyRule,
  row: VerifiedResource,
  input: string,
): ApprovedCall {
  const tool = `keys.${operation}`;
  const proof = operation === 'verify' ? { signature: call.signature } : {};
  return {
    tool,
    rule,
    resource: row,
    asked: [operation, call.alg satisfies UseAlgorithm, input, ...Object.values(proof)],
    shown: {
      tool,
      secret: row.name,
      method: operation,
      url: `${call.alg} ${row.name}`,
      headers: proof,
      ...shownBytes(input, operation === 'sign' && call.claims !== undefined),
      place: 'nowhere: the key stays in the vault',
    },
  };
}

/** The bytes that the key is used on. A token is shown decoded; its base64url form is what is signed. */
function shownBytes(input: string, isToken: boolean): Pick<ShownRequest, 'body' | 'body_base64'> {
  const bytes = Buffer.from(input, 'base64url');
  if (!isUtf8(bytes)) return { body: null, body_base64: bytes.toString('base64') };
  const text = bytes.toString('utf8');
  const parts = isToken
    ? text.split('.').map(part => Buffer.from(part, 'base64url').toString('utf8'))
    : [text];
  return { body: parts.join('.'), body_base64: null };
}
