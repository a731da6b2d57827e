/**
 * Clients of the tool endpoint. A client is known from the built-in list, from the operator's list, from a document
 * at the address that is its id (if the operator allows fetching), or because it registered itself (if they allow
 * that). A registration is contained in the client's id, with a keyed signature: nothing is stored, so registrations
 * can't fill the storage. Clients have no secrets. Their names are their own claims.
 */
import { skeletonOf } from '../../contract/look-alikes.ts';
import { type ClientDocument, clientDocument, clientRegistration, OAuthError } from '../../contract/oauth.ts';
import { isSafeText } from '../../contract/text.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { isRedirect, matchesRedirect } from './redirects.ts';

export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  /** Listed by this service or its operator, so that its name can be trusted. */
  readonly known: boolean;
  /** Whether it is unknown, but its name looks like that of a known client. */
  readonly imitates: boolean;
  readonly redirectUris: readonly string[];
}

export type OAuthClients = ReturnType<typeof oauthClientsWith>;

export interface OAuthClientSettings {
  /** The operator's own list. */
  readonly documents: readonly ClientDocument[];
  readonly mayFetch: boolean;
}

interface OAuthClientParts extends OAuthClientSettings {
  readonly keyring: Keyring;
  readonly fetchDocument: (url: string) => Promise<unknown>;
  readonly now: () => number;
}

/** As their vendors publish them, for services that can't or may not fetch them. */
const builtIn: readonly ClientDocument[] = [
  {
    client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
    client_name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  },
  {
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    client_name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
  },
  // Used if the response names the issuer, as it does here.
  {
    client_id: 'https://chatgpt.com/oauth/codex/client.json',
    client_name: 'Codex',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  },
  {
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    client_name: 'Visual Studio Code',
    redirect_uris: ['http://127.0.0.1/', 'http://localhost/', 'https://vscode.dev/redirect'],
  },
  {
    client_id: 'https://opencode.ai/oauth/opencode/client.json',
    client_name: 'opencode',
    redirect_uris: [
      'http://127.0.0.1/callback',
      'http://localhost/callback',
      'http://127.0.0.1/mcp/oauth/callback',
    ],
  },
];

const freshFor = 5 * 60_000;
const mostKept = 200;
const longestId = 2_048;
const registered = /^registered\.([\w-]+)\.([\w-]+)$/;

export function oauthClientsWith(parts: OAuthClientParts) {
  const { keyring, documents, mayFetch, fetchDocument, now } = parts;
  const known = new Map(
    [...builtIn, ...documents].map(document => [document.client_id, clientOf(document, true)]),
  );
  const knownNames = new Set([...known.values()].map(({ name }) => skeletonOf(name)));
  const imitates = (name: string) => knownNames.has(skeletonOf(name));
  const kept = new Map<string, { readonly client: OAuthClient | null; readonly until: number }>();
  const fetching = new Map<string, Promise<OAuthClient | null>>();
  const markOf = (text: string) => keyring.blindIndex('oauth-client', text);

  async function fetchClient(id: string): Promise<OAuthClient | null> {
    try {
      const document = clientDocument.parse(await fetchDocument(id));
      const isIts = document.client_id === id && document.redirect_uris.every(isRedirect);
      const client = clientOf(document, false);
      return isIts ? { ...client, imitates: imitates(client.name) } : null;
    } catch {
      return null;
    }
  }

  /** An address is fetched once at a time, and not again for a while, whatever the result. */
  async function fetched(id: string): Promise<OAuthClient | null> {
    const before = kept.get(id);
    if (before !== undefined && now() < before.until) return before.client;
    const running = fetching.get(id) ?? fetchClient(id).finally(() => fetching.delete(id));
    fetching.set(id, running);
    const client = await running;
    if (kept.size >= mostKept) kept.clear();
    kept.set(id, { client, until: now() + (client === null ? 30_000 : freshFor) });
    return client;
  }

  function registeredIn(id: string): OAuthClient | null {
    const [, text, mark] = registered.exec(id) ?? [];
    if (text === undefined || markOf(text) !== mark) return null;
    const { n: name, r: redirectUris } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return { id, name, redirectUris, known: false, imitates: imitates(name) };
  }

  return {
    find: async (id: string): Promise<OAuthClient | null> => {
      if (id.length > longestId) return null;
      const found = known.get(id) ?? registeredIn(id);
      if (found !== null || !mayFetch || !isDocumentAddress(id)) return found;
      return fetched(id);
    },

    /** The client's new id, with what it registered. Throws if it may not register. */
    register: (sent: unknown) => {
      const { success, data } = clientRegistration.safeParse(sent);
      if (!success)
        throw new OAuthError('invalid_client_metadata', 'redirect_uris must be 1 to 4 short addresses');
      const { client_name: name = 'Unnamed client', redirect_uris: redirectUris } = data;
      if (!redirectUris.every(isRedirect))
        throw new OAuthError(
          'invalid_redirect_uri',
          'redirect_uris must begin with https://, or with http:// for this machine',
        );
      const text = Buffer.from(JSON.stringify({ n: name, r: redirectUris })).toString('base64url');
      return { id: `registered.${text}.${markOf(text)}`, name, redirectUris };
    },
  };
}

export function takesRedirect({ redirectUris }: OAuthClient, sent: string): boolean {
  return isRedirect(sent) && redirectUris.some(known => matchesRedirect(known, sent));
}

/** An address with a path, as the draft on client metadata documents requires. */
function isDocumentAddress(id: string): boolean {
  const url = URL.parse(id);
  return url !== null && url.pathname !== '/' && url.hash === '' && url.href === id && isSafeText(id);
}

function clientOf(document: ClientDocument, known: boolean): OAuthClient {
  const { client_id: id, client_name, redirect_uris: redirectUris } = document;
  const name = client_name ?? (URL.parse(id)?.host || 'Unnamed client');
  return { id, name, known, imitates: false, redirectUris };
}
