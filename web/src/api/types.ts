/** The types that the pages use, from the service's contract. */
export type {
  AccessKey,
  ApiKey,
  CreatedAccessKey,
  CreatedApiKey,
  CreatedPublicToken,
  Organization,
  Plan,
  PublicToken,
} from '../../../src/contract/access.ts';
export type { Attention, Matter } from '../../../src/contract/attention.ts';
export type { AuthState, Choice, PasskeyRecord, Session, SignedIn } from '../../../src/contract/auth.ts';
export type { List } from '../../../src/contract/common.ts';
export type { DeviceRequest, LoginKey } from '../../../src/contract/device-login.ts';
export type { CreatedSecretId, Identity, LoginMethod, SecretId } from '../../../src/contract/identities.ts';
export { type IdentityPreset, identityPresets } from '../../../src/contract/identity-presets.ts';
export type {
  AuditLog,
  LogVerification,
  RequestHistogram,
  RequestLog,
  SecretReaders,
  VaultReaders,
} from '../../../src/contract/logs.ts';
export type { MailChoices } from '../../../src/contract/mail.ts';
export type { Group, InvitedMember, Member, VaultGrant, VaultPerson } from '../../../src/contract/members.ts';
export {
  eventKinds,
  type GrantedRole,
  grantedRoleNames as grantedRoles,
  type OAuthScope,
  oauthScopes,
  type RoleName as Role,
  roleNames as roles,
  vaultPermissions,
  type WebhookFormat,
} from '../../../src/contract/names.ts';
export type { AuthorizationShown, OAuthGrant } from '../../../src/contract/oauth.ts';
export type { About as AboutRecord, Overview } from '../../../src/contract/overview.ts';
export type { Proposal, ProposedChange, RevealedProposal } from '../../../src/contract/proposals.ts';
export type {
  BulkAnswer,
  Certificate,
  CertificateVersion,
  ComparedSecrets,
  ComparedVaults,
  GenericResource,
  Key,
  ResourceType,
  RevealedKey,
  RevealedSecret,
  RevealedSecrets,
  Secret,
  SecretLinks,
  Vault,
  VaultCounts,
  VaultLinks,
  Version,
} from '../../../src/contract/resources.ts';
export type { RoleRequest } from '../../../src/contract/role-requests.ts';
export type { PastRotation, ScheduledRotation } from '../../../src/contract/rotations.ts';
export type { Run } from '../../../src/contract/runs.ts';
export type { ComparedStage, RenamedInStage, Stage } from '../../../src/contract/stages.ts';
export {
  type GrantedOperation,
  grantedOperations,
  keyOperations,
  ruledOperations,
} from '../../../src/contract/use-names.ts';
export { type UsePreset, usePresets } from '../../../src/contract/use-presets.ts';
export type { UseRule } from '../../../src/contract/use-rules.ts';
export type { Approval, WaitingApprovals } from '../../../src/contract/uses.ts';
export type { OneTimeCode } from '../../../src/contract/vault-read.ts';
export type { Delivery, Webhook, WebhookWithSecret } from '../../../src/contract/webhooks.ts';
