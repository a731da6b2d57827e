/**
 * `POST /api/v1/vaults/{vault_id}/use` and the key operations, on the bare server next to the vault read: the service
 * uses a secret or key of a vault. A body is read only with a valid access key, and its size is limited. The outcome is
 * recorded before it is answered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { check } from '../../contract/check.ts';
import { Failure } from '../../contract/errors.ts';
import { keyOperationCall } from '../../contract/key-operations.ts';
import { sshCertificateCall } from '../../contract/ssh.ts';
import { decryptCall, signCall, useCall, verifyCall } from '../../contract/uses.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import { withAddress } from '../../domain/resources/review.ts';
import { approvalIn } from '../../domain/uses/approval-requests.ts';
import type { KeyCall } from '../../domain/uses/key-uses.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import { ownAddresses } from '../../mcp/addresses.ts';
import { requestsOf } from '../../metrics/requests.ts';
import { failureHeaders, failureOf, messageBody } from '../listener/errors.ts';
import { bearerToken, hasBody as hasBodyIn } from '../listener/request.ts';
import type { HandleRequest } from '../listener/server.ts';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { admittedBodiesWith, typedJsonIn } from './admitted-body.ts';
import { factsOf, jsonType, refusingWith, writingWith } from './answers.ts';
import { type LeasePath, leasePathIn } from './leases.ts';
import { type KeyOperationPath, keyOperationIn, operationIn, vaultIdIn, vaultRoute } from './path.ts';
import { runPathIn } from './runs.ts';

/** What a request asks for: its route in the log, and how it is done once its body is there. */
interface Asked {
  readonly route: string;
  readonly run: Run;
  readonly hasBody: LeasePath['hasBody'];
}

type Run = (facts: RequestFacts, sent: unknown) => Promise<UseResult<object>>;

export function vaultUseHandler(parts: ReadingSurfaceParts): HandleRequest {
  const { vaultUses, keyUses, leaseUses, runUses } = parts.domain;
  const admitted = admittedBodiesWith(parts);
  const write = writingWith(parts);
  const refuse = refusingWith(parts);
  const addresses = ownAddresses(parts.addresses);
  const count = requestsOf(parts.meter, 'use');

  const keyUse =
    <C extends KeyCall>(operation: C['operation'], schema: z.ZodType<C['call']>): Run =>
    (facts, sent) => {
      const call = understood(schema, sent);
      return keyUses.use({ ...facts, asked: call instanceof Failure ? call : ({ operation, call } as C) });
    };

  const operations: Readonly<Record<string, Run>> = {
    use: (facts, sent) => vaultUses.use({ ...facts, call: understood(useCall, sent) }),
    'keys/sign': keyUse('sign', signCall),
    'keys/verify': keyUse('verify', verifyCall),
    'keys/decrypt': keyUse('decrypt', decryptCall),
  };

  const operationOn =
    ({ key, operation }: KeyOperationPath): Run =>
    (facts, sent) => {
      if (operation === 'ssh-certificate') {
        const call = understood(sshCertificateCall, sent);
        return keyUses.operate({
          ...facts,
          asked: call instanceof Failure ? call : { key, operation, call },
        });
      }
      const call = understood(keyOperationCall, sent);
      return keyUses.operate({ ...facts, asked: call instanceof Failure ? call : { key, operation, call } });
    };

  /** The route in the log is without the name of a key. */
  function askedIn(request: IncomingMessage): Asked | null {
    const hasBody = 'required';
    const path = String(operationIn(request));
    if (Object.hasOwn(operations, path)) return { run: operations[path]!, route: path, hasBody };
    const key = keyOperationIn(request);
    if (key !== null) return { run: operationOn(key), route: `keys/{key}/${key.operation}`, hasBody };
    const run = runPathIn(request);
    if (run !== null)
      return {
        run: (facts, sent) => runUses.use({ ...facts, asked: run.read(sent) }),
        route: run.operation,
        hasBody: run.hasBody,
      };
    const lease = leasePathIn(request);
    if (lease === null) return null;
    return {
      run: (facts, sent) => leaseUses.use({ ...facts, asked: lease.read(sent) }),
      route: lease.operation,
      hasBody: lease.hasBody,
    };
  }

  function factsIn(request: IncomingMessage, operation: string): RequestFacts {
    const { headers, url } = request;
    const route = `${vaultRoute}/${operation}`;
    return factsOf(parts, request, route, bearerToken(headers.authorization), vaultIdIn(url!));
  }

  function serve(request: IncomingMessage, asked: Asked, facts: RequestFacts): Promise<UseResult<object>> {
    const isSent = asked.hasBody === 'required' || hasBodyIn(request);
    return admitted(request, facts, asked.run, async () => (isSent ? typedJsonIn(request) : undefined));
  }

  function answer(request: IncomingMessage, response: ServerResponse, result: UseResult<object>): void {
    const { requestId, status } = result;
    const isRefused = 'failure' in result;
    if (isRefused && status >= 500) parts.onError(result.failure.cause ?? result.failure, requestId);
    const content = isRefused
      ? { ...messageBody(result.failure), ...approvalIn(result.failure, addresses.dashboardOf(request)) }
      : withAddress(result.answer, addresses.dashboardOf(request));
    if (!request.complete) response.shouldKeepAlive = false;
    const headers = isRefused ? failureHeaders(result.failure) : {};
    write(response, result, status, jsonType, JSON.stringify(content), headers);
  }

  function fail(response: ServerResponse, error: unknown): void {
    response.shouldKeepAlive = false;
    refuse(response, { requestId: parts.newId() }, failureOf(error));
  }

  return (request, response) => {
    const asked = askedIn(request);
    if (asked === null) return false;
    const started = performance.now();
    serve(request, asked, factsIn(request, asked.route))
      .then(
        result => answer(request, response, result),
        error => fail(response, error),
      )
      .finally(() => count(response.statusCode, performance.now() - started));
    return true;
  };
}

/** Returns a fault in the body instead of throwing it, so that the refusal is recorded with the request. */
function understood<S extends z.ZodType>(schema: S, sent: unknown): z.output<S> | Failure {
  if (sent instanceof Failure) return sent;
  try {
    return check(schema, sent);
  } catch (error) {
    return failureOf(error);
  }
}
