/**
 * Queries whose text is the same each time. Building one costs more than running it, so each is built once, on first
 * use, with a placeholder for every value. Its text may depend only on its form, never on the values.
 */
import type { Compilable, CompiledQuery, Kysely } from 'kysely';
import { once } from '../../base/memo.ts';
import type { Schema } from '../schema/schema.ts';
import { refuseNul, type Statement, type StatementOptions } from './engine.ts';

type Named = Readonly<Record<string, unknown>>;

/** Stands for a named value, or for one element of a list, while a query is built. */
class Placeholder {
  readonly name: string;
  readonly index: number | null;

  constructor(name: string, index: number | null = null) {
    this.name = name;
    this.index = index;
  }

  valueIn(values: Named): unknown {
    const value = values[this.name];
    return this.index === null ? value : (value as readonly unknown[])[this.index];
  }
}

/**
 * Prepares a statement for any values of these names: `prepared<{ id: string }>(({ id }) =>
 * db.deleteFrom(…).where('id', '=', id))`.
 */
export function prepared<Values extends object>(
  build: (values: Values) => Compilable,
  options: StatementOptions = {},
): (values: Values) => Statement {
  const compile = once(() => build(placeholders<Values>()).compile());
  return values => {
    const { sql, parameters } = bound(compile(), values);
    refuseNul(parameters);
    return { sql, parameters, ...options };
  };
}

/** Prepares a read for any values of these names. */
export function preparedRead<Values extends object, Row>(
  db: Kysely<Schema>,
  build: (values: Values) => Compilable<Row>,
): (values: Values) => Promise<Row[]> {
  const compile = once(() => build(placeholders<Values>()).compile());
  return async values => (await db.executeQuery(bound(compile(), values))).rows;
}

/** The schemas limit the forms that callers can cause; this limits how many are cached. */
const mostForms = 500;

/**
 * A query in many forms. The form includes which values are given: an undefined value has no placeholder, and a list
 * has one per element.
 */
export function preparedForms<Form, Values extends object, Row>(
  build: (form: Form, values: Values) => CompiledQuery<Row>,
): (form: Form, values: Values) => CompiledQuery<Row> {
  const forms = new Map<string, CompiledQuery<Row>>();
  return (form, values) => {
    const key = formKey(form, values as Named);
    let query = forms.get(key);
    if (query === undefined) {
      if (forms.size >= mostForms) forms.clear();
      query = build(form, placeholdersFor(values as Named) as Values);
      forms.set(key, query);
    }
    return bound(query, values);
  };
}

/** An engine's statements that come in a few forms. Each form is prepared on first use, and kept. */
export class StatementForms<Values extends object> {
  readonly #forms = new WeakMap<Kysely<Schema>, Map<string, (values: Values) => Statement>>();

  of(
    db: Kysely<Schema>,
    name: string,
    prepare: () => (values: Values) => Statement,
  ): (values: Values) => Statement {
    const forms = this.#forms.get(db) ?? new Map<string, (values: Values) => Statement>();
    this.#forms.set(db, forms);
    const form = forms.get(name) ?? prepare();
    forms.set(name, form);
    return form;
  }
}

function formKey(form: unknown, values: Named): string {
  let key = JSON.stringify(form);
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) key += Array.isArray(value) ? ` ${name}:${value.length}` : ` ${name}`;
  }
  return key;
}

function placeholders<Values extends object>(): Values {
  const get = (_: object, name: string) => new Placeholder(name);
  return new Proxy({}, { get }) as Values;
}

function placeholdersFor(values: Named): Named {
  const each = Object.entries(values).map(([name, value]) => {
    if (value === undefined) return [name, undefined];
    return [
      name,
      Array.isArray(value) ? value.map((_, index) => new Placeholder(name, index)) : new Placeholder(name),
    ];
  });
  return Object.fromEntries(each) as Named;
}

function bound<Row>(query: CompiledQuery<Row>, values: object): CompiledQuery<Row> {
  const parameters = query.parameters.map(one =>
    one instanceof Placeholder ? one.valueIn(values as Named) : one,
  );
  return { ...query, parameters };
}
