/** A store without a vault, for testing programs that use a store. */
import { Changes } from './changes.ts';
import { systemClock } from './clock.ts';
import { asError } from './errors.ts';
import { type Candidates, HeldValues, missingError, type Schemas } from './held-values.ts';
import { type StandardSchema, text } from './standard-schema.ts';
import { type Store, storeOf } from './store.ts';

/** Simulates a rotation: listeners are called and derived objects rebuilt before it resolves. */
type SetValues<N extends string> = (values: Readonly<Partial<Record<N, string>>>) => Promise<void>;

export type FakeStore<S extends Schemas> = Store<S> & { readonly set: SetValues<keyof S & string> };

/** Uses every value as it is. */
export function fake<const N extends string>(
  values: Readonly<Record<N, string>>,
): FakeStore<Readonly<Record<N, StandardSchema<string>>>>;
/** Parses every value with its schema, as for a vault's values. Asynchronous schemas are not supported. */
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

function examined(schemas: Schemas, raws: Readonly<Record<string, string>>): Candidates {
  const good = new Map<string, { readonly raw: string; readonly value: unknown }>();
  const [missing, invalid]: [string[], string[]] = [[], []];
  for (const [name, schema] of Object.entries(schemas)) {
    const raw = raws[name]!;
    const result = schema['~standard'].validate(raw);
    if (result instanceof Promise) throw asError(new TypeError('A fake store requires synchronous schemas.'));
    if (!Object.hasOwn(raws, name)) missing.push(name);
    else if (result.issues !== undefined) invalid.push(name);
    else good.set(name, { raw, value: result.value });
  }
  if (good.size < Object.keys(schemas).length) throw missingError(missing, invalid);
  return { good, missing, invalid };
}
