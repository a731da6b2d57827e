/**
 * Text that others wrote and a person decides about, taken apart so that every character of it can be seen, in order.
 * Only ASCII and the letters of Latin-1 stand for themselves, because every font draws these, each in its own way. Other
 * letters and digits are shown with their number, and everything else by its number alone: what hides, reorders, joins
 * or looks like something else. The brackets of a number are never shown as themselves, so no text can imitate one.
 */
export type VisiblePart =
  | { readonly kind: 'plain'; readonly text: string }
  /** `glyph` is empty where there is nothing to see, or where it would not be what it looks like. */
  | {
      readonly kind: 'escaped';
      readonly character: string;
      readonly glyph: string;
      readonly code: string;
    };

const plain = /^[ -~\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u00FF]$/u;
/** Letters and digits that stand by themselves. Fillers of Hangul are letters that show nothing. */
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

/** The common ones have a sign of their own: a body with lines is to be read as lines. */
const signs: Readonly<Record<string, string>> = { '\n': '↵', '\t': '⇥' };

function codeOf(character: string): string {
  return signs[character] ?? `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
