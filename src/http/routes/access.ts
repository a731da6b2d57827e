/** Credentials, members, groups and the organization. */
import * as access from '../../contract/access.ts';
import { listOf, searchQuery } from '../../contract/common.ts';
import * as people from '../../contract/members.ts';
import type { Domain } from '../../domain/domain.ts';
import { readOnlyMembers } from '../listener/read-only.ts';
import { collectionRoutes } from './collection.ts';
import { type Permissions, type Route, route } from './route.ts';

export function accessRoutes(domain: Domain): Route<Permissions>[] {
  const { members, organizations, looksAlike } = domain;
  return [
    ...collectionRoutes(looksAlike, {
      name: 'access-keys',
      one: 'a vault access key',
      item: access.accessKey,
      created: access.createdAccessKey,
      query: access.accessKeyQuery,
      create: access.accessKeyCreate,
      update: access.accessKeyUpdate,
      gives: { all: ['access-keys:write', 'vaults:read'] },
      service: domain.accessKeys,
    }),
    ...collectionRoutes(looksAlike, {
      name: 'public-tokens',
      one: 'a public token',
      item: access.publicToken,
      created: access.createdPublicToken,
      query: access.publicTokenQuery,
      create: access.publicTokenCreate,
      update: access.publicTokenUpdate,
      gives: { all: ['public-tokens:write', 'keys:read'] },
      service: domain.publicTokens,
    }),
    ...collectionRoutes(looksAlike, {
      name: 'api-keys',
      one: 'an API key',
      item: access.apiKey,
      created: access.createdApiKey,
      query: searchQuery,
      create: access.apiKeyCreate,
      update: access.apiKeyUpdate,
      service: domain.apiKeys,
    }),
    ...collectionRoutes(looksAlike, {
      name: 'members',
      one: 'a member',
      item: people.member,
      created: people.invitedMember,
      query: people.grantQuery,
      create: people.memberCreate,
      update: people.memberUpdate,
      service: members,
    }),
    ...collectionRoutes(looksAlike, {
      name: 'groups',
      one: 'a group of members',
      item: people.group,
      query: people.grantQuery,
      create: people.groupCreate,
      update: people.groupUpdate,
      nouns: ['members'],
      service: domain.groups,
    }),
    route('GET /v1/vaults/{id}/people', {
      operationId: 'listVaultPeople',
      tag: 'vaults',
      summary: 'List everyone who has access to a vault, and where it comes from',
      needs: { all: ['members:read', 'vaults:read'] },
      query: searchQuery,
      answer: listOf(people.vaultPerson),
      handle: ({ permits: [permit, seeing], id, query }) => domain.vaultPeople(permit, seeing, id, query),
    }),
    route('POST /v1/members/{id}/invitation', {
      operationId: 'renewInvitation',
      summary: 'Create a new invitation; the member is signed out and needs it to sign in again',
      needs: { all: ['members:write'] },
      answer: people.invitedMember,
      handle: ({ permits: [permit], id }) => members.invite(permit, id),
    }),
    route('GET /v1/whoami', {
      operationId: 'whoAmI',
      tag: 'organization',
      summary: 'Identify the caller: organization, member, role and expiry',
      needs: { all: ['organization:read'] },
      answer: access.whoami,
      handle: ({ permits: [permit] }) => domain.accounts.whoami(permit),
    }),
    route('GET /v1/organization', {
      operationId: 'getOrganization',
      summary: 'Get the organization that the API key belongs to',
      needs: { all: ['organization:read'] },
      answer: access.organization,
      handle: ({ permits: [permit] }) => organizations.get(permit),
    }),
    route('PUT /v1/organization', {
      operationId: 'updateOrganization',
      summary: 'Rename the organization or change its plan',
      needs: { all: ['organization:write'] },
      body: access.organizationUpdate,
      readOnly: {
        members: readOnlyMembers(access.organization, access.organizationUpdate),
        needs: { all: ['organization:read'] },
        shown: ({ permits: [permit] }) => organizations.get(permit),
      },
      answer: access.organization,
      handle: ({ permits: [permit], body }) => organizations.change(permit, body),
    }),
  ];
}
