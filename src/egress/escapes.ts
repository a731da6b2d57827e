/** Decodes the escapes of URLs, JSON, HTML, programming languages and mail, however they are mixed and padded. */
const escapes =
  /%([0-9a-f]{2})|\\+u\{0*([0-9a-f]{1,6})\}|\\+u([0-9a-f]{4})|\\+x([0-9a-f]{2})|&#0*([0-9]{1,7});?|&#x0*([0-9a-f]{1,6});?|\\+([0-3][0-7]{2})|=([0-9A-F]{2})|&(amp|lt|gt|quot|apos|lowbar|hyphen|dash|period|colon|sol|plus|equals|commat|nbsp|num|percnt|dollar|ast|excl);/gi;
const beginning = /[%\\&=]/;
const named: Readonly<Record<string, string>> = { amp: '&', percnt: '%', num: '#', equals: '=', colon: ':' };
/** Escapes may be nested this deep. */
const deepest = 3;
const slice = 64 * 1024;
const longestEscape = 16;

/** Yields the text with its escapes decoded once, twice and so on, as long as that changes anything. */
export async function* unescapedViews(bytes: Buffer, turn: () => Promise<void>): AsyncGenerator<Buffer> {
  let text = bytes.toString('latin1');
  for (let depth = 0; depth < deepest && beginning.test(text); depth++) {
    const parts: string[] = [];
    for (let from = 0; from < text.length; ) {
      const to = endOf(text, from);
      parts.push(unescapedOnce(text.slice(from, to)));
      from = to;
      if (from < text.length) await turn();
    }
    const next = parts.join('');
    if (next === text) return;
    text = next;
    yield Buffer.from(text, 'latin1');
  }
}

/** The end of a slice that does not split an escape. */
function endOf(text: string, from: number): number {
  const to = from + slice;
  if (to >= text.length) return text.length;
  const cut = text.slice(to - longestEscape, to).search(beginning);
  return cut === -1 ? to : to - longestEscape + cut;
}

function unescapedOnce(text: string): string {
  return text.replace(escapes, (written, ...groups: (string | undefined)[]) => {
    const [percent, braced, unit, byte, decimal, hex, octal, quoted, name] = groups;
    if (name !== undefined) return named[name.toLowerCase()] ?? ' ';
    const digits = percent ?? braced ?? unit ?? byte ?? hex ?? quoted;
    const code =
      digits !== undefined
        ? Number.parseInt(digits, 16)
        : Number.parseInt((decimal ?? octal)!, decimal === undefined ? 8 : 10);
    if (code < 0x100) return String.fromCharCode(code);
    return code <= 0x10ffff ? Buffer.from(String.fromCodePoint(code), 'utf8').toString('latin1') : written;
  });
}
