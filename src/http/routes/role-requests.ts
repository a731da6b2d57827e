/** Requests for a role in a vault: asking, which a signed-in person does, and deciding. */
import { deletion, listOf } from '../../contract/common.ts';
import * as requests from '../../contract/role-requests.ts';
import type { Domain } from '../../domain/domain.ts';
import { type AuthNeed, deletedAfter, type Permissions, type Route, route } from './route.ts';

export function roleRequestRoutes({ roleRequests }: Domain): Route<Permissions>[] {
  return [
    route('GET /v1/role-requests', {
      operationId: 'listRoleRequests',
      summary:
        'List requests for a role in a vault that wait for a decision; with `state=all`, also all others',
      needs: { all: ['members:read'] },
      query: requests.roleRequestQuery,
      answer: listOf(requests.roleRequest),
      handle: ({ permits: [permit], query }) => roleRequests.list(permit, query),
    }),
  ];
}

/** Asking and deciding require a person's session; no kind of key is accepted. */
export function ownRoleRequestRoutes({ roleRequests, guard }: Domain): Route<AuthNeed>[] {
  const deciding = { needs: 'session', answer: requests.roleRequest } as const;
  return [
    route('GET /auth/role-requests', {
      operationId: 'listOwnRoleRequests',
      summary: 'List your requests for roles in vaults',
      needs: 'session',
      answer: requests.ownRoleRequests,
      handle: async ({ as }) => ({ data: await roleRequests.own(as.caller) }),
    }),
    route('POST /auth/role-requests', {
      operationId: 'requestRole',
      summary: 'Ask for a role in a vault that you can see, with an end',
      needs: 'session',
      body: requests.roleRequestCreate,
      answer: requests.roleRequest,
      handle: async ({ as, body }) => roleRequests.ask(await guard.admit(as.caller, 'vaults:read'), body),
    }),
    route('DELETE /auth/role-requests/{id}', {
      operationId: 'withdrawRoleRequest',
      summary: 'Withdraw one of your requests',
      needs: 'session',
      answer: deletion,
      handle: ({ as, id }) => deletedAfter(id, roleRequests.withdraw(as.caller, id)),
    }),
    route('POST /auth/role-requests/{id}/approve', {
      ...deciding,
      operationId: 'approveRoleRequest',
      summary: 'Approve another person’s request, exactly as it is; requires `members:write`',
      handle: async ({ as, id }) => roleRequests.approve(await guard.admit(as.caller, 'members:write'), id),
    }),
    route('POST /auth/role-requests/{id}/refuse', {
      ...deciding,
      operationId: 'refuseRoleRequest',
      summary: 'Refuse another person’s request; requires `members:write`',
      handle: async ({ as, id }) => roleRequests.refuse(await guard.admit(as.caller, 'members:write'), id),
    }),
  ];
}
