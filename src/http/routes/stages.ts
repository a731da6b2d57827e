/** Stages: vaults in an order, and what is done with the secrets of all of them. */
import * as stages from '../../contract/stages.ts';
import type { Domain } from '../../domain/domain.ts';
import { collectionRoutes, warn } from './collection.ts';
import { type Permissions, type Route, route } from './route.ts';

export function stageRoutes(domain: Domain): Route<Permissions>[] {
  const { looksAlike } = domain;
  return [
    ...collectionRoutes(looksAlike, {
      name: 'stages',
      one: 'a stage',
      item: stages.stage,
      query: stages.stageQuery,
      create: stages.stageCreate,
      update: stages.stageUpdate,
      nouns: ['vaults'],
      service: domain.stages,
    }),
    route('POST /v1/stages/{id}/compare', {
      operationId: 'compareStage',
      summary: 'Compare the secrets of a stage’s vaults without revealing them',
      needs: { all: ['vaults:read', 'secrets:read'] },
      body: stages.stageCompare,
      bodyOptional: true,
      answer: stages.comparedStage,
      handle: ({ permits: [permit, reading], id, body }) => domain.stages.compare(permit, reading, id, body),
    }),
    route('POST /v1/stages/{id}/rename', {
      operationId: 'renameInStage',
      summary:
        'Rename a secret in all vaults of a stage, or in none. In vaults with review, this is proposed, and the others are renamed at once',
      needs: { all: ['vaults:read', 'secrets:read', 'secrets:write'] },
      body: stages.stageRename,
      answer: stages.renamedInStage,
      handle: async ({ caller, permits: [permit, reading, writing], id, body, reply, notice }) => {
        const renamed = await domain.stages.rename(permit, reading, writing, id, body);
        warn(reply, await looksAlike(caller, 'secrets', renamed));
        const data = renamed.map(({ id: secretId, name, vault_id, made }) => ({
          id: secretId,
          name,
          vault_id,
          ...(made === undefined ? {} : { proposal: notice(made) }),
        }));
        const first = data.find(({ proposal }) => proposal !== undefined)?.proposal;
        if (first === undefined) return { data };
        reply.code(202);
        return { data, proposal: first };
      },
    }),
  ];
}
