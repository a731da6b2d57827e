/**
 * RC2 in CBC mode, decryption only (RFC 2268).
 *
 * It exists only to read the PKCS#12 files that Windows, Java and OpenSSL 1.x wrote for twenty years, whose
 * certificates are encrypted with RC2-40. OpenSSL 3 leaves RC2 out of its default provider.
 * Guarantees: the RFC's own test vectors. Refuses: invalid padding. Encryption is left out deliberately, because
 * nothing may be protected with RC2.
 */

/** The RFC's PITABLE, a permutation of 0…255 taken from the digits of pi. */
const piTable = Buffer.from(
  'd978f9c419ddb5ed28e9fd794aa0d89dc67e37832b76538e624c6488448bfba2' +
    '179a59f587b34f1361456d8d09817d32bd8f40eb86b77b0bf09521225c6b4e82' +
    '54d66593ce60b21c7356c014a78cf1dc1275ca1f3bbee4d1423dd430a33cb626' +
    '6fbf0eda4669075727f21d9bbc944303f811c7f690ef3ee706c3d52fc8661ed7' +
    '08e8eade8052eef784aa72ac354d6a2a961ad2715a1549744b9fd05e0418a4ec' +
    'c2e0416e0f51cbcc2491af50a1f47039997c3a8523b8b47afc02365b25559731' +
    '2d5dfa98e38a92ae05df2910676cbac9d300e6cfe19ea82c6316013f58e289a9' +
    '0d38341bab33ffb0bb480c5fb9b1cd2ec5f3db47e5a59c770aa62068fe7fc1ad',
  'hex',
);

const blockSize = 8;
const rotations = [1, 2, 3, 5] as const;

/** Section 2: 128 bytes of key stream, read as 64 little-endian words. */
function expandKey(key: Uint8Array, effectiveBits: number): Uint16Array {
  const stream = new Uint8Array(128);
  stream.set(key);
  for (let i = key.length; i < 128; i++)
    stream[i] = piTable[(stream[i - 1]! + stream[i - key.length]!) & 0xff]!;
  const effectiveBytes = Math.ceil(effectiveBits / 8);
  const mask = 0xff >> (8 * effectiveBytes - effectiveBits);
  const pivot = 128 - effectiveBytes;
  stream[pivot] = piTable[stream[pivot]! & mask]!;
  for (let i = pivot - 1; i >= 0; i--) stream[i] = piTable[stream[i + 1]! ^ stream[i + effectiveBytes]!]!;
  return Uint16Array.from({ length: 64 }, (_, i) => stream[2 * i]! | (stream[2 * i + 1]! << 8));
}

/** Section 4: sixteen mixing rounds in reverse, with the two mashing rounds in their places. */
function decryptWords(words: Uint16Array, key: Uint16Array): void {
  for (let round = 15; round >= 0; round--) {
    if (round === 10 || round === 4) unmash(words, key);
    unmix(words, key, round);
  }
}

function unmix(words: Uint16Array, key: Uint16Array, round: number): void {
  for (let i = 3; i >= 0; i--) {
    const [before, second, third] = [words[(i + 3) % 4]!, words[(i + 2) % 4]!, words[(i + 1) % 4]!];
    const shift = rotations[i]!;
    const turned = (words[i]! >>> shift) | (words[i]! << (16 - shift));
    // A Uint16Array keeps the low sixteen bits, which is the arithmetic that the RFC requires.
    words[i] = turned - key[4 * round + i]! - (before & second) - (~before & third);
  }
}

function unmash(words: Uint16Array, key: Uint16Array): void {
  for (let i = 3; i >= 0; i--) words[i] = words[i]! - key[words[(i + 3) % 4]! & 63]!;
}

/** Decrypts and removes the PKCS#7 padding; undefined if the padding is invalid (usually a wrong key). */
export function rc2CbcDecrypt(key: Buffer, iv: Buffer, ciphertext: Buffer): Buffer | undefined {
  if (ciphertext.length === 0 || ciphertext.length % blockSize !== 0) return undefined;
  const plain = rc2Blocks(key, key.length * 8, ciphertext);
  for (let i = 0; i < plain.length; i++)
    plain[i] = plain[i]! ^ (i < blockSize ? iv[i]! : ciphertext[i - blockSize]!);
  return unpad(plain);
}

/** Decrypts each block by itself, without chaining. */
export function rc2Blocks(key: Uint8Array, effectiveBits: number, ciphertext: Buffer): Buffer {
  const words = expandKey(key, effectiveBits);
  const plain = Buffer.alloc(ciphertext.length);
  for (let at = 0; at < ciphertext.length; at += blockSize) {
    const block = Uint16Array.from([0, 2, 4, 6], offset => ciphertext.readUInt16LE(at + offset));
    decryptWords(block, words);
    block.forEach((word, i) => {
      plain.writeUInt16LE(word, at + 2 * i);
    });
  }
  words.fill(0);
  return plain;
}

function unpad(plain: Buffer): Buffer | undefined {
  const size = plain.at(-1)!;
  if (size < 1 || size > blockSize) return undefined;
  if (plain.subarray(-size).some(byte => byte !== size)) return undefined;
  return plain.subarray(0, -size);
}
