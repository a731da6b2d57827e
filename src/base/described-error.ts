/**
 * Describes an error in one line for the operator: type, code, message and location. Quoted text in messages is
 * removed, because drivers and parsers quote their input, which may be a secret.
 */
const longestMessage = 300;
const quoted = /"[^"]*"?|(?<!\w)'[^']*'?|`[^`]*`?/g;

export function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { name, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  const place = error.stack?.split('\n').find(line => line.includes('    at '));
  const said = summary(error);
  const parts = [name, code !== undefined && said.startsWith(code) ? '' : code, said, place?.trim()].filter(
    part => part !== undefined && part !== '',
  );
  return parts.join(' ') + (cause === undefined ? '' : ` <- ${describe(cause)}`);
}

/** The message, without type or location. */
export function summary({ message }: Error): string {
  return message.split('\n')[0]!.replace(quoted, '…').slice(0, longestMessage);
}
