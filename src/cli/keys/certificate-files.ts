/**
 * The files of a certificate, for programs that read them. Each is replaced as a whole and synced, the private key first;
 * a file that contains it can be read by its owner only, from its first byte. What is there already is not written again.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { writeDurably } from '../../base/durable-file.ts';
import { UsageError } from '../../service/settings/report.ts';
import type { Issued } from '../connection/certificate-source.ts';

export interface Places {
  readonly cert: string;
  readonly key: string;
  /** Null: the chain follows the certificate in its file. */
  readonly chain: string | null;
}

const [ownersOnly, everyones] = [0o600, 0o644];
const placeholder = '{name}';

/** Several certificates need files of their own. */
export function checkPlaces({ cert, key, chain }: Places, names: readonly string[]): void {
  const all = [cert, key, ...(chain === null ? [] : [chain])];
  if (names.length > 1 && !all.every(path => path.includes(placeholder)))
    throw new UsageError(
      `with several certificates, each file must contain ${placeholder}, as in /etc/tls/${placeholder}.pem`,
    );
  if (chain !== null && [cert, key].some(path => resolve(path) === resolve(chain)))
    throw new UsageError('--chain must name a file of its own');
}

/** Whether anything had to be written. */
export async function writeFiles(places: Places, issued: Issued): Promise<boolean> {
  let isChanged = false;
  for (const [path, content, mode] of filesOf(places, issued)) {
    if (isThere(path, content, mode)) continue;
    await writeDurably(path, content, mode);
    isChanged = true;
  }
  return isChanged;
}

type File = readonly [path: string, content: string, mode: number];

/** The same path for certificate and key gives one file with both, as HAProxy reads it. */
function filesOf({ cert, key, chain }: Places, { name, leaf, chain: rest, privateKey }: Issued): File[] {
  const at = (path: string) => resolve(path.replaceAll(placeholder, fileName(name)));
  const certificate = chain === null ? leaf + rest : leaf;
  const others: File[] = chain === null ? [] : [[at(chain), rest, everyones]];
  if (at(cert) === at(key)) return [...others, [at(cert), certificate + privateKey, ownersOnly]];
  return [[at(key), privateKey, ownersOnly], ...others, [at(cert), certificate, everyones]];
}

/** A name can’t lead out of the folder. */
function fileName(name: string): string {
  return encodeURIComponent(name).replace(/^\.+$/, dots => '%2E'.repeat(dots.length));
}

function isThere(path: string, content: string, mode: number): boolean {
  try {
    return (statSync(path).mode & 0o777 & ~mode) === 0 && readFileSync(path, 'utf8') === content;
  } catch {
    return false;
  }
}
