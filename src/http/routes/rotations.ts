/** What rotates when, what was rotated, and rotating a secret now. */
import { listOf, pageQuery } from '../../contract/common.ts';
import * as resource from '../../contract/resources.ts';
import * as rotations from '../../contract/rotations.ts';
import type { Domain } from '../../domain/domain.ts';
import { type Permissions, type Route, route } from './route.ts';

export function rotationRoutes({ rotations: service }: Domain): Route<Permissions>[] {
  return [
    route('GET /v1/rotations', {
      operationId: 'listRotations',
      summary: 'List the secrets that rotate, the next first',
      needs: { all: ['secrets:read'] },
      query: rotations.rotationQuery,
      answer: listOf(rotations.scheduledRotation),
      handle: ({ permits: [permit], query }) => service.list(permit, query),
    }),
    route('GET /v1/secrets/{id}/rotations', {
      operationId: 'listRotationsOfSecret',
      summary: 'List the rotations of a secret, newest first',
      needs: { all: ['secrets:read'] },
      query: pageQuery,
      answer: listOf(rotations.pastRotation),
      handle: ({ permits: [permit], id, query }) => service.history(permit, id, query),
    }),
    route('POST /v1/secrets/{id}/rotate', {
      operationId: 'rotateSecret',
      summary: 'Rotate a secret now, by its plan; the answer doesn’t contain the new value',
      needs: { all: ['secrets:write'] },
      body: rotations.rotate,
      bodyOptional: true,
      answer: resource.secret,
      handle: ({ permits: [permit], id, body }) => service.rotate(permit, id, body),
    }),
  ];
}
