/**
 * Errors in one line for the operator: type, code, what happened and where. What others put between quotes is
 * left out, because drivers and parsers quote what they were given, and that may be a secret.
 */
const longestMessage = 200;
const quoted = /"[^"]*"?|(?<!\w)'[^']*'?|`[^`]*`?/g;

export function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { name, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  const place = error.stack?.split('\n').find(line => line.includes('    at '));
  const parts = [name, code, summary(error), place?.trim()].filter(part => part !== undefined && part !== '');
  return parts.join(' ') + (cause === undefined ? '' : ` <- ${describe(cause)}`);
}

/** What happened, without where. */
export function summary({ message }: Error): string {
  return message.split('\n')[0]!.replace(quoted, '…').slice(0, longestMessage);
}
