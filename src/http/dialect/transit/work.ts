/**
 * Operations with keys in the words of Vault's transit engine: reads a request into the operations of the API, and
 * writes their results. An input that can't be read keeps its place in a batch, so that it is counted and recorded
 * like the others, and has its own error. Nothing is decided here about who may do what.
 */
import { Failure, invalid, sentenceOf } from '../../../contract/errors.ts';
import type { KeyAlgorithm } from '../../../contract/key-abilities.ts';
import {
  type KeyOperationAnswer,
  type KeyOperationRefusal,
  type KeyOperationResult,
  mostItems,
  type WorkCall,
  type WorkItem,
} from '../../../contract/key-operations.ts';
import type { AskedOperation } from '../../../domain/uses/operation-uses.ts';
import { type DialectAnswer, objectIn } from '../calls.ts';
import {
  bytesIn,
  type Fields,
  numberIn,
  padded,
  referenceIn,
  refuseSet,
  textIn,
  versioned,
  versionedIn,
} from './encodings.ts';
import { type OperationCall, operationOf, type TransitOperation } from './target.ts';

export interface TransitWork {
  readonly asked: AskedOperation;
  /** The answer in Vault's form. */
  readonly answer: (result: KeyOperationAnswer) => DialectAnswer;
  /** A failure in the names of Vault's fields. */
  readonly refusal: (failure: Failure) => Failure;
}

type RandomBytes = (size: number) => Buffer;
type Result = KeyOperationResult | KeyOperationRefusal;
interface Input {
  readonly item: WorkItem;
  readonly fields: Fields;
  readonly failure: Failure | null;
}

const largestVersion = 1_000_000_000;
const dataKeyBits = [128, 256, 512];
const notDerived = 'is not supported: keys are not derived here';

export function workIn(call: OperationCall, body: unknown, random: RandomBytes): TransitWork {
  const { verb, key } = call;
  const fields = objectIn(body);
  const batch = batchIn(fields, verb);
  const read = inputReaderOf(call, fields, random);
  const inputs = batch?.map(one => inputOf(one, read)) ?? [
    { item: read(fields, false), fields, failure: null },
  ];
  const items = inputs.map(({ item }) => item);
  const asked: WorkCall = batch === null ? items[0]! : { items };
  const form = formOf(call, fields, inputs);
  return {
    asked: { key, operation: operationOf[verb], call: asked },
    refusal: failure => refusalOf(verb, failure),
    answer: result =>
      'items' in result ? batchAnswer(verb, result.items, inputs, form) : one(form(result, 0)),
  };
}

const one = (data: object): DialectAnswer => ({
  status: 200,
  data: JSON.stringify(data),
  mountType: 'transit',
});

/** A batch of which a part failed to be encrypted or decrypted has the status of the failure, with all results. */
function batchAnswer(
  verb: TransitOperation,
  results: readonly Result[],
  inputs: readonly Input[],
  form: (result: KeyOperationResult, at: number) => object,
): DialectAnswer {
  const batch_results = results.map((result, at) => {
    const { fields, failure } = inputs[at]!;
    if (!('error' in result)) return { ...form(result, at), ...referenceIn(fields) };
    const own = failure ?? invalid(result.error.details.field, result.error.details.reason);
    return { error: sentenceOf(refusalOf(verb, own)), ...referenceIn(fields) };
  });
  const isPartial = (verb === 'encrypt' || verb === 'decrypt') && batch_results.some(made => 'error' in made);
  return { ...one({ batch_results }), status: isPartial ? 400 : 200 };
}

function batchIn(fields: Fields, verb: TransitOperation): Fields[] | null {
  const { batch_input: batch } = fields;
  if (batch === undefined || batch === null) return null;
  if (verb === 'datakey') throw invalid('batch_input', 'is not supported for data keys');
  if (!Array.isArray(batch)) throw invalid('batch_input', 'must be a list');
  if (batch.length === 0 || batch.length > mostItems)
    throw invalid('batch_input', `must have between 1 and ${mostItems} items`);
  return batch.map(objectIn);
}

function inputOf(fields: Fields, read: (fields: Fields, inBatch: boolean) => WorkItem): Input {
  try {
    return { item: read(fields, true), fields, failure: null };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { item: {}, fields, failure: error };
  }
}

/** Reads one input. Options such as the algorithm apply to a whole batch. */
function inputReaderOf(call: OperationCall, shared: Fields, random: RandomBytes) {
  const { verb } = call;
  const version = (fields: Fields) => numberIn(fields, 'key_version', largestVersion) || undefined;
  const readers: Readonly<Record<TransitOperation, (fields: Fields, inBatch: boolean) => WorkItem>> = {
    encrypt: fields => ({
      value: required(fields, 'plaintext'),
      aad: bytesIn(fields, 'associated_data') || undefined,
      version: version(fields),
    }),
    datakey: fields => ({
      value: dataKeyFor(fields, random),
      aad: bytesIn(fields, 'associated_data') || undefined,
      version: version(fields),
    }),
    decrypt: fields => ({
      ...versionedIn(fields, 'ciphertext'),
      aad: bytesIn(fields, 'associated_data') || undefined,
    }),
    rewrap: fields => {
      if (version(fields) !== undefined) throw invalid('key_version', 'must be 0: the newest encrypts');
      return { ...versionedIn(fields, 'ciphertext'), aad: bytesIn(fields, 'associated_data') || undefined };
    },
    sign: (fields, inBatch) => ({
      value: inBatch ? required(fields, 'input') : (bytesIn(fields, 'input') ?? ''),
      version: version(shared),
      ...signingForm(call, shared),
    }),
    hmac: (fields, inBatch) => ({
      value: inBatch ? required(fields, 'input') : (bytesIn(fields, 'input') ?? ''),
      version: version(shared),
      among: macsOf(hashIn(call, shared)),
    }),
    verify: (fields, inBatch) => {
      const isMac = textIn(fields, 'hmac') !== undefined;
      if (isMac === (textIn(fields, 'signature') !== undefined))
        throw invalid('signature', 'is required unless hmac is given; not both');
      const { version: made, value: signature } = versionedIn(fields, isMac ? 'hmac' : 'signature');
      const form = isMac ? { among: macsOf(hashIn(call, shared)) } : signingForm(call, shared);
      const value = inBatch ? required(fields, 'input') : (bytesIn(fields, 'input') ?? '');
      // There is no version 0; the newest would be taken for it.
      return { value, signature, version: made || largestVersion, ...form };
    },
  };
  return (fields: Fields, inBatch: boolean): WorkItem => {
    refuseSet(fields, { context: notDerived, nonce: notDerived, convergent_encryption: notDerived });
    return readers[verb](fields, inBatch);
  };
}

function required(fields: Fields, name: string): string {
  const bytes = bytesIn(fields, name);
  if (bytes === undefined) throw invalid(name, 'is required');
  return bytes;
}

function dataKeyFor(fields: Fields, random: RandomBytes): string {
  const bits = numberIn(fields, 'bits', 512) || 256;
  if (!dataKeyBits.includes(bits)) throw invalid('bits', 'must be 128, 256 or 512');
  return random(bits / 8).toString('base64url');
}

const hashBits: Readonly<Record<string, string>> = {
  'sha2-256': '256',
  'sha2-384': '384',
  'sha2-512': '512',
};

/** In bits; null if none is given, for the one of the key. */
function hashIn({ detail }: OperationCall, fields: Fields): string | null {
  const name = detail || textIn(fields, 'hash_algorithm') || textIn(fields, 'algorithm');
  if (name === undefined) return null;
  const bits = Object.hasOwn(hashBits, name) ? hashBits[name]! : null;
  if (bits === null) throw invalid('hash_algorithm', 'must be sha2-256, sha2-384 or sha2-512');
  return bits;
}

function macsOf(bits: string | null): KeyAlgorithm[] {
  return bits === null ? ['HS256', 'HS384', 'HS512'] : [`HS${bits}` as KeyAlgorithm];
}

/** Without a hash, that of the curve or SHA-256. Ed25519 and ML-DSA have no choice, and ignore it as in Vault. */
function signingForm(call: OperationCall, fields: Fields): Pick<WorkItem, 'among' | 'der'> {
  refuseSet(fields, { prehashed: 'is not supported: send the message itself' });
  const bits = hashIn(call, fields);
  const padding = textIn(fields, 'signature_algorithm') ?? 'pss';
  if (padding !== 'pss' && padding !== 'pkcs1v15')
    throw invalid('signature_algorithm', 'must be pss or pkcs1v15');
  const salt = textIn({ salt: String(fields.salt_length ?? '') }, 'salt') ?? 'auto';
  const saltOfHash = String(Number(bits ?? 256) / 8);
  if (!['auto', 'hash', '-1', saltOfHash].includes(salt))
    throw invalid('salt_length', 'must be auto, hash or the length of the hash');
  const rsa = `${padding === 'pss' ? 'PS' : 'RS'}${bits ?? 256}`;
  const curves = bits === null ? ['ES256', 'ES384', 'ES512', 'ES256K'] : curvesWith(bits);
  const among = [rsa, ...curves, 'EdDSA', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'] as KeyAlgorithm[];
  return { among, der: marshallingIn(fields) === 'asn1' };
}

const curvesWith = (bits: string) => (bits === '256' ? ['ES256', 'ES256K'] : [`ES${bits}`]);

function marshallingIn(fields: Fields): 'asn1' | 'jws' {
  const name = textIn(fields, 'marshaling_algorithm') ?? 'asn1';
  if (name === 'asn1' || name === 'jws') return name;
  throw invalid('marshaling_algorithm', 'must be asn1 or jws');
}

/** The members of a result. */
function formOf({ verb, detail }: OperationCall, fields: Fields, inputs: readonly Input[]) {
  return (result: KeyOperationResult, at: number): object => {
    if ('valid' in result) return { valid: result.valid };
    const { version: key_version, value } = result;
    if (verb === 'decrypt') return { plaintext: padded(value) };
    if (verb === 'hmac') return { hmac: versioned(key_version, value) };
    if (verb === 'sign') {
      const isUrlSafe = marshallingIn(fields) === 'jws';
      return { signature: versioned(key_version, value, isUrlSafe), key_version };
    }
    const ciphertext = versioned(key_version, value);
    if (verb !== 'datakey' || detail === 'wrapped') return { ciphertext, key_version };
    return { plaintext: padded(inputs[at]!.item.value!), ciphertext, key_version };
  };
}

const inputNames: Readonly<Record<TransitOperation, string>> = {
  encrypt: 'plaintext',
  datakey: 'plaintext',
  decrypt: 'ciphertext',
  rewrap: 'ciphertext',
  sign: 'input',
  verify: 'input',
  hmac: 'input',
};

/** Vault answers 400 if there is no such key, and its clients tell a missing path from a missing key by that. */
function refusalOf(verb: TransitOperation, failure: Failure): Failure {
  const { code, field, reason, because } = failure;
  if (['NOT_FOUND', 'NOT_ACTIVE', 'EXPIRED'].includes(code)) {
    const isSigning = verb === 'sign' || verb === 'verify' || verb === 'hmac';
    return new Failure('INVALID_REQUEST', {
      message: `${isSigning ? 'signing' : 'encryption'} key not found`,
      because,
    });
  }
  const names: Readonly<Record<string, string>> = {
    value: inputNames[verb],
    aad: 'associated_data',
    alg: 'hash_algorithm',
    version: 'key_version',
    items: 'batch_input',
  };
  return field in names ? invalid(names[field]!, reason) : failure;
}
