/**
 * Compares what a database says of its schema with what the migrations made. Any difference in our tables, and anything
 * that is attached to one and is not ours, is named: a trigger, a policy, a rule or an index can lie about its table. Beside
 * a newer version, which may have added columns, indexes and constraints, only what could lie is.
 */

import type { EngineName } from '../migrations/migrations.ts';
import schemas from './described-schemas.json' with { type: 'json' };

/** Something of a schema, and all that it says of itself. */
export interface Described {
  readonly key: string;
  readonly text: string;
}

/** What each step added and changed; null where it removed something. */
type Steps = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

/** How a database that was made by an earlier server says the same. */
const alternatives: Readonly<Record<string, string>> = {
  'changes.at':
    "bigint not null ((date_part('epoch'::text, clock_timestamp()) * (1000)::double precision))::bigint",
};
const notValid = / not valid$/;
/** Made only where the server has the extension for it. */
const optional = 'index resources_name_parts';
/** Nothing that a newer version adds to our tables has one of these names, by our own rule. */
const neverAdded = /^(trigger|rule|policy|inheritance|function|operator|setting) /;
const mayBeGone = /^(index|constraint|function|trigger) /;
/** Settings that change how fast or for how long a statement runs, or how it is shown, and not what it means. */
const harmless =
  /^(\w+_timeout|tcp_\w+|client_(connection_check_interval|min_messages)|jit\w*|(maintenance_|logical_decoding_)?work_mem|hash_mem_multiplier|temp_(buffers|file_limit)|effective_\w+|\w+_page_cost|cpu_\w+|(min_|max_)?parallel_\w+|enable_\w+|geqo\w*|\w+_collapse_limit|plan_cache_mode|default_statistics_target|default_transaction_read_only|cursor_tuple_fraction|log_\w+|track_\w+|compute_query_id|application_name|timezone|datestyle|intervalstyle|lc_\w+|synchronous_commit|commit_\w+|vacuum_\w+|role|\w+\.[\w.]+)$/i;

/** What the schema is after these steps. */
export function expectedAfter(engine: EngineName, done: readonly string[]): Map<string, string> {
  const known: Steps = schemas[engine];
  const expected = new Map<string, string>();
  for (const step of done) {
    const changes = known[step];
    if (changes === undefined)
      throw new Error(`what step ${step} makes is not written down: npm run described-schemas`);
    for (const [key, text] of Object.entries(changes)) {
      if (text === null) expected.delete(key);
      else expected.set(key, text);
    }
  }
  return expected;
}

/** The names of the tables. */
export function tablesIn(expected: ReadonlyMap<string, string>): string[] {
  return [...expected.keys()].filter(key => key.startsWith('table ')).map(key => key.slice('table '.length));
}

/** Null where there is none. */
export function differenceFrom(
  expected: ReadonlyMap<string, string>,
  found: readonly Described[],
  isNewer: boolean,
): string | null {
  const texts = new Map<string, string>();
  for (const { key, text } of found) {
    if (texts.has(key)) return `${shown(key)} is there twice`;
    texts.set(key, text);
  }
  for (const [key, text] of expected) {
    const there = texts.get(key);
    if (there === undefined && key !== optional && !(isNewer && mayBeGone.test(key)))
      return `it lacks ${shown(key)}`;
    if (there !== undefined && !isSame(key, text, there) && !(isNewer && mayDiffer(key, there)))
      return `${shown(key)} is not as the migrations made it`;
  }
  const strange = found.find(
    one =>
      !expected.has(one.key) && (!isNewer || neverAdded.test(one.key)) && !isHarmless(one) && !isUnused(one),
  );
  return strange === undefined ? null : `${shown(strange.key)} is not known here`;
}

/** The text of an embedded table has its columns in it. */
function mayDiffer(key: string, there: string): boolean {
  return mayBeGone.test(key) || /^\w+: CREATE TABLE /.test(there);
}

function isSame(key: string, expected: string, there: string): boolean {
  if (key === optional)
    return there.replace(notValid, '').replace(/[^ ()]+\.(?=gin_trgm_ops\)$)/, '') === expected;
  return there === expected || there === alternatives[key];
}

/** As REINDEX CONCURRENTLY leaves it while it works: nothing is found by it. */
function isUnused({ key, text }: Described): boolean {
  return key.startsWith('index ') && notValid.test(text);
}

/** For settings the text is the name of our schema: it may be given, after none but those that PostgreSQL itself names first. */
function isHarmless({ key, text }: Described): boolean {
  const [, name, value] = /^setting (.*?)=(.*)$/s.exec(key) ?? [];
  if (name === undefined) return false;
  if (name !== 'search_path') return harmless.test(name);
  const path = value!.split(',').map(one => one.trim());
  const before = path.slice(0, path.indexOf(text));
  return path.includes(text) && before.every(one => ['"$user"', 'pg_catalog'].includes(one));
}

/** For whoever can't use the database. */
export function alteredBy(fault: string): string {
  return `the tables of this database are not those of this version: ${fault}`;
}

/** Names are anybody's choice; an operator reads them in one line. */
function shown(key: string): string {
  return key
    .replace(/^setting ([^=]*)=.*$/s, 'the setting of $1')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 200);
}
