/** Use rules, and approvals for calls that wait for one. */
import type { ServerResponse } from 'node:http';
import { listOf } from '../../contract/common.ts';
import { usePresets } from '../../contract/use-presets.ts';
import * as rules from '../../contract/use-rules.ts';
import * as uses from '../../contract/uses.ts';
import type { Domain } from '../../domain/domain.ts';
import type { SignedInAs } from '../../domain/sessions/dashboard-sessions.ts';
import { heldPath } from '../../metrics/requests.ts';
import { collectionRoutes } from './collection.ts';
import { type AuthNeed, type Permissions, type Route, route } from './route.ts';

export function ruleRoutes({ useRules, approvals, looksAlike }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes(looksAlike, {
      name: 'use-rules',
      one: 'a use rule',
      item: rules.useRule,
      query: rules.useRuleQuery,
      create: rules.useRuleCreate,
      update: rules.useRuleUpdate,
      // Anyone who can choose the destination could send the value to themselves.
      gives: { all: ['use-rules:write', 'secrets:reveal'] },
      service: useRules,
    }),
    route('POST /v1/use-rules/check', {
      operationId: 'checkUse',
      summary: 'Check whether a secret’s use rules would allow a call, and if not, why; nothing is sent',
      needs: { all: ['use-rules:write'] },
      body: uses.useCheck,
      answer: uses.verdict,
      handle: ({ permits: [permit], body }) => useRules.check(permit, body),
    }),
    route('GET /v1/use-rules/presets', {
      operationId: 'listUsePresets',
      summary: 'List predefined use rules for well-known services',
      needs: { all: ['use-rules:read'] },
      answer: rules.usePresetList,
      handle: async () => ({ presets: structuredClone(usePresets) as never }),
    }),
    route('GET /v1/approvals', {
      operationId: 'listApprovals',
      summary:
        'List calls that are waiting for approval, newest first; `state=all` adds those already decided or expired',
      needs: { all: ['approvals:read'] },
      query: uses.approvalQuery,
      answer: listOf(uses.approval),
      handle: ({ permits: [permit], query }) => approvals.list(permit, query),
    }),
    route('GET /v1/approvals/{id}', {
      operationId: 'getApproval',
      summary: 'Get a call that needs approval, exactly as it would be made',
      needs: { all: ['approvals:read'] },
      answer: uses.approval,
      handle: ({ permits: [permit], id }) => approvals.get(permit, id),
    }),
  ];
}

/** Decisions require a person's session; no kind of key is accepted. */
export function decisionRoutes({ approvals, approvalWatch, accounts, guard }: Domain): Route<AuthNeed>[] {
  const mayDecide = ({ caller }: SignedInAs) => guard.admit(caller, 'approvals:write');
  const deciding = { needs: 'session', answer: uses.approval } as const;
  return [
    route(`GET ${heldPath}`, {
      operationId: 'awaitApprovals',
      summary:
        'Wait until the list of calls waiting for approval changes, and get the list; requires `approvals:read`',
      needs: 'session',
      query: uses.waitingQuery,
      answer: uses.waitingApprovals,
      handle: ({ as, origin, query, reply }) => {
        const { session, caller } = as;
        // The cookie is not changed: the browser may have another session's cookie by now.
        const renew = async () => (await accounts.sessions.again(session.id, origin)).caller;
        const watcher = { caller, sessionId: session.id, renew, gone: goneSignal(reply.raw) };
        return approvalWatch.next(watcher, query.known);
      },
    }),
    route('POST /auth/approvals/{id}/approve', {
      ...deciding,
      operationId: 'approveCall',
      summary: 'Approve a call once, or every call under its rule for an hour; requires `approvals:write`',
      body: uses.approve,
      bodyOptional: true,
      handle: async ({ as, id, body }) => approvals.approve(await mayDecide(as), id, body.scope ?? 'call'),
    }),
    route('POST /auth/approvals/{id}/refuse', {
      ...deciding,
      operationId: 'refuseCall',
      summary: 'Refuse a call; requires `approvals:write`',
      handle: async ({ as, id }) => approvals.refuse(await mayDecide(as), id),
    }),
  ];
}

/** Aborted once the client no longer waits for the answer. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  return gone.signal;
}
