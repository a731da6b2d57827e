/** Reads dropped or chosen files in the browser. */

export interface Dropped {
  readonly name: string;
  readonly bytes: ArrayBuffer;
}

export async function readFiles(files: Iterable<File>): Promise<Dropped[]> {
  return Promise.all([...files].map(async file => ({ name: file.name, bytes: await file.arrayBuffer() })));
}

export function base64Of(bytes: ArrayBuffer): string {
  const view = new Uint8Array(bytes);
  let text = '';
  for (let at = 0; at < view.length; at += 0x8000)
    text += String.fromCharCode(...view.subarray(at, at + 0x8000));
  return btoa(text);
}

/** PKCS#12 is DER and starts with 0x30, the tag of a sequence. As text, that is the digit 0, which starts no variable. */
export function isPkcs12({ name, bytes }: Dropped): boolean {
  return /\.(p12|pfx)$/i.test(name) || new Uint8Array(bytes)[0] === 0x30;
}

export function textOf({ bytes }: Dropped): string {
  return new TextDecoder().decode(bytes);
}

/** The file's name without folder and extension. */
export function stemOf(name: string): string {
  return name.replace(/^.*[/\\]/, '').replace(/\.[^.]+$/, '') || name;
}
