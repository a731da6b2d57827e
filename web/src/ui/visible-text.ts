/**
 * Splits untrusted text that a person decides about into parts, so that every character is visible, in order. Only
 * printable ASCII and the letters of Latin-1 are shown as they are, because every font distinguishes them. Other letters
 * and digits are shown with their code point, and everything else as its code point only: characters that are invisible,
 * reorder, combine or look like another. The brackets around a code point are always escaped, so no text can imitate one.
 */
export type VisiblePart =
  | { readonly kind: 'plain'; readonly text: string }
  /** `glyph` is empty for characters that are invisible or misleading. */
  | {
      readonly kind: 'escaped';
      readonly character: string;
      readonly glyph: string;
      readonly code: string;
    };

const plain = /^[ -~\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u00FF]$/u;
/** Letters and digits that are visible on their own. Hangul fillers are letters that are invisible. */
const standing = /^(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}]$/u;

export function visibleParts(text: string): VisiblePart[] {
  const parts: VisiblePart[] = [];
  let run = '';
  const flush = () => {
    if (run !== '') parts.push({ kind: 'plain', text: run });
    run = '';
  };
  for (const character of text) {
    if (plain.test(character)) run += character;
    else {
      flush();
      const glyph = standing.test(character) ? character : '';
      parts.push({ kind: 'escaped', character, glyph, code: codeOf(character) });
    }
  }
  flush();
  return parts;
}

/** Line breaks and tabs have symbols, so that multi-line bodies stay readable. */
const signs: Readonly<Record<string, string>> = { '\n': '↵', '\t': '⇥' };

function codeOf(character: string): string {
  return signs[character] ?? `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
