/**
 * Text that a program wrote and a person decides about. What hides, reorders or joins characters is shown by its number,
 * so that it reads as it will be sent.
 */
const unseen = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu;

export function visibleText(text: string): string {
  return text.replace(
    unseen,
    char => `⟨U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
}
