/** Runs: what agents do for one purpose, until an end and within budgets. */
import { listOf } from '../../contract/common.ts';
import * as runs from '../../contract/runs.ts';
import type { Domain } from '../../domain/domain.ts';
import { type Permissions, type Route, route } from './route.ts';

export function runRoutes({ runs: service }: Domain): Route<Permissions>[] {
  const writing = { all: ['runs:write'] } as const;
  return [
    route('GET /v1/runs', {
      operationId: 'listRuns',
      summary: 'List runs, newest first; only those all of whose vaults the caller may see',
      needs: { all: ['runs:read'] },
      query: runs.runQuery,
      answer: listOf(runs.run),
      handle: ({ permits: [permit], query }) => service.list(permit, query),
    }),
    route('GET /v1/runs/{id}', {
      operationId: 'getRun',
      summary: 'Get a run, with what it used of its budgets',
      needs: { all: ['runs:read'] },
      answer: runs.run,
      handle: ({ permits: [permit], id }) => service.get(permit, id),
    }),
    route('POST /v1/runs', {
      operationId: 'createRun',
      summary:
        'Create a run, with an access key for each of its vaults that reads no values; requires what creating these access keys requires',
      needs: { all: ['runs:write', 'access-keys:write', 'secrets:reveal', 'keys:reveal'] },
      body: runs.runCreate,
      answer: runs.createdRun,
      handle: ({ permits: [permit], body }) => service.create(permit, body),
    }),
    route('POST /v1/runs/{id}/end', {
      operationId: 'endRun',
      summary:
        'End a run: its access keys are revoked, and what waits for approval is cancelled, in one transaction',
      needs: writing,
      answer: runs.run,
      handle: ({ permits: [permit], id }) => service.end(permit, id),
    }),
  ];
}
