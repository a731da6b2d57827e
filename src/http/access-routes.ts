/** Credentials, members and the organization. */
import * as access from '../contract/access.ts';
import { searchQuery } from '../contract/common.ts';
import type { Domain } from '../vault/domain.ts';
import { collectionRoutes } from './collection.ts';
import type { Route } from './route.ts';

export function accessRoutes({ accessKeys, publicTokens, apiKeys, members, organizations }: Domain): Route[] {
  return [
    ...collectionRoutes({
      name: 'access-keys',
      one: 'a vault access key',
      schemas: {
        item: access.accessKey,
        query: access.accessKeyQuery,
        create: access.accessKeyCreate,
        update: access.accessKeyUpdate,
      },
      service: accessKeys,
    }),
    ...collectionRoutes({
      name: 'public-tokens',
      one: 'a public token',
      schemas: {
        item: access.publicToken,
        query: access.publicTokenQuery,
        create: access.publicTokenCreate,
        update: access.publicTokenUpdate,
      },
      service: publicTokens,
    }),
    ...collectionRoutes({
      name: 'api-keys',
      one: 'an API key',
      schemas: {
        item: access.apiKey,
        query: searchQuery,
        create: access.apiKeyCreate,
        update: access.apiKeyUpdate,
      },
      service: apiKeys,
    }),
    ...collectionRoutes({
      name: 'members',
      one: 'a member',
      schemas: {
        item: access.member,
        query: searchQuery,
        create: access.memberCreate,
        update: access.memberUpdate,
      },
      service: members,
    }),
    {
      method: 'POST',
      path: '/v1/members/{id}/invitation',
      tag: 'members',
      summary: 'Make a new invitation; the member is signed out and proves himself anew by it',
      needs: { all: ['members:write'] },
      answer: access.member,
      handle: ({ caller, id }) => members.invite(caller, id),
    },
    {
      method: 'GET',
      path: '/v1/organization',
      tag: 'organization',
      summary: 'Get the organization that the key belongs to',
      needs: { all: ['organization:read'] },
      answer: access.organization,
      handle: ({ caller }) => organizations.get(caller),
    },
    {
      method: 'PUT',
      path: '/v1/organization',
      tag: 'organization',
      summary: 'Rename the organization, or change its plan',
      needs: { all: ['organization:write'] },
      body: access.organizationUpdate,
      answer: access.organization,
      handle: ({ caller, body }) => organizations.change(caller, body),
    },
  ];
}
