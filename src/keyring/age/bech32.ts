/**
 * Bech32 (BIP 173) without its length limit, the encoding of age's keys. Mixed case and wrong checksums are refused.
 */
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const checksumLength = 6;

export function bech32(prefix: string, bytes: Uint8Array): string {
  const digits = regroup([...bytes], 8, 5, true)!;
  const whole = [...digits, ...checksumOf(prefix, digits)];
  return `${prefix}1${whole.map(digit => alphabet[digit]).join('')}`;
}

/** Returns null if the text is not such a key. */
export function fromBech32(prefix: string, text: string): Buffer | null {
  if (text !== text.toLowerCase() && text !== text.toUpperCase()) return null;
  const [lower, head] = [text.toLowerCase(), `${prefix.toLowerCase()}1`];
  if (!lower.startsWith(head)) return null;
  const digits = [...lower.slice(head.length)].map(letter => alphabet.indexOf(letter));
  if (digits.length < checksumLength || digits.includes(-1)) return null;
  if (polymod([...expanded(prefix.toLowerCase()), ...digits]) !== 1) return null;
  const bytes = regroup(digits.slice(0, -checksumLength), 5, 8, false);
  return bytes && Buffer.from(bytes);
}

function checksumOf(prefix: string, digits: readonly number[]): number[] {
  const sum = polymod([...expanded(prefix), ...digits, ...new Array<number>(checksumLength).fill(0)]) ^ 1;
  return Array.from({ length: checksumLength }, (_, at) => (sum >> (5 * (5 - at))) & 31);
}

function polymod(digits: readonly number[]): number {
  let sum = 1;
  for (const digit of digits) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ digit;
    for (const [at, generator] of generators.entries()) if ((top >> at) & 1) sum ^= generator;
  }
  return sum;
}

function expanded(prefix: string): number[] {
  const codes = [...prefix].map(letter => letter.charCodeAt(0));
  return [...codes.map(code => code >> 5), 0, ...codes.map(code => code & 31)];
}

/** Returns null if bits are left over that are not padding. */
function regroup(from: readonly number[], bits: number, to: number, pad: boolean): number[] | null {
  const out: number[] = [];
  let [held, count] = [0, 0];
  for (const value of from) {
    held = (held << bits) | value;
    count += bits;
    while (count >= to) {
      count -= to;
      out.push((held >> count) & ((1 << to) - 1));
    }
    held &= (1 << count) - 1;
  }
  if (pad) return count === 0 ? out : [...out, (held << (to - count)) & ((1 << to) - 1)];
  return count < bits && held === 0 ? out : null;
}
