/**
 * The service's TLS certificate: the operator's, reloaded when its files change, or a generated one, signed by a local
 * authority in the data folder that clients can be configured to trust.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { makeFolder, writeDurably } from '../../base/durable-file.ts';
import type { CertificatePair } from '../../http/listener/server.ts';
import { issueServerCertificate, selfSign } from '../../material/certificate.ts';
import { generateKey } from '../../material/key-material.ts';
import { inData, type ServeConfig, UsageError } from '../settings/config.ts';

export type Tls = Awaited<ReturnType<typeof fromFiles>>;

const authorityDays = 3650;
const serverDays = 397;
const renewBefore = 30 * 24 * 3_600_000;
const lookEvery = 1_000;

export async function openTls(config: ServeConfig): Promise<Tls | null> {
  const [cert, key] = [config['tls-cert'], config['tls-key']];
  if ((cert === null) !== (key === null)) {
    throw new UsageError(cert === null ? '--tls-key requires --tls-cert' : '--tls-cert requires --tls-key');
  }
  if (cert !== null && key !== null) return fromFiles(cert, key);
  if (config.tls === null) return null;
  return fromFiles(...(await makeLocalFiles(config)));
}

async function fromFiles(certFile: string, keyFile: string) {
  const read = async (): Promise<CertificatePair> => {
    const pair = { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
    createSecureContext(pair); // Detects a mismatched pair here, and not with the first client.
    return pair;
  };
  const current = await read().catch(error => {
    throw new UsageError(
      `--tls-cert and --tls-key can’t be used: ${(error as NodeJS.ErrnoException).code ?? 'they do not match'}`,
    );
  });
  let serveWith: (pair: CertificatePair) => void = () => {};
  /** Reads the files now. Rejects if they do not match; then the old pair stays in use. */
  const reload = async () => serveWith(await read());
  return {
    current,
    reload,
    /** The listener is called once with each new certificate and key. */
    onChange: (listener: (pair: CertificatePair) => void) => {
      serveWith = listener;
      // While the two files are being replaced, they may not match: the old pair stays in use until they do.
      const look = () => void reload().catch(() => {});
      for (const file of [certFile, keyFile])
        watchFile(file, { interval: lookEvery, persistent: false }, look);
    },
    close: () => {
      for (const file of [certFile, keyFile]) unwatchFile(file);
    },
  };
}

/** The authority is created once; the certificate is renewed if it expires soon or is for another address. */
async function makeLocalFiles(config: ServeConfig): Promise<[cert: string, key: string]> {
  const at = (name: string) => inData(config, `tls/${name}`);
  const files: [string, string] = [at('server.pem'), at('server-key.pem')];
  const names = [...new Set(['localhost', '127.0.0.1', '::1', config.host])].filter(
    name => name !== '0.0.0.0' && name !== '::',
  );
  makeFolder(inData(config, 'tls'));
  if (![at('authority.pem'), at('authority-key.pem')].every(file => existsSync(file))) {
    await makeAuthority(at('authority.pem'), at('authority-key.pem'));
  } else if (files.every(file => existsSync(file)) && lasts(await readFile(files[0], 'utf8'), names)) {
    return files;
  }
  const authorityPem = await readFile(at('authority.pem'), 'utf8');
  const server = await generateKey({ key_type: 'EC', curve: 'P-256' });
  const serverPem = await issueServerCertificate({
    authorityPem,
    authorityPrivatePem: await readFile(at('authority-key.pem'), 'utf8'),
    publicPem: server.publicPem,
    names,
    notBefore: justNow(),
    days: serverDays,
  });
  await writeDurably(files[0], serverPem + authorityPem, 0o600);
  await writeDurably(files[1], server.pem, 0o400);
  return files;
}

async function makeAuthority(certFile: string, keyFile: string): Promise<void> {
  const { pem } = await generateKey({ key_type: 'EC', curve: 'P-256' });
  const subject = 'CN=Strongroom local authority';
  const notBefore = justNow();
  const certificate = await selfSign({
    privatePem: pem,
    subject,
    sans: [],
    notBefore,
    days: authorityDays,
    isAuthority: true,
  });
  await writeDurably(keyFile, pem, 0o400);
  await writeDurably(certFile, certificate, 0o600);
}

function lasts(pem: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pem);
  const covers = (name: string) =>
    isIP(name) === 0 ? certificate.checkHost(name) !== undefined : certificate.checkIP(name) !== undefined;
  return certificate.validToDate.getTime() - Date.now() > renewBefore && names.every(covers);
}

/** A minute ago, because clocks differ a little. */
function justNow(): Date {
  return new Date(Date.now() - 60_000);
}
