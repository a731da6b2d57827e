/**
 * What is probably a mistake in a value: characters that nobody sees, and what a copy, an editor or a quoted line
 * added. The value is stored as it is. A warning names no character and no part of the value.
 */

const mark = '\ufeff';
/** Everything except tabs and line breaks, which values of several lines have. */
const control = /[^\P{Cc}\t\r\n]/u;
const unseen = /[\p{Cf}\u115f\u1160\u2028\u2029\u3164\uffa0]/u;
const unusualSpace = /[^\P{Zs} ]/u;

type Rule = readonly [warning: string, applies: (value: string) => boolean];

/** Each takes time in proportion to the length of the value. */
const rules: readonly Rule[] = [
  ['begins with a byte order mark', value => value.startsWith(mark)],
  ['contains invisible characters, such as zero-width spaces', value => unseen.test(withoutMark(value))],
  ['contains control characters', value => control.test(value)],
  ['contains spaces other than the usual one, such as no-break spaces', value => unusualSpace.test(value)],
  ['is one line that ends with a line break', value => /^[^\r\n]*[\r\n]+$/.test(value)],
  ['begins with spaces or line breaks', value => /^\s/.test(withoutMark(value))],
  ['ends with spaces', value => /[^\S\r\n]/.test(value.slice(value.trimEnd().length))],
  ['is in quotes, which are part of it', value => isQuoted(value.trim())],
];

export function warningsFor(value: string): string[] {
  return rules.filter(([, applies]) => applies(value)).map(([warning]) => warning);
}

function withoutMark(value: string): string {
  return value.startsWith(mark) ? value.slice(mark.length) : value;
}

function isQuoted(value: string): boolean {
  return value.length > 1 && /^["'`]/.test(value) && value.endsWith(value[0]!);
}
