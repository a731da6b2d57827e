/** Examples of how programs and assistants read a vault, and functions that make the same requests from this page. */

export interface Connection {
  readonly baseUrl: string;
  readonly vaultId: string;
  /** Known only right after creation; otherwise a placeholder is shown. */
  readonly accessKey?: string;
}

/** Shells and most assistants expand it. */
const placeholder = `\${${'STRONGROOM_ACCESS_KEY'}}`;

export function curlLine({ baseUrl, vaultId, accessKey = placeholder }: Connection): string {
  return [
    `curl ${baseUrl}/api/v1/vaults/${vaultId} \\`,
    `  -H "Authorization: Bearer ${accessKey}" \\`,
    `  -H 'Accept: application/json'`,
  ].join('\n');
}

export function publicKeyLine(baseUrl: string, token: string): string {
  return `curl ${baseUrl}/api/v1/public-key \\\n  -H 'Authorization: Bearer ${token}'`;
}

/** Uses underscores in tool names, because some assistants disable a whole server for a name with a dot. */
export function mcpConfiguration({ baseUrl, accessKey = placeholder }: Connection): string {
  const strongroom = {
    type: 'http',
    url: `${baseUrl}/mcp?names=underscore`,
    headers: { Authorization: `Bearer ${accessKey}` },
  };
  return JSON.stringify({ mcpServers: { strongroom } }, null, 2);
}

export interface Tried {
  readonly ok: boolean;
  readonly text: string;
}

/** Reads the vault as a program would: with only the access key, without this page's session. */
export async function tryCurl({ vaultId, accessKey = '' }: Connection): Promise<Tried> {
  const answer = await fetch(`/api/v1/vaults/${vaultId}?secrets=names`, {
    credentials: 'omit',
    cache: 'no-store',
    headers: { authorization: `Bearer ${accessKey}`, accept: 'application/json' },
  });
  if (!answer.ok) return { ok: false, text: `The service returned ${answer.status}.` };
  const { name, secrets } = (await answer.json()) as { name: string; secrets: { name: string }[] };
  return {
    ok: true,
    text: `Read “${name}”: ${secrets.map(secret => secret.name).join(', ') || 'no active secrets'}.`,
  };
}

/** Lists secret names through the tool endpoint, as an assistant would: opens a session, calls once, ends the session. */
export async function tryMcp({ accessKey = '' }: Connection): Promise<Tried> {
  const begun = await askTools(accessKey, null, { method: 'initialize' });
  const session = begun.headers.get('mcp-session-id');
  const called = await askTools(accessKey, session, {
    method: 'tools/call',
    params: { name: 'secrets.list', arguments: { namesOnly: true } },
  });
  const body = called.headers.get('content-type')?.includes('json') ? await called.json() : {};
  if (session !== null) void askTools(accessKey, session, null);
  if (!called.ok || body.error || body.result?.isError) {
    return { ok: false, text: `The tool endpoint returned ${called.status}.` };
  }
  const secrets: { name: string }[] = body.result?.structuredContent?.secrets ?? [];
  return {
    ok: true,
    text: `An assistant sees: ${secrets.map(secret => secret.name).join(', ') || 'no active secrets'}.`,
  };
}

/** Without a body, ends the session. */
function askTools(accessKey: string, session: string | null, body: object | null): Promise<Response> {
  return fetch('/mcp', {
    method: body === null ? 'DELETE' : 'POST',
    credentials: 'omit',
    cache: 'no-store',
    headers: {
      authorization: `Bearer ${accessKey}`,
      accept: 'application/json, text/event-stream',
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(session === null ? {} : { 'mcp-session-id': session }),
    },
    body: body === null ? null : JSON.stringify(body),
  });
}
