/** The row of a use rule: how it is created, changed and presented, and which fields a rule must have. */
import type { Egress } from '../../access/egress.ts';
import { invalid } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import { decryptionAlgorithms, signingAlgorithms, type UseAlgorithm } from '../../contract/use-names.ts';
import type { UseRule, UseRuleUpdate } from '../../contract/use-rules.ts';
import type { UseRuleRow } from '../../store/records/use-rules.ts';
import { type WrittenBy, writersOf } from '../kernel/written-by.ts';

type Decided = Omit<
  UseRule,
  'id' | 'vault_id' | 'secret_id' | 'key_id' | 'name' | 'created_by' | 'created_at' | 'updated_at'
>;
type Fields = { readonly [F in keyof Decided]: Decided[F] };
type Given<F extends keyof Fields> = { readonly [K in F]: NonNullable<Fields[K]> };

const callFields = [
  'hosts',
  'methods',
  'paths',
  'place',
  'request_headers',
  'response_headers',
  'max_request',
  'max_response',
  'binary',
  'response',
  'timeout',
] as const;
const keyFields = ['operations', 'algorithms'] as const;

/** Fields that every verified rule has. */
interface Named extends Pick<Fields, 'approval' | 'rate_limit'> {
  readonly id: string;
  readonly name: string;
  readonly revision: number;
  /** Whoever created or changed it. */
  readonly writers: readonly string[];
}

/** The rule of a secret: the calls made with it. */
export type CallRule = Named & Given<(typeof callFields)[number]> & Pick<Fields, 'store' | 'gateway'>;
/** The rule of a key: the operations with it. */
export type KeyRule = Named & Given<(typeof keyFields)[number]> & Pick<Fields, 'jwt'>;

const callDefaults = {
  request_headers: ['accept', 'content-type'],
  response_headers: ['content-type'],
  max_request: 65_536,
  max_response: 262_144,
  binary: false,
  response: 'full',
  timeout: 30,
} as const;

const none: Fields = {
  hosts: null,
  methods: null,
  paths: null,
  place: null,
  request_headers: null,
  response_headers: null,
  max_request: null,
  max_response: null,
  binary: null,
  response: null,
  store: null,
  gateway: null,
  timeout: null,
  operations: null,
  algorithms: null,
  jwt: null,
  approval: 'always',
  rate_limit: 60,
};
const names = Object.keys(none) as (keyof Fields)[];

/** As it is stored. */
type StoredFields = Fields & { readonly written_by?: WrittenBy };

export function fieldsIn({ rule }: Pick<UseRuleRow, 'rule'>): Fields {
  const { written_by: _, ...fields } = JSON.parse(rule) as StoredFields;
  return { ...none, ...fields };
}

export function writtenIn({ rule }: Pick<UseRuleRow, 'rule'>): WrittenBy | undefined {
  return (JSON.parse(rule) as StoredFields).written_by;
}

export function ruleText(fields: Fields, written_by: WrittenBy): string {
  return JSON.stringify({ ...fields, written_by } satisfies StoredFields);
}

export function callRuleOf(row: UseRuleRow): CallRule {
  return { ...named(row), ...fieldsIn(row) } as CallRule;
}

export function keyRuleOf(row: UseRuleRow): KeyRule {
  return { ...named(row), ...fieldsIn(row) } as KeyRule;
}

function named(row: UseRuleRow) {
  const { id, name, revision } = row;
  return { id, name, revision, writers: writersOf(row, writtenIn(row)) };
}

/** Fields that the body omits don't change; in a new rule they have their defaults. */
export function changedFields(before: Fields | null, body: UseRuleUpdate, type: 'secret' | 'key'): Fields {
  const sent = names.filter(name => body[name] !== undefined).map(name => [name, body[name]]);
  const fields = { ...(before ?? none), ...Object.fromEntries(sent) } as Fields;
  if (type === 'key') return fields;
  const missing = Object.entries(callDefaults).filter(([name]) => fields[name as keyof Fields] === null);
  return { ...fields, ...Object.fromEntries(missing) };
}

export function checkFields(fields: Fields, type: 'secret' | 'key', egress: Egress): void {
  const [wanted, unused] = type === 'secret' ? [callFields, keyFields] : [keyFields, callFields];
  const missing = wanted.find(name => fields[name] === null);
  if (missing !== undefined) throw invalid(missing, 'is required');
  const stray = unused.find(name => fields[name] !== null);
  if (stray !== undefined) throw invalid(stray, `is not used by a rule for a ${type}`);
  if (type === 'secret') checkCall(fields, egress);
  else checkKey(fields);
}

const jsonPointer = /^(?:\/(?:[^~/]|~[01])+)+$/;

function checkCall(fields: Fields, egress: Egress): void {
  const { hosts, response, store, jwt, gateway } = fields;
  if (gateway !== null && response === 'store')
    throw invalid('gateway', 'can’t be combined with response store');
  if (jwt !== null) throw invalid('jwt', 'is not used by a rule for a secret');
  for (const host of hosts!) {
    const refusal = egress.refusalOf(new URL(host.startsWith('http://') ? host : `https://${host}`));
    if (refusal !== null) throw invalid('hosts', refusal);
  }
  checkPlace(fields);
  if ((response === 'store') !== (store !== null)) {
    throw invalid(
      'store',
      store === null ? 'is required if response is store' : 'is only allowed if response is store',
    );
  }
  if (store !== null && !jsonPointer.test(store.pointer)) {
    throw invalid('store', 'must have a JSON pointer such as /access_token');
  }
}

function checkPlace({ place, request_headers, methods }: Fields): void {
  if (place!.type === 'header' && request_headers!.includes(place!.name)) {
    throw invalid('request_headers', 'must not contain the header that the value goes into');
  }
  const inBody = place!.type === 'json' || place!.type === 'form';
  if (inBody && methods!.some(method => method === 'GET' || method === 'HEAD')) {
    throw invalid('methods', 'must not contain GET or HEAD, because the value goes into the body');
  }
  if (place!.type === 'json' && !jsonPointer.test(place!.pointer)) {
    throw invalid('place', 'must have a JSON pointer such as /auth/token');
  }
}

function checkKey({ operations, algorithms, jwt, store, gateway }: Fields): void {
  if (gateway !== null) throw invalid('gateway', 'is not used by a rule for a key');
  if (store !== null) throw invalid('store', 'is not used by a rule for a key');
  const signs = operations!.some(operation => operation !== 'decrypt');
  const isOf = (list: readonly UseAlgorithm[]) => algorithms!.some(one => list.includes(one));
  if (signs && !isOf(signingAlgorithms)) throw invalid('algorithms', 'must contain one for signatures');
  if (operations!.includes('decrypt') && !isOf(decryptionAlgorithms)) {
    throw invalid('algorithms', 'must contain one for decryption');
  }
  if (jwt !== null && !operations!.includes('sign')) throw invalid('jwt', 'requires the operation sign');
}

export function presentUseRule(row: UseRuleRow): UseRule {
  return {
    id: row.id,
    vault_id: row.vault_id,
    secret_id: row.resource_type === 'secret' ? row.resource_id : null,
    key_id: row.resource_type === 'key' ? row.resource_id : null,
    name: row.name,
    ...fieldsIn(row),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
