/**
 * Reads a vault with the available key: an access key reads its own vault in one request, an API key reveals each
 * secret, and a machine with neither logs in first. A request for one vault is never answered from another.
 */
import type { NamedSecret, VaultReadSecret } from '../../client/api.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { note } from '../terminal/terminal.ts';
import { ask, jsonOf, RefusedRequest, refusalOf } from './remote.ts';
import { isId, unknownSecret } from './secret.ts';
import type { Settings } from './settings.ts';
import { logIn, type Workload } from './workload.ts';

type ReadSecret = Omit<VaultReadSecret, 'tags'>;

export interface Snapshot {
  readonly vault: { readonly id: string; readonly name: string };
  readonly secrets: readonly ReadSecret[];
  /** Unchanged as long as no secret changes. */
  readonly tag: string;
}

interface Omitting {
  /** The names of templates that were left out. */
  readonly unresolved?: readonly string[];
}

interface ListedVault {
  /** Null if nothing has changed since the tag. */
  read(tag?: string): Promise<Snapshot | null>;
  one(name: string): Promise<ReadSecret>;
  names(): Promise<readonly NamedSecret[]>;
}

/**
 * With both kinds of key, a named vault is read with the API key, which has access to every vault; otherwise the access
 * key determines the vault.
 */
export function vaultOf(settings: Settings, named = settings.vault): ListedVault {
  const { url, accessKey, apiKey, workload } = settings;
  if (accessKey !== null && (apiKey === null || named === null)) return withAccessKey(url, accessKey, named);
  if (apiKey !== null) return withApiKey(url, apiKey, named);
  if (workload !== null) return withWorkload(url, workload, named);
  throw new UsageError(
    `there is no key for ${url}: set STRONGROOM_ACCESS_KEY or STRONGROOM_API_KEY, or sign in with strongroom login`,
  );
}

export async function wholeVault(vault: ListedVault): Promise<Snapshot> {
  return (await vault.read())!;
}

function withAccessKey(url: string, key: string, named: string | null): ListedVault {
  const path = `/api/v1/vaults/${named !== null && isId(named) ? named : 'self'}`;
  const asked = async (query: string, tag?: string) => {
    const answer = await ask(url, { path: path + query, key, etag: tag ?? null });
    if (answer.status === 304) return null;
    if (answer.status !== 200) throw refusalOf(url, answer);
    return {
      body: jsonOf(url, answer) as Snapshot & ReadSecret & Omitting,
      tag: answer.headers.get('etag') ?? '',
    };
  };
  const mine = (vault: Snapshot['vault']) => {
    if (named === null || isId(named) || vault.name === named.normalize('NFC')) return vault;
    throw new Refusal('the access key belongs to another vault');
  };
  const listed = async () => {
    const { body } = (await asked('?secrets=names'))!;
    mine(body as unknown as Snapshot['vault']);
    return body.secrets;
  };
  return {
    read: async known => {
      const found = await asked('', known);
      if (found === null) return null;
      const { id, name, secrets, unresolved } = found.body;
      noteUnresolved(unresolved);
      if (secrets.some(({ value }) => value === undefined))
        throw new RefusedRequest('the access key may only read names', 403);
      return { vault: mine({ id, name }), secrets, tag: found.tag };
    },
    one: async name => {
      if (named !== null && !isId(named)) await listed();
      try {
        return (await asked(`?name=${encodeURIComponent(name)}`))!.body;
      } catch (error) {
        throw error instanceof RefusedRequest && error.status === 404 ? unknownSecret(name) : error;
      }
    },
    names: listed,
  };
}

export function noteUnresolved(names: readonly string[] = []): void {
  for (const name of names) note(`${name} is left out: a reference in it can’t be resolved`);
}

/** Logs in on first use, and again when the access key has expired, because a program may run longer than that. */
function withWorkload(url: string, workload: Workload, named: string | null): ListedVault {
  let current: Promise<ListedVault> | null = null;
  const begin = () => {
    current ??= logIn(url, workload, named).then(key => withAccessKey(url, key, named));
    return current;
  };
  async function through<T>(use: (vault: ListedVault) => Promise<T>): Promise<T> {
    const before = current;
    try {
      return await use(await begin());
    } catch (error) {
      current = null;
      const isOver = before !== null && error instanceof RefusedRequest && error.status === 401;
      if (!isOver) throw error;
      return use(await begin());
    }
  }
  return {
    read: tag => through(vault => vault.read(tag)),
    one: name => through(vault => vault.one(name)),
    names: () => through(vault => vault.names()),
  };
}

/** The tag consists of the versions of all secrets: a value never changes without a new version. */
function withApiKey(url: string, key: string, named: string | null): ListedVault {
  // Loaded only here, because most programs have an access key.
  const found = import('./admin.ts').then(async ({ adminOf }) => {
    const admin = adminOf(url, key);
    return { admin, vault: await admin.vault(named) };
  });
  found.catch(() => {});
  return {
    read: async known => {
      const { admin, vault } = await found;
      const listed = await admin.secrets(vault.id, 'active');
      const tag = JSON.stringify(listed.map(({ id, name, version }) => [id, name, version]));
      if (tag === known) return null;
      const secrets = await admin.revealEach(listed, one => noteUnresolved([one.name]));
      return { vault, secrets, tag };
    },
    one: async name => {
      const { admin, vault } = await found;
      const { id } = await admin.find(vault.id, name, 'active');
      return (await admin.reveal([id]))[0]!;
    },
    names: async () => {
      const { admin, vault } = await found;
      return admin.secrets(vault.id, 'active');
    },
  };
}
