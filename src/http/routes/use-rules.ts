/** Use rules, and the approvals that calls under them wait for. */
import { listOf } from '../../contract/common.ts';
import { usePresets } from '../../contract/use-presets.ts';
import * as rules from '../../contract/use-rules.ts';
import * as uses from '../../contract/uses.ts';
import type { Domain } from '../../domain/domain.ts';
import { collectionRoutes } from './collection.ts';
import { type Permissions, type Route, route } from './route.ts';

export function ruleRoutes({ useRules, approvals }: Domain): Route<Permissions>[] {
  return [
    ...collectionRoutes({
      name: 'use-rules',
      one: 'a use rule',
      schemas: {
        item: rules.useRule,
        created: rules.useRule,
        query: rules.useRuleQuery,
        create: rules.useRuleCreate,
        update: rules.useRuleUpdate,
      },
      service: useRules,
    }),
    route({
      method: 'POST',
      path: '/v1/use-rules/check',
      operationId: 'checkUse',
      tag: 'use-rules',
      summary: 'Check whether the rules of a secret would allow a call, and why not; nothing is sent',
      needs: { all: ['use-rules:read'] },
      body: uses.useCheck,
      answer: uses.verdict,
      handle: ({ caller, body }) => useRules.check(caller, body),
    }),
    route({
      method: 'GET',
      path: '/v1/use-rules/presets',
      operationId: 'listUsePresets',
      tag: 'use-rules',
      summary: 'List use rules for well-known services, to begin with',
      needs: { all: ['use-rules:read'] },
      answer: rules.usePresetList,
      handle: async () => ({ data: structuredClone(usePresets) as never }),
    }),
    ...approvalRoutes(approvals),
  ];
}

function approvalRoutes(approvals: Domain['approvals']): Route<Permissions>[] {
  const deciding = { tag: 'approvals', needs: { all: ['approvals:write'] }, answer: uses.approval } as const;
  return [
    route({
      method: 'GET',
      path: '/v1/approvals',
      operationId: 'listApprovals',
      tag: 'approvals',
      summary: 'List calls that wait for an approval, newest first; with `state=all` also those that do not',
      needs: { all: ['approvals:read'] },
      query: uses.approvalQuery,
      answer: listOf(uses.approval),
      handle: ({ caller, query }) => approvals.list(caller, query),
    }),
    route({
      method: 'GET',
      path: '/v1/approvals/{id}',
      operationId: 'getApproval',
      tag: 'approvals',
      summary: 'Get one call that waits for an approval, as it would be made',
      needs: { all: ['approvals:read'] },
      answer: uses.approval,
      handle: ({ caller, id }) => approvals.get(caller, id),
    }),
    route({
      ...deciding,
      method: 'POST',
      path: '/v1/approvals/{id}/approve',
      operationId: 'approveCall',
      summary:
        'Approve this call once, or every call under its rule for an hour; for people who are signed in',
      body: uses.approve,
      bodyOptional: true,
      handle: ({ caller, id, body }) => approvals.approve(caller, id, body.scope ?? 'call'),
    }),
    route({
      ...deciding,
      method: 'POST',
      path: '/v1/approvals/{id}/refuse',
      operationId: 'refuseCall',
      summary: 'Refuse a call; for people who are signed in',
      handle: ({ caller, id }) => approvals.refuse(caller, id),
    }),
  ];
}
