/**
 * Compares a database's schema with what the migrations create. Any difference in our tables, and anything attached to
 * them that is not ours, is reported: a trigger, a policy, a rule or an index can falsify its table's contents. If a
 * newer version has run, which may have added columns, indexes and constraints, only objects that could falsify
 * something are reported.
 */
import type { EngineName } from '../migrations/migrations.ts';
import schemas from './described-schemas.json' with { type: 'json' };

/** An object in a schema, with its complete description. */
export interface Described {
  readonly key: string;
  readonly text: string;
}

/** What each migration added and changed; null for what it removed. */
type Steps = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

/** The same definition as described by a database that an earlier server created. */
const alternatives: Readonly<Record<string, string>> = {
  'changes.at':
    "bigint not null ((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision))::bigint",
};
const notValid = / not valid$/;
/** Created only if the server has the extension. */
const optional = 'index resources_name_parts';
/** Kinds of objects that newer versions never add to our tables. */
const neverAdded = /^(trigger|rule|policy|inheritance|function|operator|setting) /;
const mayBeGone = /^(index|constraint|function|trigger) /;
/** Settings that affect how fast or how long a statement runs, or how results are displayed, but not what it means. */
const harmless =
  /^(\w+_timeout|tcp_\w+|client_(connection_check_interval|min_messages)|jit\w*|(maintenance_|logical_decoding_)?work_mem|hash_mem_multiplier|temp_(buffers|file_limit)|effective_\w+|\w+_page_cost|cpu_\w+|(min_|max_)?parallel_\w+|enable_\w+|geqo\w*|\w+_collapse_limit|plan_cache_mode|default_statistics_target|default_transaction_read_only|cursor_tuple_fraction|log_\w+|track_\w+|compute_query_id|application_name|timezone|datestyle|intervalstyle|lc_\w+|synchronous_commit|commit_\w+|vacuum_\w+|role|\w+\.[\w.]+)$/i;

/** The schema after these migrations. */
export function expectedAfter(engine: EngineName, done: readonly string[]): Map<string, string> {
  const known: Steps = schemas[engine];
  const expected = new Map<string, string>();
  for (const step of done) {
    const changes = known[step];
    if (changes === undefined)
      throw new Error(`the schema after step ${step} is not recorded: npm run described-schemas`);
    for (const [key, text] of Object.entries(changes)) {
      if (text === null) expected.delete(key);
      else expected.set(key, text);
    }
  }
  return expected;
}

export function tablesIn(expected: ReadonlyMap<string, string>): string[] {
  return [...expected.keys()].filter(key => key.startsWith('table ')).map(key => key.slice('table '.length));
}

/** Returns the first difference, or null. */
export function differenceFrom(
  expected: ReadonlyMap<string, string>,
  found: readonly Described[],
  isNewer: boolean,
): string | null {
  const texts = new Map<string, string>();
  for (const { key, text } of found) {
    if (texts.has(key)) return `${shown(key)} exists twice`;
    texts.set(key, text);
  }
  for (const [key, text] of expected) {
    const there = texts.get(key);
    if (there === undefined && key !== optional && !(isNewer && mayBeGone.test(key)))
      return `${shown(key)} is missing`;
    if (there !== undefined && !isSame(key, text, there) && !(isNewer && mayDiffer(key, there)))
      return `${shown(key)} differs from the migrations`;
  }
  const strange = found.find(
    one =>
      !expected.has(one.key) && (!isNewer || neverAdded.test(one.key)) && !isHarmless(one) && !isUnused(one),
  );
  return strange === undefined ? null : `unexpected ${shown(strange.key)}`;
}

/** The text of an embedded table includes its columns. */
function mayDiffer(key: string, there: string): boolean {
  return mayBeGone.test(key) || /^\w+: CREATE TABLE /.test(there);
}

function isSame(key: string, expected: string, there: string): boolean {
  if (key === optional)
    return there.replace(notValid, '').replace(/[^ ()]+\.(?=gin_trgm_ops\)$)/, '') === expected;
  return there === expected || there === alternatives[key];
}

/** As left by REINDEX CONCURRENTLY while it runs: such an index is not used. */
function isUnused({ key, text }: Described): boolean {
  return key.startsWith('index ') && notValid.test(text);
}

/**
 * For settings, `text` is the name of our schema. `search_path` may name it, preceded only by the schemas that
 * PostgreSQL itself puts first.
 */
function isHarmless({ key, text }: Described): boolean {
  const [, name, value] = /^setting (.*?)=(.*)$/s.exec(key) ?? [];
  if (name === undefined) return false;
  if (name !== 'search_path') return harmless.test(name);
  const path = value!.split(',').map(one => one.trim());
  const before = path.slice(0, path.indexOf(text));
  return path.includes(text) && before.every(one => ['"$user"', 'pg_catalog'].includes(one));
}

/** The error message for an operator. */
export function alteredBy(fault: string): string {
  return `the schema of this database does not match this version: ${fault}`;
}

/** Names can be chosen freely, so they are reduced to one printable line. */
function shown(key: string): string {
  return key
    .replace(/^setting ([^=]*)=.*$/s, 'the setting of $1')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 200);
}
