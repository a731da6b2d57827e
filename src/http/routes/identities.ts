/** Workload identities, their secret ids, and the login that gives a machine its access key. */
import { searchQuery } from '../../contract/common.ts';
import * as identities from '../../contract/identities.ts';
import type { Domain } from '../../domain/domain.ts';
import type { LoginProof } from '../../domain/identities/proofs.ts';
import { collectionRoutes } from './collection.ts';
import { type AuthNeed, type Permissions, type Route, route } from './route.ts';

export function identityRoutes({ identities: service, secretIds, looksAlike }: Domain): Route<Permissions>[] {
  const gives = { all: ['identities:write', 'vaults:read'] } as const;
  return [
    ...collectionRoutes(looksAlike, {
      name: 'identities',
      one: 'an identity',
      item: identities.identity,
      query: searchQuery,
      create: identities.identityCreate,
      update: identities.identityUpdate,
      gives,
      service,
    }),
    ...collectionRoutes(looksAlike, {
      name: 'secret-ids',
      one: 'a secret id of an identity',
      item: identities.secretId,
      created: identities.createdSecretId,
      query: identities.secretIdQuery,
      create: identities.secretIdCreate,
      update: identities.secretIdUpdate,
      nouns: ['identities'],
      gives,
      service: secretIds,
    }),
  ];
}

export function loginRoutes({ logins }: Domain): Route<AuthNeed>[] {
  return [
    route('POST /api/v1/login', {
      operationId: 'logIn',
      tag: 'login',
      summary: 'Log in as a workload identity, and get a short-lived access key',
      needs: 'nothing',
      errors: 'message',
      body: identities.loginBody,
      answer: identities.loggedIn,
      handle: async ({ body, origin, certificate }) => {
        const { identity_id: identityId, vault_id: vaultId } = body;
        const request = { identityId, vaultId, proof: proofIn(body, certificate) };
        return (await logins.login(request, origin)).accessKey;
      },
    }),
  ];
}

function proofIn({ jwt, secret_id }: identities.LoginBody, certificate: Uint8Array | null): LoginProof {
  if (jwt !== undefined) return { method: 'jwt', jwt };
  if (secret_id !== undefined) return { method: 'secret_id', secretId: secret_id };
  return { method: 'certificate', certificate };
}
