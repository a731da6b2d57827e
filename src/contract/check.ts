/** Checks input against a contract schema, and turns the first error into a failure that names the field. */
import type { z } from 'zod';
import { type Failure, invalid } from './errors.ts';
import { isSafeText } from './text.ts';

const longestField = 128;

export function check<Schema extends z.ZodType>(schema: Schema, sent: unknown): z.output<Schema> {
  const result = schema.safeParse(sent);
  if (result.success) return result.data;
  throw firstFault(result.error.issues[0]!, sent);
}

function firstFault(issue: z.core.$ZodIssue, sent: unknown): Failure {
  if (issue.code === 'unrecognized_keys') {
    const field = fieldName([...issue.path, issue.keys[0]!]);
    return invalid(field, 'is not a field of this request');
  }
  if (issue.code === 'invalid_key') {
    return invalid(fieldName(issue.path.slice(0, -1)), `each name in it ${plain(issue.issues[0]!.message)}`);
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && issue.path.length === 0) {
    const inner = issue.errors.find(issues => issues.length > 0)?.[0];
    if (inner !== undefined) return firstFault(inner, sent);
  }
  if (issue.path.length === 0 && issue.code === 'invalid_type')
    return invalid('', 'the body must be an object');
  const missing = issue.code === 'invalid_type' && valueAt(sent, issue.path) === undefined;
  return invalid(fieldName(issue.path), missing ? 'is required' : plain(issue.message));
}

/** A field's name can be anything, so it is cut off at the first part that can't be shown safely. */
function fieldName(path: readonly PropertyKey[]): string {
  const names = path.map(String);
  const unsafe = names.findIndex(name => !isSafeText(name));
  return names
    .slice(0, unsafe < 0 ? names.length : unsafe)
    .join('.')
    .slice(0, longestField)
    .toWellFormed();
}

function valueAt(sent: unknown, path: readonly PropertyKey[]): unknown {
  let value = sent;
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return value;
}

/**
 * Messages from our schemas are used as they are; the library's generic ones, which begin differently, are replaced.
 */
function plain(message: string): string {
  return message.startsWith('Invalid') || message.startsWith('Too') ? 'is not valid' : message;
}
