/** Reveals, copies or compares many secrets in one request. */
import * as resource from '../../contract/resources.ts';
import type { Domain } from '../../domain/domain.ts';
import { answerOf } from './bulk.ts';
import { type Permissions, type Route, route } from './route.ts';

export function manySecretRoutes({ manySecrets, comparisons }: Domain): Route<Permissions>[] {
  return [
    route('POST /v1/secrets/reveal', {
      operationId: 'revealSecrets',
      summary: 'Reveal the values of up to 100 secrets; each is recorded in the audit log',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretsReveal,
      answer: resource.revealedSecrets,
      handle: ({ permits: [permit], body }) => manySecrets.reveal(permit, body.secret_ids),
    }),
    route('POST /v1/secrets/copy', {
      operationId: 'copySecrets',
      summary: 'Copy or move up to 100 secrets to another vault, each with its own outcome',
      needs: { all: ['secrets:reveal', 'secrets:write'] },
      body: resource.secretsCopy,
      answer: resource.bulkAnswer,
      handle: async ({ permits: [revealing, writing], body }) =>
        answerOf(await manySecrets.copy(revealing, writing, body)),
    }),
    route('POST /v1/secrets/compare', {
      operationId: 'compareSecrets',
      summary:
        'Compare up to 100 values with those of a vault; recorded in the audit log, up to 1,200 values per minute',
      needs: { all: ['secrets:reveal'] },
      body: resource.secretsCompare,
      answer: resource.comparedSecrets,
      handle: ({ permits: [permit], body }) => comparisons.compare(permit, body),
    }),
    route('POST /v1/vaults/compare', {
      operationId: 'compareVaults',
      summary: 'Compare the secrets of up to 8 vaults without revealing them',
      needs: { all: ['secrets:read'] },
      body: resource.vaultsCompare,
      answer: resource.comparedVaults,
      handle: ({ permits: [permit], body }) => comparisons.compareVaults(permit, body),
    }),
  ];
}
