/**
 * The certificate that we serve with: the operator's, read again when its files change, or one of our own
 * making, signed by a local authority in the data folder that clients can be told to trust.
 */
import { existsSync, unwatchFile, watchFile } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { inData, type ServeConfig, UsageError } from './config.ts';
import type { CertificatePair } from './http/server.ts';
import { issueServerCertificate, selfSign } from './material/certificate.ts';
import { generateKey } from './material/key-material.ts';

export interface Tls {
  readonly current: CertificatePair;
  onChange(listener: (pair: CertificatePair) => void): void;
  close(): void;
}

const authorityDays = 3650;
const serverDays = 397;
const lookEvery = 1_000;

export async function openTls(config: ServeConfig): Promise<Tls | null> {
  const [cert, key] = [config['tls-cert'], config['tls-key']];
  if ((cert === null) !== (key === null)) {
    throw new UsageError(cert === null ? '--tls-key needs --tls-cert' : '--tls-cert needs --tls-key');
  }
  if (cert !== null && key !== null) return fromFiles(cert, key);
  if (config.tls === null) return null;
  return fromFiles(...(await makeLocalFiles(config)));
}

async function fromFiles(certFile: string, keyFile: string): Promise<Tls> {
  const read = async (): Promise<CertificatePair> => {
    const pair = { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
    createSecureContext(pair); // A pair that does not fit is found here, and not by the first client.
    return pair;
  };
  const current = await read().catch(error => {
    throw new UsageError(
      `--tls-cert and --tls-key can’t be used: ${(error as NodeJS.ErrnoException).code ?? 'they do not fit'}`,
    );
  });
  return {
    current,
    onChange: listener => {
      // While the two files are being replaced they may not fit: the old pair serves until they do.
      const look = () => void read().then(listener, () => {});
      for (const file of [certFile, keyFile])
        watchFile(file, { interval: lookEvery, persistent: false }, look);
    },
    close: () => {
      for (const file of [certFile, keyFile]) unwatchFile(file);
    },
  };
}

async function makeLocalFiles(config: ServeConfig): Promise<[cert: string, key: string]> {
  const at = (name: string) => inData(config, `tls/${name}`);
  const files: [string, string] = [at('server.pem'), at('server-key.pem')];
  if (files.every(file => existsSync(file))) return files;
  await mkdir(inData(config, 'tls'), { recursive: true, mode: 0o700 });
  const notBefore = new Date(Date.now() - 60_000);
  const authority = await generateKey({ key_type: 'EC', curve: 'P-256' });
  const server = await generateKey({ key_type: 'EC', curve: 'P-256' });
  const authorityPem = await selfSign({
    privatePem: authority.pem,
    subject: 'CN=Strongroom local authority',
    sans: [],
    notBefore,
    days: authorityDays,
    isAuthority: true,
  });
  const serverPem = await issueServerCertificate({
    authorityPem,
    authorityPrivatePem: authority.pem,
    publicPem: server.publicPem,
    names: [...new Set(['localhost', '127.0.0.1', '::1', config.host])].filter(
      name => name !== '0.0.0.0' && name !== '::',
    ),
    notBefore,
    days: serverDays,
  });
  await writeFile(at('authority.pem'), authorityPem);
  await writeFile(at('server.pem'), serverPem + authorityPem, { mode: 0o600 });
  await writeFile(at('server-key.pem'), server.pem, { mode: 0o400 });
  return files;
}
