/** The paths of the transit engine: `transit/…` for the vault of the credential, `{vault}/transit/…` for a named one. */
import type { KeyOperation } from '../../../contract/use-names.ts';

const operations = ['encrypt', 'decrypt', 'rewrap', 'datakey', 'sign', 'verify', 'hmac'] as const;
/** What is done with a key. */
export type TransitOperation = (typeof operations)[number];
const keyless = ['random', 'hash'] as const;

interface OnMount {
  readonly of: 'transit';
  /** The name or id of a vault; empty for the vault of the credential. */
  readonly mount: string;
}

export interface OperationCall extends OnMount {
  readonly verb: TransitOperation;
  readonly key: string;
  /** A hash algorithm, or whether a data key is shown; empty if the path has none. */
  readonly detail: string;
}

export interface KeylessCall extends OnMount {
  readonly verb: (typeof keyless)[number];
  /** What follows in the path, such as a number of bytes or a hash algorithm. */
  readonly details: readonly string[];
}

export interface KeyCall extends OnMount {
  readonly verb: 'keys';
  /** Empty to list the keys. */
  readonly key: string;
  readonly action: '' | 'config' | 'rotate';
}

export type TransitCall = OperationCall | KeylessCall | KeyCall;

/** The operation of ours that does it. */
export const operationOf: Readonly<Record<TransitOperation, KeyOperation>> = {
  encrypt: 'encrypt',
  decrypt: 'decrypt',
  rewrap: 'rewrap',
  datakey: 'encrypt',
  sign: 'sign',
  verify: 'verify',
  hmac: 'mac',
};

const engine = 'transit';
const isOneOf = <One extends string>(all: readonly One[], text: string | undefined): text is One =>
  (all as readonly (string | undefined)[]).includes(text);

/** Where the engine's name stands before one of its paths; -1 if nowhere. */
export function transitIn(segments: readonly string[]): number {
  return segments.findIndex((segment, at) => {
    const next = segments[at + 1];
    return segment === engine && (next === 'keys' || isOneOf(operations, next) || isOneOf(keyless, next));
  });
}

/** Null if the engine has no such path. `at` is the position of its name. */
export function transitCall(segments: readonly string[], at: number, isList: boolean): TransitCall | null {
  const mount = segments.slice(0, at).join('/');
  const [verb, ...given] = segments.slice(at + 1) as [string, ...string[]];
  const rest = given.at(-1) === '' ? given.slice(0, -1) : given;
  if (rest.includes('')) return null;
  if (verb === 'keys') return keyCall(mount, rest, isList);
  if (isOneOf(keyless, verb)) return rest.length > 2 ? null : { of: 'transit', mount, verb, details: rest };
  return operationCall(mount, verb as TransitOperation, rest);
}

function keyCall(mount: string, [key = '', action = '', ...more]: readonly string[], isList: boolean) {
  const isKnown = action === '' || action === 'config' || action === 'rotate';
  if (!isKnown || more.length > 0 || isList !== (key === '')) return null;
  return { of: 'transit', mount, verb: 'keys', key, action } as const;
}

function operationCall(mount: string, verb: TransitOperation, rest: readonly string[]): OperationCall | null {
  const [first, second = '', ...more] = rest;
  if (first === undefined || more.length > 0) return null;
  if (verb === 'datakey') {
    const isKind = first === 'plaintext' || first === 'wrapped';
    return isKind && second !== '' ? { of: 'transit', mount, verb, key: second, detail: first } : null;
  }
  const takesHash = verb === 'sign' || verb === 'verify' || verb === 'hmac';
  return second === '' || takesHash ? { of: 'transit', mount, verb, key: first, detail: second } : null;
}

/** For the log, without the name of the key. */
export function transitRoute(call: TransitCall): string {
  const root = `/vault/v1/${call.mount === '' ? '' : '{mount}/'}transit/${call.verb}`;
  if (call.verb === 'keys')
    return `${root}${call.key === '' ? '' : '/{key}'}${call.action === '' ? '' : `/${call.action}`}`;
  if (call.verb === 'random' || call.verb === 'hash') return root;
  return call.verb === 'datakey' ? `${root}/${call.detail}/{key}` : `${root}/{key}`;
}
