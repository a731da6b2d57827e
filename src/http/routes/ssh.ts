/** SSH certificates signed by a key, and what servers need to judge them: its public keys and its revocation list. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import * as ssh from '../../contract/ssh.ts';
import type { Domain } from '../../domain/domain.ts';
import { type Permissions, type Route, route } from './route.ts';

export function sshRoutes({ sshAuthorities }: Pick<Domain, 'sshAuthorities'>): Route<Permissions>[] {
  return [
    route('POST /v1/keys/{id}/ssh-certificate', {
      operationId: 'createSshCertificate',
      summary:
        'Sign an SSH certificate, within the key’s SSH profile; recorded in the audit log before it is done',
      needs: { all: ['keys:use'] },
      body: ssh.sshCertificateCall,
      answer: ssh.sshCertificate,
      handle: ({ permits: [permit], id, body }) => sshAuthorities.certify(permit, id, body),
    }),
    route('GET /v1/keys/{id}/ssh-revocations', {
      operationId: 'listSshRevocations',
      summary: 'List what is revoked of the SSH certificates of a key',
      needs: { all: ['keys:read'] },
      answer: ssh.sshRevocations,
      handle: ({ permits: [permit], id }) => sshAuthorities.revocations(permit, id),
    }),
    route('POST /v1/keys/{id}/ssh-revocations', {
      operationId: 'changeSshRevocations',
      summary: 'Revoke SSH certificates by serial, key id or public key, or undo that',
      needs: { all: ['keys:write'] },
      body: ssh.sshRevocationCall,
      answer: ssh.sshRevocations,
      handle: ({ permits: [permit], id, body }) => sshAuthorities.revoke(permit, id, body),
    }),
    route('GET /v1/keys/{id}/krl', {
      operationId: 'readSshRevocationList',
      summary: 'Read the revocation list of a key in OpenSSH’s binary format, for RevokedKeys',
      needs: { all: ['keys:read'] },
      answer: z.string().meta({ example: 'SSHKRL…' }),
      answerTypes: ['application/octet-stream'],
      handle: async ({ permits: [permit], id, reply }) =>
        asFile(reply, 'application/octet-stream', await sshAuthorities.revocationList(permit, id)),
    }),
    route('GET /v1/keys/{id}/ssh-public-key', {
      operationId: 'readSshPublicKeys',
      summary: 'Read the public keys of a key’s versions in OpenSSH’s format, for TrustedUserCAKeys',
      needs: { all: ['keys:read'] },
      answer: z.string().meta({ example: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPK… 0199a3c4.1\n' }),
      answerTypes: ['text/plain'],
      handle: async ({ permits: [permit], id, reply }) =>
        asFile(reply, 'text/plain; charset=utf-8', await sshAuthorities.publicKeys(permit, id)),
    }),
  ];
}

function asFile(reply: FastifyReply, type: string, content: Buffer | string): FastifyReply {
  return reply.header('content-type', type).send(content);
}
