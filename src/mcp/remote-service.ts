/**
 * Requests to the tool endpoint of a service elsewhere, in the revision without sessions. The access key goes to the
 * configured address and nowhere else: no redirect is followed.
 */
import { modernEnvelope, modernRevision } from './protocol-constants.ts';

export interface RemoteService {
  /** The address of its tool endpoint. */
  readonly url: string;
  readonly accessKey: string;
  /** The version of this side. */
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

/** Rejects where there is no answer. A redirect is an answer, with its status. */
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
