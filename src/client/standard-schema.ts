/** The part of Standard Schema 1 (standardschema.dev) that is used; zod, valibot, arktype and others implement it. */

export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type Result<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly unknown[] };

export type OutputOf<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer Output } | undefined };
}
  ? Output
  : never;

/** Accepts any text and returns it unchanged. */
export const text: StandardSchema<string> = {
  '~standard': {
    version: 1,
    vendor: 'strongroom',
    validate: value => (typeof value === 'string' ? { value } : { issues: [{}] }),
  },
};

/**
 * Parses a value with a schema; null if the schema refuses it. The issues are not returned, because some libraries
 * repeat the value in them.
 */
export async function parsed<Output>(
  schema: StandardSchema<Output>,
  raw: string,
): Promise<{ readonly value: Output } | null> {
  try {
    const result = await schema['~standard'].validate(raw);
    return result.issues === undefined ? { value: result.value } : null;
  } catch {
    return null;
  }
}
