/**
 * A certificate of a vault with its private key, as a program gets them that writes them to files. As long as nothing
 * changes, only a list without values is read; the private key is read once for each version. A certificate is never
 * returned with a key that does not belong to it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Certificate, ExpiredResource, VaultReadCertificate, VaultReadKey } from '../../client/api.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';
import { type Admin, adminFor, foundIn } from './admin.ts';
import { ask, jsonOf, RefusedRequest, refusalOf } from './remote.ts';
import { isId } from './secret.ts';
import type { Settings } from './settings.ts';
import { logIn } from './workload.ts';

export interface Issued {
  readonly name: string;
  /** PEM of the certificate alone, and of what follows it. */
  readonly leaf: string;
  readonly chain: string;
  readonly privateKey: string;
  readonly expiresAt: string;
}

export interface CertificateSource {
  /** Those of these names that may have changed since the last call; all of them at the first. */
  changed(names: readonly string[], keyName: string | null): Promise<readonly Issued[]>;
}

/** With both kinds of key, as elsewhere: an API key for a vault that is named. */
export function certificateSource(settings: Settings): CertificateSource {
  const { url, accessKey, apiKey, workload, vault } = settings;
  if (apiKey !== null && (accessKey === null || vault !== null)) return withApiKey(settings);
  if (accessKey === null && workload === null)
    throw new UsageError(`there is no key for ${url}: set STRONGROOM_ACCESS_KEY or STRONGROOM_API_KEY`);
  return withAccessKey(settings);
}

interface Listed {
  readonly certificates?: readonly (VaultReadCertificate | ExpiredResource)[];
  readonly keys?: readonly (VaultReadKey | ExpiredResource)[];
}

/** A certificate that is replaced by one with the same expiry does not change the list. */
const longestTrust = 60 * 60_000;

function withAccessKey({ url, accessKey, workload, vault }: Settings): CertificateSource {
  let current = accessKey;
  let tag: string | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  const path = `/api/v1/vaults/${vault !== null && isId(vault) ? vault : 'self'}`;

  async function asked(query: string, etag: string | null = null) {
    current ??= await logIn(url, workload!, vault);
    const answer = await ask(url, { path: `${path}?${query}`, key: current, etag });
    if (answer.status === 401 && workload !== null) current = null; // The next attempt logs in again.
    if (answer.status !== 200 && answer.status !== 304) throw refusalOf(url, answer);
    return answer;
  }

  const pemOf = async (id: string) => (await asked(`resource=${id}`)).text;

  async function one(listed: Listed, name: string, keyName: string | null): Promise<Issued> {
    const certificate = active(listed.certificates, name, 'certificate');
    const key = active(listed.keys, keyName ?? name, 'key');
    return issued(certificate.name, await pemOf(certificate.id), await pemOf(key.id));
  }

  return {
    changed: async (names, keyName) => {
      const known = Date.now() - readAt < longestTrust ? tag : null;
      const answer = await asked('secrets=names&include=keys,certificates', known);
      if (answer.status === 304) return [];
      const listed = jsonOf(url, answer) as Listed;
      const found: Issued[] = [];
      for (const name of names) found.push(await one(listed, name, keyName));
      // Only now: after a failure, all of it is read again.
      tag = answer.headers.get('etag');
      readAt = Date.now();
      return found;
    },
  };
}

/** What has expired is listed without its name. */
function active<T extends { readonly id: string; readonly name: string }>(
  all: readonly (T | ExpiredResource)[] = [],
  named: string,
  noun: string,
): T {
  const name = named.normalize('NFC');
  const found = all.find((one): one is T => 'name' in one && (one.name === name || one.id === named));
  if (found !== undefined) return found;
  throw new RefusedRequest(
    `there is no ${noun} ${shown(named)}: it may have expired, or the access key may not read it`,
    404,
  );
}

function withApiKey(settings: Settings): CertificateSource {
  const admin = adminFor(settings);
  const known = new Map<string, string>();

  async function one(vaultId: string, name: string, keyName: string | null): Promise<Issued | null> {
    const { id } = await certificateIn(admin, vaultId, name);
    const certificate = await admin.getCertificate({ id });
    const keyId = keyName === null ? keyIdOf(certificate) : (await keyIn(admin, vaultId, keyName)).id;
    const { version } = await admin.getKey({ id: keyId });
    const seen = `${certificate.fingerprint} ${keyId} ${version}`;
    if (known.get(name) === seen) return null;
    const { pem } = await admin.revealKey({ id: keyId });
    const found = issued(certificate.name, certificate.pem ?? '', pem);
    known.set(name, seen);
    return found;
  }

  return {
    changed: async (names, keyName) => {
      const { id } = await admin.vault(settings.vault);
      const found: Issued[] = [];
      for (const name of names) found.push(...[await one(id, name, keyName)].filter(part => part !== null));
      return found;
    },
  };
}

function certificateIn(admin: Admin, vault_id: string, named: string) {
  const list = ({ query = {} }: Parameters<Admin['listCertificates']>[0] & object) =>
    admin.listCertificates({ query: { ...query, vault_id } });
  return foundIn(list, 'certificate', named);
}

function keyIn(admin: Admin, vault_id: string, named: string) {
  const list = ({ query = {} }: Parameters<Admin['listKeys']>[0] & object) =>
    admin.listKeys({ query: { ...query, vault_id } });
  return foundIn(list, 'key', named);
}

function keyIdOf({ key_id, name }: Certificate): string {
  if (key_id === null)
    throw new Refusal(`the certificate ${shown(name)} names no key: --key-name says which one it has`);
  return key_id;
}

/** Both are read one after the other, so a new version may come between them: then the next attempt succeeds. */
function issued(name: string, pem: string, privateKey: string): Issued {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
  const [leaf, ...chain] = blocks.map(block => block.replace(/\n?$/, '\n'));
  if (leaf === undefined) throw new Refusal(`what was read as ${shown(name)} is not a certificate`);
  const certificate = new X509Certificate(leaf);
  if (!isKeyOf(certificate, privateKey))
    throw new Refusal(
      `the private key does not belong to the certificate ${shown(name)}: --key-name says which one does, and it must be exportable`,
    );
  const expiresAt = new Date(certificate.validTo).toISOString();
  return { name, leaf, chain: chain.join(''), privateKey: privateKey.replace(/\n*$/, '\n'), expiresAt };
}

function isKeyOf(certificate: X509Certificate, privateKey: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}

function shown(name: string): string {
  return printable(JSON.stringify(name));
}
