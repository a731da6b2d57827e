/**
 * `strongroom doctor --client`: examines this command line's way to the service: project file, profile, address,
 * connection, clock and credential. It changes nothing, and prints no key.
 */
import { connect } from 'node:tls';
import {
  type Check,
  type CheckResult,
  failed,
  lasting,
  NotChecked,
  ok,
  resultOf,
  warning,
} from '../../service/doctor/check.ts';
import { type Environment, socketIn } from '../../service/settings/options.ts';
import { kindOf, profilesFile, readProfiles } from '../connection/profiles.ts';
import { findProject } from '../connection/project.ts';
import { ask, jsonOf, refusalOf } from '../connection/remote.ts';
import { placeFor, settingsFor } from '../connection/settings.ts';
import { systemKeyring } from '../connection/system-keyring.ts';
import { logIn } from '../connection/workload.ts';
import { look } from './login.ts';

type Given = Parameters<typeof placeFor>[0];

const day = 86_400_000;
/** In milliseconds. Sign-ins, signatures and restricted keys tolerate little more. */
const largestSkew = 60_000;
const soon = 14 * day;
const patience = 10_000;

export async function* examineClient(given: Given, environment: Environment): AsyncIterable<CheckResult> {
  const folder = process.cwd();
  const checks: Readonly<Record<string, Check>> = {
    project: async () => {
      const project = findProject(folder, environment);
      if (project === null) return ok('there is no project file: strongroom init creates one');
      return ok(`${project.file}${project.vault === null ? '' : `, for the vault ${project.vault}`}`);
    },
    profiles: async () => {
      const { current, profiles } = readProfiles(profilesFile(environment));
      const names = Object.keys(profiles);
      return ok(
        names.length === 0 ? 'there is no profile' : `${names.join(', ')} (in use: ${current ?? 'none'})`,
      );
    },
    keyring: async () =>
      systemKeyring(environment) === null
        ? ok('there is no system keyring: keys are stored in files that only you can read')
        : ok('the system has a keyring'),
    address: async () => {
      const { url } = placeFor(given, environment);
      const source = given.url !== null ? 'a flag or the environment' : 'a profile';
      return ok(`${url}, from ${source}`);
    },
    service: async () => {
      const { status, version } = (await health()).body;
      return status === 'ok' ? ok(`reachable, version ${version}`) : warning(`reachable, but ${status}`);
    },
    tls: () => certificateCheck(urlOrNone()),
    clock: async () => {
      const { date, at } = await health().catch(() => {
        throw new NotChecked('the service can’t be reached');
      });
      if (Number.isNaN(date)) return warning('the service does not say what time it is');
      // The header has whole seconds.
      const skew = Math.max(0, Math.abs(at - date) - 1_000);
      if (skew <= largestSkew) return ok(`at most ${lasting(Math.max(2_000, skew))} from the service’s`);
      return warning(
        `${lasting(skew)} ${at > date ? 'ahead of' : 'behind'} the service’s: set the clock of this machine`,
      );
    },
    credential: async () => {
      urlOrNone();
      const { url, accessKey, apiKey, workload, source, vault } = settingsFor(given, environment);
      if (accessKey === null && apiKey === null && workload === null)
        return failed(
          'there is none: set STRONGROOM_ACCESS_KEY or STRONGROOM_API_KEY, or run strongroom login',
        );
      const key = accessKey ?? apiKey ?? (await logIn(url, workload!, vault));
      const found = await look(url, key);
      const kind = kindOf(key) === 'api_key' ? 'API key' : 'access key';
      return ok([`${kind} of ${source}`, ...Object.entries(found).map(pair => pair.join(' '))].join(', '));
    },
  };

  function urlOrNone(): string {
    try {
      return placeFor(given, environment).url;
    } catch {
      throw new NotChecked('there is no address');
    }
  }

  interface Answered {
    readonly body: { readonly status: string; readonly version: string };
    readonly date: number;
    readonly at: number;
  }
  let asked: Promise<Answered> | null = null;
  function health(): Promise<Answered> {
    asked ??= askHealth(urlOrNone());
    return asked;
  }
  async function askHealth(url: string): Promise<Answered> {
    const answer = await ask(url, { path: '/v1/health', key: null, patience });
    if (answer.status !== 200) throw refusalOf(url, answer);
    const date = Date.parse(answer.headers.get('date') ?? '');
    return { body: jsonOf(url, answer) as Answered['body'], date, at: Date.now() };
  }

  for (const [name, check] of Object.entries(checks)) yield await resultOf(name, async () => check());
}

async function certificateCheck(url: string) {
  if (socketIn(url) !== null) return ok('a Unix socket on this machine needs none');
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'http:') return ok('not encrypted, which is allowed only on this machine');
  const host = hostname.replace(/^\[|\]$/g, '');
  const ends = await new Promise<number>((resolve, reject) => {
    // A name is required for servers with several certificates; an address is none.
    const socket = connect({
      host,
      port: Number(port || 443),
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    });
    socket.setTimeout(patience, () => socket.destroy(new NotChecked('the service does not answer')));
    socket.on('error', reject);
    socket.on('secureConnect', () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_to));
      socket.end();
    });
  }).catch(error => {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (/CERT|SELF_SIGNED|ISSUER|ERR_TLS|VERIFY/.test(code)) return code as string;
    throw new NotChecked('the service can’t be reached');
  });
  if (typeof ends === 'string')
    return failed(
      `the certificate is not trusted (${ends}): set NODE_EXTRA_CA_CERTS to its authority’s certificate`,
    );
  const left = ends - Date.now();
  return left < soon
    ? warning(`the certificate expires in ${lasting(Math.max(0, left))}: tell the operator`)
    : ok(`the certificate is trusted, and expires in ${lasting(left)}`);
}
