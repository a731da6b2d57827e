/**
 * Sends requests to the tool endpoint of a remote service, in the revision without sessions. The access key is sent only
 * to the configured address: redirects are not followed.
 */
import { modernEnvelope, modernRevision } from './protocol-constants.ts';

export interface RemoteService {
  /** The address of its tool endpoint. */
  readonly url: string;
  readonly accessKey: string;
  /** The version of this program. */
  readonly version: string;
}

export interface RemoteRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** In milliseconds. */
  readonly patience: number;
}

const agent = 'strongroom-mcp';

/** Rejects if there is no answer. A redirect counts as an answer, with its status. */
export function ask({ url, accessKey, version }: RemoteService, request: RemoteRequest): Promise<Response> {
  const { method, params = {}, headers = {}, patience } = request;
  const _meta = modernEnvelope(agent, version);
  return fetch(url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(patience),
    headers: {
      authorization: `Bearer ${accessKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'user-agent': `${agent}/${version}`,
      'mcp-protocol-version': modernRevision,
      'mcp-method': method,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
}
