/** Everything that a surface of the bare server stands on, and what it was asked. */
import type { Failure } from '../src/contract/errors.ts';
import type { AnswerEncoding, ReadResult, RequestFacts } from '../src/domain/reads/vault-request.ts';
import type { ReadingSurfaceParts } from '../src/http/parts.ts';
import { Meter } from '../src/metrics/meter.ts';

type Asked = Record<string, unknown> & RequestFacts;
export const log = { receipt: 'receipt', requestId: 'request' };
export const whole: ReadResult = {
  ...log,
  status: 200,
  format: 'json',
  digest: 'digest',
  body: Buffer.from('{}'),
};

export function bareWorld(result: ReadResult | Error = whole, draining = false) {
  const read: Asked[] = [];
  const refused: [facts: RequestFacts, fault: Failure][] = [];
  const errors: unknown[] = [];
  const encodings: (AnswerEncoding | undefined)[] = [];
  const given = () => (result instanceof Error ? Promise.reject(result) : Promise.resolve(result));
  const parts = {
    domain: {
      vaultReads: {
        read: (asked: Asked, encoding?: AnswerEncoding) => {
          read.push(asked);
          encodings.push(encoding);
          return given();
        },
        refuse: (facts: RequestFacts, failure: Failure) => {
          refused.push([facts, failure]);
          return result instanceof Error ? given() : Promise.resolve({ ...log, status: 400, failure });
        },
      },
    },
    meter: new Meter(),
    newId: () => 'new',
    onError: (error: unknown) => errors.push(error),
    draining: () => draining,
    encrypted: false,
    addressOf: () => '192.0.2.1',
  } as unknown as ReadingSurfaceParts;
  return { parts, read, refused, errors, encodings };
}
