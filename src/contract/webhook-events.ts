/** Payloads of webhook events, by kind. They name the record and what happened to it, and never contain its value. */
import { z } from 'zod';
import { disabledReasons, type EventKind, resourceTypes, type testKind } from './names.ts';
import { exampleTimes, exampleVaultId } from './resource-fields.ts';
import { exampleId, id, timestamp } from './text.ts';

const resource = {
  id,
  type: z.enum(resourceTypes),
  name: z.string(),
  vault_id: id.describe('For a vault, its own id.'),
  version: z.int().optional().describe('Not for a vault.'),
};
const expiring = { ...resource, expiration_date: timestamp };
const accessKey = { id, type: z.literal('access_key'), name: z.string(), vault_id: id };
const approval = {
  id,
  type: z.literal('approval'),
  name: z.string().describe('The name of the use rule.'),
  vault_id: id,
};
const proposal = {
  id,
  type: z.literal('proposal'),
  name: z.string().describe('The name of what would be changed; of the first, if there are several.'),
  vault_id: id,
};
const lease = {
  id,
  type: z.literal('lease'),
  name: z.string().describe('The name of the issuer.'),
  vault_id: id,
};
const run = {
  id,
  type: z.literal('run'),
  name: z.string().describe('Its purpose.'),
  vault_id: id.describe('One of its vaults; there is an event for each.'),
};
const webhook = { id, type: z.literal('webhook'), name: z.string(), vault_id: z.null() };

const stage = {
  id,
  type: z.literal('stage'),
  name: z.string(),
  vault_id: z.null(),
  secret: z.string().describe('The name of the secret.'),
  missing_in: id.describe('The last vault of the stage.'),
  present_in: id.describe('A vault before it that has the secret.'),
};

const roleRequest = {
  id: id.describe('The request.'),
  type: z.literal('role_request'),
  name: z.string().describe('The email address of the member who asks.'),
  vault_id: id,
  role: z.string(),
  until: timestamp.describe('When the role is to end.'),
};
const exampleRoleRequest = {
  id: exampleId,
  type: 'role_request',
  name: 'ada@example.com',
  vault_id: exampleVaultId,
  role: 'reader',
  until: '2027-01-31T18:00:00.000Z',
};

const exampleResource = {
  id: exampleId,
  type: 'secret',
  name: 'DATABASE_URL',
  vault_id: exampleVaultId,
  version: 4,
};
const exampleExpiring = { ...exampleResource, expiration_date: '2027-01-31T00:00:00.000Z' };
const exampleAccessKey = { id: exampleId, type: 'access_key', name: 'web server', vault_id: exampleVaultId };
const exampleApproval = { id: exampleId, type: 'approval', name: 'issues of acme', vault_id: exampleVaultId };
const exampleProposal = { id: exampleId, type: 'proposal', name: 'DATABASE_URL', vault_id: exampleVaultId };
const exampleLease = { id: exampleId, type: 'lease', name: 'app-db', vault_id: exampleVaultId };
const exampleRun = { id: exampleId, type: 'run', name: 'Label new issues', vault_id: exampleVaultId };
const exampleWebhook = { id: exampleId, type: 'webhook', name: 'example.com', vault_id: null };

export interface WebhookEvent {
  /** A sentence that says when it is sent. */
  readonly when: string;
  readonly payload: z.ZodType;
}

type Kind = EventKind | typeof testKind;

/** When each is sent, its data, and an example of them. */
const described: Readonly<Record<Kind, [when: string, data: z.ZodRawShape, example: object]>> = {
  'resource.created': ['A resource was created', resource, exampleResource],
  'resource.updated': [
    'A resource was updated, got a new version, or was restored from the trash',
    resource,
    exampleResource,
  ],
  'resource.deleted': ['A resource was deleted', resource, exampleResource],
  'resource.near_expiry': ['A resource expires in 30, 7 or 1 days', expiring, exampleExpiring],
  'resource.expired': ['A resource has expired', expiring, exampleExpiring],
  'access_key.created': ['A vault access key was created', accessKey, exampleAccessKey],
  'access_key.revoked': ['A vault access key was revoked', accessKey, exampleAccessKey],
  'approval.requested': ['A call with a secret or key is waiting for approval', approval, exampleApproval],
  'role.requested': ['A member asks for a role in a vault', roleRequest, exampleRoleRequest],
  'role.decided': [
    'A request for a role in a vault was approved or refused',
    { ...roleRequest, state: z.enum(['approved', 'refused']) },
    { ...exampleRoleRequest, state: 'approved' },
  ],
  'stage.secret_missing': [
    'A secret is missing in the last vault of a stage, and a vault before it has one with this name',
    stage,
    {
      id: exampleId,
      type: 'stage',
      name: 'payments',
      vault_id: null,
      secret: 'DATABASE_URL',
      missing_in: exampleVaultId,
      present_in: exampleId,
    },
  ],
  'proposal.created': ['A write is waiting for review', proposal, exampleProposal],
  'proposal.confirmed': ['A proposed write was confirmed, and is done', proposal, exampleProposal],
  'proposal.rejected': ['A proposed write was rejected', proposal, exampleProposal],
  'proposal.expired': ['A proposed write expired before anyone decided', proposal, exampleProposal],
  'proposal.bypassed': ['An owner wrote without review', proposal, exampleProposal],
  'lease.created': ['A short-lived credential was issued', lease, exampleLease],
  'lease.revoked': ['An issued credential has ended, and was removed at its provider', lease, exampleLease],
  'lease.revocation_failed': [
    'An issued credential could not be removed at its provider several times; further attempts follow',
    lease,
    exampleLease,
  ],
  'run.created': ['A run began', run, exampleRun],
  'run.ended': ['A run was ended, or reached its end', run, exampleRun],
  'secret.rotated': ['A secret was rotated: it has a new value', resource, exampleResource],
  'rotation.failed': [
    'A secret could not be rotated. Its value is the one it had; further attempts follow',
    resource,
    exampleResource,
  ],
  'webhook.disabled': [
    'The service disabled a webhook',
    { ...webhook, reason: z.enum(disabledReasons) },
    { ...exampleWebhook, reason: 'failing' },
  ],
  'webhook.test': ['A test was requested', webhook, exampleWebhook],
};

export const webhookEvents = Object.fromEntries(
  Object.entries(described).map(([kind, [when, data, example]]) => [kind, event(kind, when, data, example)]),
) as Readonly<Record<Kind, WebhookEvent>>;

/** `resource.near_expiry` becomes `ResourceNearExpiryEvent`. */
function event(kind: string, when: string, data: z.ZodRawShape, example: object): WebhookEvent {
  const name = kind.replace(/(?:^|[._])(.)/g, (_, letter: string) => letter.toUpperCase());
  const payload = z.object({ type: z.literal(kind), timestamp, data: z.object(data) }).meta({
    id: `${name}Event`,
    example: { type: kind, timestamp: exampleTimes.created_at, data: example },
  });
  return { when, payload };
}
