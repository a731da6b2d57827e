/** A store without a vault, for the tests of programs that use one. */
import { Changes } from './changes.ts';
import { systemClock } from './clock.ts';
import { asError } from './errors.ts';
import { HeldValues, missingError, type Schemas } from './held-values.ts';
import { type StandardSchema, text } from './standard-schema.ts';
import { type Store, storeOf } from './store.ts';

/** A rotation: what depends on the values is told, and built anew, before it resolves. */
type SetValues<N extends string> = (values: Readonly<Partial<Record<N, string>>>) => Promise<void>;

export type FakeStore<S extends Schemas> = Store<S> & { readonly set: SetValues<keyof S & string> };

/** Every value is taken as it is. */
export function fake<const N extends string>(
  values: Readonly<Record<N, string>>,
): FakeStore<Readonly<Record<N, StandardSchema<string>>>>;
/** Every value goes through its schema, as it would from a vault; schemas that answer later are not for this. */
export function fake<const S extends Schemas>(
  values: Readonly<Record<keyof S & string, string>>,
  secrets: S,
): FakeStore<S>;
export function fake(values: Readonly<Record<string, string>>, secrets?: Schemas): FakeStore<Schemas> {
  const schemas = secrets ?? Object.fromEntries(Object.keys(values).map(name => [name, text]));
  const held = new HeldValues(schemas, { maxStale: Number.POSITIVE_INFINITY, grace: 0 });
  const changes = new Changes(error => {
    throw error;
  });
  const take = (raws: Readonly<Record<string, string>>) =>
    held.take(examined(schemas, raws), systemClock.now());
  let current = values;
  take(current);
  const set = async (some: Readonly<Record<string, string | undefined>>) => {
    current = { ...current, ...some } as Record<string, string>;
    await changes.tell(take(current));
  };
  const source = { refresh: async () => {}, status: () => statusOf(held), close: async () => {} };
  const store = storeOf<Schemas>({ values: held, changes, clock: systemClock, source });
  return Object.defineProperty(store, 'set', { value: set }) as FakeStore<Schemas>;
}

function statusOf({ confirmedAt }: HeldValues) {
  return { confirmedAt: new Date(confirmedAt!), fromCache: false, lastError: null };
}

function examined(schemas: Schemas, raws: Readonly<Record<string, string>>) {
  const missing = Object.keys(schemas).filter(name => !Object.hasOwn(raws, name));
  const results = Object.entries(schemas).map(([name, schema]) => {
    const result = schema['~standard'].validate(raws[name]);
    if (result instanceof Promise)
      throw asError(new TypeError('A fake takes schemas that answer immediately.'));
    return [name, result] as const;
  });
  const invalid = results.flatMap(([name, { issues }]) => (issues === undefined ? [] : [name]));
  if (missing.length + invalid.length > 0)
    throw missingError(
      missing,
      invalid.filter(name => !missing.includes(name)),
    );
  const good = results.flatMap(([name, result]) =>
    result.issues === undefined ? [[name, { raw: raws[name]!, value: result.value }] as const] : [],
  );
  return { good: new Map(good), missing, invalid };
}
