/**
 * Requests with a body from holders of access keys. An unauthenticated body is not read: the headers suffice to refuse
 * it. A fault in the body is passed on instead of thrown, so that the refusal is recorded with the request.
 */
import type { IncomingMessage } from 'node:http';
import { BodyTooLong, bodyOf } from '../../base/message-body.ts';
import { type Failure, invalid } from '../../contract/errors.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import { failureOf } from '../listener/errors.ts';
import { parseJson } from '../listener/json.ts';
import { faultOf } from '../listener/request.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';

const largestBody = 256 * 1024;

/** `sent` is what the body says, or a failure. */
type Run = (facts: RequestFacts, sent: unknown) => Promise<UseResult<object>>;

export function admittedBodiesWith({ domain }: Pick<ReadingSurfaceParts, 'domain'>) {
  const { authenticate, vaultReads } = domain;

  async function prove({ socket }: IncomingMessage, { token, vaultId, sender }: RequestFacts): Promise<void> {
    if (authenticate.remembered(socket, token, vaultId, sender) !== null) return;
    const reader = await (vaultId === null
      ? authenticate.accessKeyAnywhere(token, sender)
      : authenticate.accessKey(token, vaultId, sender));
    authenticate.remember(socket, token, reader);
  }

  return async (
    request: IncomingMessage,
    facts: RequestFacts,
    run: Run,
    read: (request: IncomingMessage) => Promise<unknown>,
  ): Promise<UseResult<object>> => {
    const fault = faultOf(request);
    if (fault !== null) return vaultReads.refuse(facts, fault);
    try {
      await prove(request, facts);
    } catch (error) {
      return vaultReads.refuse(facts, failureOf(error));
    }
    return run(facts, await read(request));
  };
}

/** The JSON of a body of any type. */
export async function jsonIn(request: IncomingMessage): Promise<unknown> {
  try {
    return parseJson(await bodyOf(request, largestBody));
  } catch (error) {
    if (error instanceof BodyTooLong) return invalid('', 'the body must be at most 256 KiB');
    return failureOf(error);
  }
}

export async function typedJsonIn(request: IncomingMessage): Promise<unknown | Failure> {
  const [type] = String(request.headers['content-type']).toLowerCase().split(';') as [string];
  if (type.trim() !== 'application/json') return invalid('content-type', 'must be application/json');
  return jsonIn(request);
}
