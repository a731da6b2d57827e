/** Operations with keys for callers of the general API. */
import { keyOperationAnswer, keyOperationCall, operationSummaries } from '../../contract/key-operations.ts';
import { keyOperations } from '../../contract/use-names.ts';
import type { Domain } from '../../domain/domain.ts';
import { type Permissions, type Route, route } from './route.ts';

export function keyOperationRoutes({ usedKeys }: Pick<Domain, 'usedKeys'>): Route<Permissions>[] {
  return keyOperations.map(operation =>
    route(`POST /v1/keys/{id}/${operation}`, {
      operationId: `${operation}WithKeyId`,
      summary: `${operationSummaries[operation]}; recorded in the audit log before it is done`,
      needs: { all: ['keys:use'] },
      body: keyOperationCall,
      answer: keyOperationAnswer,
      handle: ({ permits: [permit], id, body }) => usedKeys.operate(permit, id, operation, body),
    }),
  );
}
