/** Standard Schema, version 1 (standardschema.dev), as far as it is used here: zod, valibot, arktype and others have it. */

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

/** Any text, as it is in the vault. */
export const text: StandardSchema<string> = {
  '~standard': {
    version: 1,
    vendor: 'strongroom',
    validate: value => (typeof value === 'string' ? { value } : { issues: [{}] }),
  },
};

/**
 * What a schema makes of a value; null where it refuses it. What it found is not handed on: the issues of some
 * libraries repeat the value.
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
