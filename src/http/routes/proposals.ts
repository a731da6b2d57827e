/** Proposals: writes to vaults with review that wait for someone else. */
import { listOf } from '../../contract/common.ts';
import * as proposals from '../../contract/proposals.ts';
import type { Domain } from '../../domain/domain.ts';
import { type Permissions, type Route, route } from './route.ts';

export function proposalRoutes({ proposals: service }: Domain): Route<Permissions>[] {
  const deciding = { needs: { all: ['proposals:write'] }, answer: proposals.proposal } as const;
  return [
    route('GET /v1/proposals', {
      operationId: 'listProposals',
      summary:
        'List writes that wait for review, newest first; with `state=all`, also all others. Only of vaults in which the caller may read secrets, keys and certificates',
      needs: { all: ['proposals:read'] },
      query: proposals.proposalQuery,
      answer: listOf(proposals.proposal),
      handle: ({ permits: [permit], query }) => service.list(permit, query),
    }),
    route('GET /v1/proposals/{id}', {
      operationId: 'getProposal',
      summary:
        'Get a write that waits for review, with everything that it would change except values; also requires the permission to read secrets, keys and certificates in its vault',
      needs: { all: ['proposals:read'] },
      answer: proposals.proposal,
      handle: ({ permits: [permit], id }) => service.get(permit, id),
    }),
    route('POST /v1/proposals/{id}/reveal', {
      operationId: 'revealProposal',
      summary:
        'Reveal the old and new values; recorded in the audit log before they are returned. Those of keys also require `keys:reveal`',
      needs: { all: ['proposals:read', 'secrets:reveal'] },
      answer: proposals.revealedProposal,
      handle: ({ permits: [permit], id }) => service.reveal(permit, id),
    }),
    route('POST /v1/proposals/{id}/confirm', {
      ...deciding,
      operationId: 'confirmProposal',
      summary:
        'Confirm a write of someone else, which does it; also requires the permission to write there. Refused if what it changes was changed since, or if its author may no longer write there. With `bypass=true`, an owner does it without anybody else',
      handle: ({ permits: [permit], id }) => service.confirm(permit, id),
    }),
    route('POST /v1/proposals/{id}/reject', {
      ...deciding,
      operationId: 'rejectProposal',
      summary: 'Reject a write; authors can reject their own',
      handle: ({ permits: [permit], id }) => service.reject(permit, id),
    }),
  ];
}
