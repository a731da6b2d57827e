/**
 * Operations with a stored key, whoever asks: an access key, an API key, or an agent under a use rule. The newest version
 * signs and encrypts; older ones verify and decrypt, down to the key's lowest version. Everything that can be refused by
 * what was asked is refused before the key is opened. The work is done in the worker pool, in turns with others.
 */
import type { Lane } from '../../base/fair-line.ts';
import { Failure, invalid, sentenceOf } from '../../contract/errors.ts';
import type { KeyAlgorithm } from '../../contract/key-abilities.ts';
import type {
  KeyOperationAnswer,
  KeyOperationRefusal,
  KeyOperationResult,
  WorkCall,
  WorkItem,
} from '../../contract/key-operations.ts';
import type { KeyOperation } from '../../contract/use-names.ts';
import { versionNamedIn } from '../../material/operations/encryption.ts';
import type { KeyInput, KeyOutput, KeyVersion } from '../../material/operations/key-operations.ts';
import { notDecrypted } from '../../material/operations/refusals.ts';
import type { ResourceRow, ResourceWithValue } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import {
  abilitiesIn,
  isSymmetric,
  type KeyAttributes,
  keyAttributes,
  minVersionOf,
} from './key-attributes.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';

/** What was asked, with everything that can be decided without the key. */
interface Planned {
  readonly operation: KeyOperation;
  readonly row: ResourceRow;
  readonly isBatch: boolean;
  readonly inputs: readonly (KeyInput | Failure)[];
}

type Stored = ResourceRow & Pick<ResourceWithValue, 'value'>;

/** Operations that only the newest version does. */
const forward: readonly KeyOperation[] = ['sign', 'encrypt', 'wrap', 'mac'];
/** Operations with the public key alone, unless the key is symmetric. */
const withPublicKey: readonly KeyOperation[] = ['verify', 'encrypt', 'wrap'];
/** Inputs that a thread works on before it is someone else's turn: about as long as one signature of RSA-4096. */
const inTurn: Readonly<Record<string, number>> = { RSA: 2, 'ML-DSA': 4, 'ML-KEM': 32 };
const inTurnOfOthers = 128;

export type KeyOperations = ReturnType<typeof keyOperationsWith>;

export function keyOperationsWith({ workers }: Pick<Parts, 'workers'>, records: Records) {
  async function versionsFor({ operation, row, inputs }: Planned, stored: Stored, vault: OpenVault) {
    const asked = validOf(inputs).map(({ version }) => version);
    const numbers = [...new Set([row.version, ...asked])].sort((one, other) => other - one);
    const needsValue = !withPublicKey.includes(operation) || isSymmetric(keyAttributes(row).key_type);
    const versions = numbers.map(async (number): Promise<KeyVersion> => {
      const found = number === row.version ? stored : await records.versionOf(row, number);
      const { key_type, public_pem, holds } = JSON.parse(found.attributes) as KeyAttributes;
      const isOpened = needsValue && holds === 'private';
      const value = isOpened ? records.openValue(row, vault.sealer, found.value, number) : null;
      return { version: number, keyType: key_type, value, publicPem: public_pem };
    });
    return (await Promise.all(versions)) as [KeyVersion, ...KeyVersion[]];
  }

  async function run(planned: Planned, stored: Stored, vault: OpenVault, lane: Lane): Promise<KeyOutput[]> {
    const { operation, row, inputs } = planned;
    const versions = await versionsFor(planned, stored, vault);
    const valid = validOf(inputs);
    const size = inTurn[keyAttributes(row).key_type] ?? inTurnOfOthers;
    const outputs: KeyOutput[] = [];
    for (let at = 0; at < valid.length; at += size) {
      const job = { operation, keyId: row.id, versions, inputs: valid.slice(at, at + size) };
      outputs.push(...(await workers.of(lane).operateKey(job)));
    }
    return outputs;
  }

  return {
    /** Throws if nothing of what was asked is valid. */
    plan(row: ResourceRow, operation: KeyOperation, call: WorkCall): Planned {
      const { items, ...shared } = call;
      const isBatch = items !== undefined;
      const inputs = (items ?? [shared]).map(item =>
        planned(row, operation, isBatch ? inherited(item, shared) : item),
      );
      if (isBatch && [shared.value, shared.text, shared.signature].some(one => one !== undefined))
        throw invalid('items', 'can’t be combined with an input outside of it');
      const [first] = inputs;
      if (!isBatch && first instanceof Failure) throw first;
      return { operation, row, isBatch, inputs };
    },

    /** Its values are opened here, after the log has been written if the caller must see to that. */
    async carryOut(
      planned: Planned,
      stored: Stored,
      vault: OpenVault,
      lane: Lane,
    ): Promise<{ readonly answer: KeyOperationAnswer; readonly told: string }> {
      const outputs = (await run(planned, stored, vault, lane)).values();
      const results = planned.inputs.map(input =>
        input instanceof Failure ? refused(input) : resultOf(planned.row, input, outputs.next().value!),
      );
      const [first] = results;
      if (!planned.isBatch && 'error' in first!)
        throw invalid(first.error.details.field, first.error.details.reason);
      const answer = planned.isBatch ? { items: results } : (first as KeyOperationResult);
      return { answer, told: sizesOf(results) };
    },
  };
}

/** How the log describes what is asked: the algorithms and versions, the number of inputs and their sizes. */
export function toldOf({ operation, row, inputs }: Planned): string {
  const valid = validOf(inputs);
  const algs = [...new Set(valid.map(({ alg }) => alg))].join('+') || 'none';
  const versions = [...new Set(valid.map(({ version }) => version))].sort((a, b) => a - b).join('+');
  const bytes = valid.reduce((sum, { value }) => sum + sizeOf(value), 0);
  return `key=${operation} ${algs} version=${versions || row.version} items=${inputs.length} bytes=${bytes}`;
}

function validOf(inputs: Planned['inputs']): KeyInput[] {
  return inputs.flatMap(input => (input instanceof Failure ? [] : [input]));
}

function sizesOf(results: readonly (KeyOperationResult | KeyOperationRefusal)[]): string {
  const failed = results.filter(result => 'error' in result).length;
  const bytes = results.reduce((sum, result) => sum + ('value' in result ? sizeOf(result.value) : 0), 0);
  return failed === 0 ? `answered=${bytes}` : `answered=${bytes} failed=${failed}`;
}

const sizeOf = (text: string) => Math.floor((text.length * 3) / 4);

/** The public name of a version. The first has the id of the key, as tokens had before keys had versions here. */
export function kidOf(keyId: string, version: number): string {
  return version === 1 ? keyId : `${keyId}.${version}`;
}

function inherited(item: WorkItem, { alg, aad, version }: WorkItem): WorkItem {
  return { alg, aad, version, ...item };
}

function planned(row: ResourceRow, operation: KeyOperation, item: WorkItem): KeyInput | Failure {
  try {
    const value = inputIn(item);
    const alg = algorithmFor(row, operation, item);
    if ((operation === 'verify') !== (item.signature !== undefined))
      throw invalid('signature', operation === 'verify' ? 'is required' : 'is only used to verify');
    const { signature, aad, epk, ek, der } = item;
    return {
      alg,
      version: versionFor(row, operation, alg, item.version, value),
      value,
      signature,
      aad,
      epk,
      ek,
      der,
    };
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function inputIn({ value, text }: WorkItem): string {
  if ((value === undefined) === (text === undefined))
    throw invalid('value', 'is required unless text is given; not both');
  return value ?? Buffer.from(text!, 'utf8').toString('base64url');
}

function algorithmFor(
  row: ResourceRow,
  operation: KeyOperation,
  { alg: wanted, among }: WorkItem,
): KeyAlgorithm {
  const possible = abilitiesIn(keyAttributes(row))[operation];
  if (possible === undefined) throw invalid('key', `can’t ${operation}`);
  if (among !== undefined) return firstAmong(among, possible);
  if (wanted !== undefined && !possible.includes(wanted))
    throw invalid('alg', `must be one that the key can ${operation} with: ${possible.join(', ')}`);
  return wanted ?? possible[0]!;
}

function firstAmong(among: readonly KeyAlgorithm[], possible: readonly KeyAlgorithm[]): KeyAlgorithm {
  const found = among.find(one => possible.includes(one));
  if (found === undefined) throw invalid('alg', 'is not one that this key can be used with');
  return found;
}

/** A ciphertext of a version that is no longer accepted is refused like any other that can't be decrypted. */
function versionFor(
  row: ResourceRow,
  operation: KeyOperation,
  alg: KeyAlgorithm,
  wanted: number | undefined,
  value: string,
): number {
  if (forward.includes(operation)) {
    if (wanted !== undefined && wanted !== row.version)
      throw invalid('version', 'must be the newest: older versions only verify and decrypt');
    return row.version;
  }
  const named = alg === 'A256GCM' ? versionNamedIn(Buffer.from(value, 'base64url')) : null;
  const version = wanted ?? named ?? row.version;
  const isUsable = version >= minVersionOf(row) && version <= row.version;
  if (isUsable) return version;
  if (wanted === undefined) return row.version;
  throw operation === 'verify' ? invalid('version', 'is not a version that verifies') : notDecrypted();
}

function resultOf(
  { id }: ResourceRow,
  { alg }: KeyInput,
  output: KeyOutput,
): KeyOperationResult | KeyOperationRefusal {
  if ('refused' in output) return refused(invalid(output.refused.field, output.refused.reason));
  return { kid: kidOf(id, output.version), alg, ...output } as KeyOperationResult;
}

function refused(failure: Failure): KeyOperationRefusal {
  const { field, reason } = failure;
  return { error: { message: sentenceOf(failure), details: { field, reason } } };
}
