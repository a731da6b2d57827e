/** The checks of everything around the data: program, service, files, disk, clock, TLS and backups. */
import { X509Certificate } from 'node:crypto';
import type { Stats } from 'node:fs';
import { readFile, stat, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import packageJson from '../../../package.json' with { type: 'json' };
import { readStatus } from '../../backup/schedule.ts';
import { signedAt } from '../../logs/checkpoints.ts';
import { isEncrypted } from '../listener/listening.ts';
import { inData, type ServeConfig } from '../settings/config.ts';
import { type Found, failed, lasting, ok, sized, warning } from './check.ts';
import type { Examined } from './examined.ts';
import { addressOf } from './service.ts';

const second = 1_000;
const day = 86_400_000;
const leastNode = Number(/\d+/.exec(packageJson.engines.node)![0]);

export async function versions({ service }: Examined): Promise<Found> {
  const program = `Strongroom ${packageJson.version} on Node ${process.versions.node}`;
  if (Number.parseInt(process.versions.node, 10) < leastNode)
    return failed(`${program}: Node ${leastNode} or later is required`);
  const answering = await service().catch(() => null);
  if (answering !== null && answering.version !== packageJson.version)
    return warning(`${program}, but the service runs ${answering.version}: restart it to finish the upgrade`);
  return ok(program);
}

export async function service({ answering, service, keyring, config }: Examined): Promise<Found> {
  if ((await answering()) === null)
    return warning(`nothing listens at ${addressOf(config)}: start strongroom serve`);
  const own = await service();
  if (own === null)
    return warning(
      `the service at ${addressOf(config)} serves data other than ${placeOf(config)}: set --port to that of the right service, or start it`,
    );
  if ((await keyring().catch(() => null)) === null)
    return warning(
      `a service is ready at ${addressOf(config)}, but it can’t be verified that it serves this data`,
    );
  const { status, ready, version } = own;
  if (!ready) return failed('the service is not ready (/readyz): see its reports');
  if (status !== 'ok') return warning(`the service reports the status ${status}`);
  return ok(`version ${version} is ready at ${addressOf(config)}`);
}

function placeOf(config: ServeConfig): string {
  return config['database-url'] === null ? resolve(config.data) : '--database-url';
}

const groupOrOthers = 0o077;
const writableByThem = 0o022;

/** Files in a folder that others can't enter are out of reach. The root key has its own check. */
export async function permissions({ config }: Examined): Promise<Found> {
  const folder = resolve(config.data);
  for (const path of [folder, config['tls-key'] ?? inData(config, 'tls/server-key.pem')]) {
    const found = await stat(path).catch(() => null);
    if (found === null) continue;
    if ((found.mode & writableByThem) !== 0) return failed(`others can write to ${path}: chmod go-w ${path}`);
    if (isForeign(found, process.geteuid?.()))
      return failed(`${path} belongs to another user: run this as the user of the service, or chown it`);
    if ((found.mode & groupOrOthers) !== 0) return warning(`others can read ${path}: chmod go= ${path}`);
  }
  return ok(`only its owner has access to ${folder}`);
}

function isForeign({ uid }: Stats, self: number | undefined): boolean {
  return self !== undefined && self !== 0 && uid !== self;
}

const leastRoom = 100 * 1024 ** 2;
const littleRoom = 1024 ** 3;

/** A backup also needs space next to the database, but its folder may be elsewhere. */
export async function disk({ config, given }: Examined): Promise<Found> {
  const { bavail, bsize, files, ffree } = await statfs(resolve(config.data));
  const room = bavail * bsize;
  const text = `${sized(room)} of space is free for ${resolve(config.data)}`;
  if (room < leastRoom) return failed(`only ${text}: the service stops answering when the disk is full`);
  if (files > 0 && ffree * 100 < files) return warning(`${text}, but only a few more files can be created`);
  const { bytes } =
    config['database-url'] === null ? await (await given.snapshot()).diagnostics.size() : { bytes: 0 };
  if (room < Math.max(littleRoom, bytes))
    return warning(`${text}, which is little for a database of ${sized(bytes)}: free some space`);
  return ok(text);
}

/** A clock that is further behind prevents a start; see `start-checks.ts`. */
const farthestBehind = day;
const noticeable = 5 * second;

export async function clock({ given, now }: Examined): Promise<Found> {
  const { logs, diagnostics } = await given.snapshot();
  const last = await logs.lastCheckpoint();
  const ahead = last === undefined ? 0 : signedAt(last) - now();
  if (ahead > farthestBehind)
    return failed(
      `the clock is ${lasting(ahead)} behind the log, so the service will not start: set the clock`,
    );
  if (ahead > noticeable)
    return warning(`the clock is ${lasting(ahead)} behind the log: synchronize it (NTP)`);
  const before = now();
  const server = await diagnostics.time();
  const apart = server === null ? 0 : Math.abs(server - (before + now()) / 2);
  if (apart > noticeable)
    return warning(`the clock of the database server differs by ${lasting(apart)}: synchronize both (NTP)`);
  return ok(server === null ? 'agrees with the log' : 'agrees with the log and the database server');
}

const soon = 14 * day;

export async function tls({ config, service, now }: Examined): Promise<Found> {
  if (!isEncrypted(config))
    return ok(
      config.socket === null && config['behind-proxy'].length === 0
        ? 'not used: loopback only'
        : 'a proxy terminates TLS',
    );
  const certFile = config['tls-cert'] ?? inData(config, 'tls/server.pem');
  const keyFile = config['tls-key'] ?? inData(config, 'tls/server-key.pem');
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  try {
    createSecureContext({ cert, key });
  } catch {
    return failed(`${certFile} and ${keyFile} do not match, or are damaged: replace both`);
  }
  const certificate = new X509Certificate(cert);
  const left = certificate.validToDate.getTime() - now();
  const renew = config.tls === null ? 'renew it' : 'restart the service, which renews it';
  if (left <= 0) return failed(`the certificate expired ${lasting(-left)} ago: ${renew}`);
  if (certificate.validFromDate.getTime() > now())
    return failed('the certificate is not valid yet: check the clock');
  const served = (await service().catch(() => null))?.certificate ?? null;
  if (served !== null && served.fingerprint256 !== certificate.fingerprint256)
    return warning(`the service still uses another certificate: send it SIGHUP`);
  if (left < soon) return warning(`the certificate expires in ${lasting(left)}: ${renew}`);
  return ok(`the certificate is valid for ${lasting(left)}`);
}

export async function backup({ config, now }: Examined): Promise<Found> {
  const folder = config['backup-to'];
  if (folder === null)
    return warning(
      'the service takes no backups: start it with --backup-to, or skip this check with --skip backup',
    );
  const { last, failed: attempt } = await readStatus(resolve(folder));
  if (last === null)
    return failed(
      `there is no verified backup of the service in ${folder}${attempt === null ? '' : `; the newest attempt failed: ${attempt.reason}`}`,
    );
  const age = now() - Date.parse(last.created_at);
  const text = `the newest verified backup is ${lasting(age)} old`;
  if (age > 3 * config['backup-every'])
    return failed(
      `${text}, although one is due every ${lasting(config['backup-every'])}: see the service’s reports`,
    );
  if (attempt !== null) return warning(`${text}, and the newest attempt failed: ${attempt.reason}`);
  return ok(text);
}
