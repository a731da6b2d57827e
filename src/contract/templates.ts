/**
 * The text of a template: plain text with references to secrets. `${NAME}` is a secret of the same vault,
 * `${vault:VAULT/NAME}` one of another vault. In both, `%` and `}` are percent-encoded, and in the name of a vault also
 * `/`; `$${` is a plain `${`. A text is parsed once, when it is written: what a reference stands for is never parsed, so
 * a value that contains `${` stays as it is.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import { Failure, invalid } from './errors.ts';

export const secretKinds = ['value', 'template'] as const;
export type SecretKind = (typeof secretKinds)[number];

/** A reference as it is written. */
export interface NamedReference {
  /** Null for the vault of the template itself. */
  readonly vault: string | null;
  readonly name: string;
}

export type TemplatePart<Reference> = string | Reference;

/** References in one template; a secret that is named twice counts twice. */
export const mostReferences = 32;
/** References from a template to the secret at the end of the chain. */
export const longestChain = 8;

const otherVault = 'vault:';
const isName = /^[^\p{Cc}]{1,255}$/u;
const opening = /\$\$\{|\$\{/g;

/** Throws INVALID_REQUEST, which names the reference by its number and repeats nothing of the text. */
export function parseTemplate(text: string): TemplatePart<NamedReference>[] {
  const parts: TemplatePart<NamedReference>[] = [];
  let literal = '';
  let at = 0;
  let references = 0;
  for (;;) {
    opening.lastIndex = at;
    const found = opening.exec(text);
    literal += text.slice(at, found?.index ?? text.length);
    if (found === null) break;
    at = found.index + found[0].length;
    if (found[0] === '$${') {
      literal += '${';
      continue;
    }
    const end = text.indexOf('}', at);
    references++;
    if (end < 0) throw malformed(references, 'has no closing brace; write $${ for a plain ${');
    if (references > mostReferences)
      throw invalid('value', `must contain at most ${mostReferences} references`);
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push(parseReference(text.slice(at, end), references));
    at = end + 1;
  }
  if (literal !== '') parts.push(literal);
  return parts;
}

function parseReference(text: string, number: number): NamedReference {
  if (!text.startsWith(otherVault)) return { vault: null, name: decoded(text, number) };
  const slash = text.indexOf('/');
  if (slash < 0) throw malformed(number, 'must be of the form ${vault:VAULT/NAME}');
  return {
    vault: decoded(text.slice(otherVault.length, slash), number),
    name: decoded(text.slice(slash + 1), number),
  };
}

function decoded(text: string, number: number): string {
  const name = unescaped(text);
  if (name === null) throw malformed(number, 'must have % written as %25');
  if (!isName.test(name)) throw malformed(number, 'must have a name');
  return name;
}

/** Null if the bytes are not UTF-8. */
function unescaped(text: string): string | null {
  try {
    return decodeURIComponent(text).normalize('NFC');
  } catch {
    return null;
  }
}

function malformed(number: number, reason: string): Failure {
  return invalid('value', `reference ${number} ${reason}`);
}

/** The text that parses to these parts. A reference that must not be shown is null, and does not parse. */
export function formatTemplate(parts: readonly TemplatePart<NamedReference | null>[]): string {
  return parts
    .map(part => {
      if (typeof part === 'string') return part.replaceAll('${', () => '$${');
      if (part === null) return '${}';
      const name = encoded(part.name, /[%}]/g);
      if (part.vault !== null) return `\${${otherVault}${encoded(part.vault, /[%}/]/g)}/${name}}`;
      return `\${${name.startsWith(otherVault) ? name.replace(':', '%3A') : name}}`;
    })
    .join('');
}

function encoded(name: string, special: RegExp): string {
  return name.replace(special, encodeURIComponent);
}

/** A template that can't be resolved now. To the caller, all reasons look the same. */
export function unresolved(): Failure {
  return new Failure('UNRESOLVED');
}
