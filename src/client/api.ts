/**
 * The general API as its OpenAPI document describes it. Written by `npm run client:api`; don't edit it.
 */

export type About = { version: string; engine: "sqlite" | "postgres"; /** How PostgreSQL replicates: with asynchronous replication, a failover can lose acknowledged changes and log entries. Null with SQLite. */ replication: "none" | "asynchronous" | "synchronous" | null; root_key_provider: string; keyring_term: number; /** When the current keyring version was created; null if it is the first. */ keyring_rotated_at: Timestamp | null; /** How many of the organization’s vaults are still encrypted under an older keyring version. */ vault_keys_on_older_terms: number; deployment: string; log_public_key: string; /** How many days request log entries are kept; 0 keeps them indefinitely. */ log_retention_days: number; /** How many days audit log entries are kept before they are archived; 0 keeps them indefinitely. */ audit_retention_days: number; /** The backups that the service takes automatically; null if it takes none. */ backups: { /** The interval between backups. */ every_seconds: number; /** Timestamp of the newest backup. */ last_at: Timestamp | null; /** When the newest backup was restored and verified. */ proven_at: Timestamp | null; bytes: number | null; /** When the newest attempt failed; null if it succeeded. */ failed_at: Timestamp | null } | null };
export type AccessKey = { id: Id; name: string; expiration_date: Timestamp | null; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; vault_id: Id; kinds: readonly (string)[] | null; names: readonly (string)[] | null; names_only: boolean; may_use: boolean; cidrs: readonly (string)[] | null; max_uses: number | null; uses: number; rate_limit: number | null; /** The identity whose login created it; any change to that identity ends it. Null for all others. */ identity_id: Id | null };
export type AccessKeyCreate = { vault_id: Id; name: Name; kinds?: readonly ("secret" | "key" | "certificate")[] | null; names?: readonly (string)[] | null; names_only?: boolean; /** Whether it may use secrets and keys through their use rules. With `names_only`, it can use what it can’t read. */ may_use?: boolean; cidrs?: readonly (string)[] | null; expiration_date?: string | null; max_uses?: number | null; /** Requests per minute. */ rate_limit?: number | null };
export type AccessKeyList = { data: readonly (AccessKey)[]; pagination: Pagination };
export type AccessKeyUpdate = { name?: Name; kinds?: readonly ("secret" | "key" | "certificate")[] | null; names?: readonly (string)[] | null; names_only?: boolean; /** Whether it may use secrets and keys through their use rules. With `names_only`, it can use what it can’t read. */ may_use?: boolean; cidrs?: readonly (string)[] | null; expiration_date?: string | null; max_uses?: number | null; /** Requests per minute. */ rate_limit?: number | null };
export type ApiKey = { id: Id; name: string; expiration_date: Timestamp | null; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; role: GrantedRole; scopes: readonly (string)[] | null; vault_ids: readonly (Id)[] | null; /** The member it belongs to: the one who created it, directly or with another API key, or who is signed in with it on a command line. It never has more permissions than they have, and ends with their membership. Null if the operator created it. */ member_id: Id | null };
export type ApiKeyCreate = { name: Name; role: GrantedRole; scopes?: readonly ("vaults:read" | "vaults:write" | "secrets:read" | "secrets:write" | "secrets:reveal" | "keys:read" | "keys:write" | "keys:reveal" | "certificates:read" | "certificates:write" | "access-keys:read" | "access-keys:write" | "public-tokens:read" | "public-tokens:write" | "use-rules:read" | "use-rules:write" | "approvals:read" | "approvals:write" | "logs:read" | "identities:read" | "identities:write" | "webhooks:read" | "webhooks:write" | "api-keys:read" | "api-keys:write" | "members:read" | "members:write" | "organization:read" | "organization:write")[] | null; vault_ids?: readonly (Id)[] | null; expiration_date?: string | null };
export type ApiKeyList = { data: readonly (ApiKey)[]; pagination: Pagination };
export type ApiKeyUpdate = { name?: Name; expiration_date?: string | null };
export type Approval = { id: Id; vault_id: Id; rule_id: Id; rule: string; access_key_id: Id; /** Its name, as given by a person. */ access_key: string; /** The name that a program gave it, if the program derived it from another access key; not verified. */ own_name: string | null; /** The id of its offline restrictions, if it has any. */ restriction: string | null; state: "pending" | "approved" | "refused" | "used" | "expired"; /** `call`: this call, once. `rule`: every call with this access key under this rule, until the approval expires. */ scope: "call" | "rule"; /** SHA-256 of the canonical request, in base64url. */ fingerprint: string; request: { tool: string; /** The name of the secret or key. */ secret: string; method: string; url: string; headers: { readonly [name: string]: string }; body: string | null; body_base64: string | null; /** Where the value goes. */ place: string }; decided_by: string | null; expires_at: Timestamp; created_at: Timestamp; updated_at: Timestamp };
export type ApprovalList = { data: readonly (Approval)[]; pagination: Pagination };
export type AuditLog = { id: Id; created_at: Timestamp; actor: { kind: string; id: string; name: string }; action: string; outcome: "allowed" | "denied"; subject: { type: string; id: Id | null; name: string } | null; revision: number | null; vault_id: Id | null; ip_address: string; user_agent: string; request_id: string; details: { readonly [name: string]: unknown }; /** The number of refusals, identical except for the time, that the entry stands for; otherwise 1. */ count: number; receipt: string; /** Whether the entry was verified against its chain for this response; an edited entry is an error. False if the preceding entry of its chain is too far away to read for a list; an entry fetched by its id is always verified. */ verified: boolean; /** What happened to the subject: `creates`: the subject is new, or someone gained access; `changes`: its content changed; permissions did not; `regrants`: someone’s permissions, or how they prove their identity, changed; `spends`: one of a limited number of uses was spent; `revokes`: the credential is no longer valid; it stays listed; `removes`: it is gone permanently; `trashes`: it was deleted, and can be restored; `restores`: it was restored from the trash; `reverts`: an earlier value is current again; `exposes`: someone was shown a value, or a copy of the log; `uses`: it was used and did not change; `refuses`: someone was refused; `maintains`: the service or its operator did maintenance. Null for actions of a newer version. */ effect: "creates" | "changes" | "regrants" | "spends" | "revokes" | "removes" | "trashes" | "restores" | "reverts" | "exposes" | "uses" | "refuses" | "maintains" | null };
export type AuditLogList = { data: readonly (AuditLog)[]; pagination: Pagination };
export type BulkAnswer = { results: readonly ({ index: number; status: number; secret?: Secret; error?: { code: string; message: string; details: { field: string; reason: string } } })[] };
export type Certificate = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; type: "x509"; vault_id: Id; key_id: Id | null; subject: string; issuer: string; sans: readonly (string)[]; serial: string; /** SHA-256 of the certificate, in hex. */ fingerprint: string; not_before: Timestamp; expires_at: Timestamp; version: number; /** The certificate first, then its chain. Not included in lists. */ pem?: string };
export type CertificateCreate = { vault_id: Id; name: Name; /** The certificate and its chain in any order, with or without its private key. */ pem?: string; /** A PKCS#12 file in base64. */ pkcs12?: string; self_signed?: SelfSigned; passphrase?: string; /** The private key of the certificate, in the same vault. */ key_id?: Id; tags?: Tags };
export type CertificateList = { data: readonly (Certificate)[]; pagination: Pagination };
export type CertificateUpdate = { name?: Name; tags?: Tags; key_id?: Id | null };
export type ComparedSecrets = { results: readonly ({ name: string; /** The id of the secret with this name; null if there is none. */ id: Id | null; version: number | null; /** Whether its current value equals the value that was sent. */ same: boolean })[] };
export type ComparedVaults = { /** A row for each name, with a cell for each vault; null if the vault has no such secret. */ rows: readonly ({ name: string; cells: readonly ({ id: Id; version: number; /** Equal numbers in a row mean equal values. Null without the permission to reveal. */ value: number | null } | null)[] })[]; pagination: Pagination };
export type CreatedAccessKey = { id: Id; name: string; expiration_date: Timestamp | null; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; vault_id: Id; kinds: readonly (string)[] | null; names: readonly (string)[] | null; names_only: boolean; may_use: boolean; cidrs: readonly (string)[] | null; max_uses: number | null; uses: number; rate_limit: number | null; /** The identity whose login created it; any change to that identity ends it. Null for all others. */ identity_id: Id | null; /** The credential itself, returned only when it is created. */ token: string };
export type CreatedApiKey = { id: Id; name: string; expiration_date: Timestamp | null; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; role: GrantedRole; scopes: readonly (string)[] | null; vault_ids: readonly (Id)[] | null; /** The member it belongs to: the one who created it, directly or with another API key, or who is signed in with it on a command line. It never has more permissions than they have, and ends with their membership. Null if the operator created it. */ member_id: Id | null; /** The credential itself, returned only when it is created. */ token: string };
export type CreatedPublicToken = { id: Id; name: string; expiration_date: Timestamp | null; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; key_id: Id; vault_id: Id; /** The credential itself, returned only when it is created. */ token: string };
export type CreatedSecretId = { id: Id; identity_id: Id; name: string; expiration_date: Timestamp | null; max_uses: number | null; uses: number; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; /** The secret id itself, returned only when it is created. */ token: string };
/** The record was deleted or moved to the trash. */
export type Deletion = { id: Id; deleted: true };
export type DeliveryAttempt = { at: Timestamp; /** Null if there was no response. */ status: number | null; duration_ms: number; /** The first 4 KiB of the response. */ answer: string; error: string | null };
export type Description = string;
export type ExpiredResource = { id: Id; message: "Resource expired" };
export type GrantedRole = "owner" | "admin" | "editor" | "viewer" | "auditor";
/** Members who have the same roles in the same vaults. */
export type Group = { id: Id; name: string; grants: readonly (VaultGrant)[]; member_ids: readonly (Id)[]; single_sign_on: boolean; /** The members for whom the issuer listed the group when they last signed in through single sign-on. */ signed_on_member_ids: readonly (Id)[]; created_at: Timestamp; updated_at: Timestamp };
export type GroupCreate = { name: Name; grants?: readonly (VaultGrant)[]; member_ids?: readonly (Id)[]; /** Whether a member also belongs to the group while the single sign-on issuer lists its name in their claim. */ single_sign_on?: boolean };
export type GroupList = { data: readonly (Group)[]; pagination: Pagination };
export type GroupUpdate = { name?: Name; grants?: readonly (VaultGrant)[]; /** Replaces the roles in these vaults; `none` removes the role. Roles in other vaults don’t change. */ change_grants?: readonly ({ vault_id: Id; role: Role })[]; member_ids?: readonly (Id)[]; /** Members to add to the group. */ add_member_ids?: readonly (Id)[]; /** Members to remove from the group. */ remove_member_ids?: readonly (Id)[]; /** Whether a member also belongs to the group while the single sign-on issuer lists its name in their claim. */ single_sign_on?: boolean };
export type Health = { status: "ok" | "sealed" | "degraded"; version: string };
/** A UUID, version 7. */
export type Id = string;
export type Identity = { id: Id; name: string; /** How the machine proves its identity: `jwt` with an issuer’s token, `secret_id` with a secret id of its own, `certificate` with a TLS client certificate. */ method: "jwt" | "secret_id" | "certificate"; issuer: string | null; jwks: { keys: readonly ({ readonly [name: string]: unknown })[] } | null; audience: string | null; subjects: readonly (string)[] | null; claims: { readonly [name: string]: readonly (string)[] }; single_use: boolean; ca_pem: string | null; vault_ids: readonly (Id)[]; kinds: readonly (string)[] | null; names: readonly (string)[] | null; names_only: boolean; may_use: boolean; cidrs: readonly (string)[] | null; max_uses: number | null; rate_limit: number | null; lifetime: number; expiration_date: Timestamp | null; last_login_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp };
/** Issuers and subjects of well-known platforms: - GitHub Actions: `https://token.actions.githubusercontent.com`, `repo:OWNER/REPOSITORY:ref:refs/heads/main` - GitLab CI/CD: `https://gitlab.com`, `project_path:GROUP/PROJECT:ref_type:branch:ref:main` - Kubernetes service accounts: `https://kubernetes.default.svc.cluster.local`, `system:serviceaccount:NAMESPACE:NAME` - Google Cloud: `https://accounts.google.com`, `SERVICE_ACCOUNT_UNIQUE_ID` - AWS: `https://UUID.tokens.sts.global.api.aws`, `arn:aws:iam::ACCOUNT:role/ROLE` - Azure managed identities: `https://login.microsoftonline.com/TENANT/v2.0`, `OBJECT_ID_OF_THE_MANAGED_IDENTITY` - SPIFFE JWT-SVID: `https://SPIRE_OIDC_DISCOVERY_PROVIDER`, `spiffe://TRUST_DOMAIN/WORKLOAD` */
export type IdentityCreate = { name: Name; /** How the machine proves its identity: `jwt` with an issuer’s token, `secret_id` with a secret id of its own, `certificate` with a TLS client certificate. */ method: "jwt" | "secret_id" | "certificate"; /** Exactly as in the `iss` claim of its tokens. Null if `jwks` is given and the tokens have no `iss`. */ issuer?: string | null; jwks?: { keys: readonly ({ readonly [name: string]: unknown })[] } | null; /** Must be among the audiences of the token. Required for `jwt`. */ audience?: string | null; subjects?: readonly (string)[] | null; /** Each must match: the claim, or one of its elements, matches one of the patterns. A name that begins with `/` is a JSON pointer, such as `/kubernetes.io/namespace`. */ claims?: { readonly [name: string]: readonly (string)[] }; /** Each token can be used for only one login. It must have a `jti`. */ single_use?: boolean; /** The authorities that issue the client certificates. Required for `certificate`. */ ca_pem?: string | null; /** The vaults that it may read. A login that names none opens the first. */ vault_ids: readonly (Id)[]; kinds?: readonly ("secret" | "key" | "certificate")[] | null; names?: readonly (string)[] | null; names_only?: boolean; /** Whether it may use secrets and keys through their use rules. With `names_only`, it can use what it can’t read. */ may_use?: boolean; cidrs?: readonly (string)[] | null; max_uses?: number | null; /** Requests per minute. */ rate_limit?: number | null; /** The lifetime of the access keys, in seconds. 900 by default. */ lifetime?: number; /** When the identity ends. */ expiration_date?: string | null };
export type IdentityList = { data: readonly (Identity)[]; pagination: Pagination };
export type IdentityUpdate = { name?: Name; /** Exactly as in the `iss` claim of its tokens. Null if `jwks` is given and the tokens have no `iss`. */ issuer?: string | null; jwks?: { keys: readonly ({ readonly [name: string]: unknown })[] } | null; /** Must be among the audiences of the token. Required for `jwt`. */ audience?: string | null; subjects?: readonly (string)[] | null; /** Each must match: the claim, or one of its elements, matches one of the patterns. A name that begins with `/` is a JSON pointer, such as `/kubernetes.io/namespace`. */ claims?: { readonly [name: string]: readonly (string)[] }; /** Each token can be used for only one login. It must have a `jti`. */ single_use?: boolean; /** The authorities that issue the client certificates. Required for `certificate`. */ ca_pem?: string | null; /** The vaults that it may read. A login that names none opens the first. */ vault_ids?: readonly (Id)[]; kinds?: readonly ("secret" | "key" | "certificate")[] | null; names?: readonly (string)[] | null; names_only?: boolean; /** Whether it may use secrets and keys through their use rules. With `names_only`, it can use what it can’t read. */ may_use?: boolean; cidrs?: readonly (string)[] | null; max_uses?: number | null; /** Requests per minute. */ rate_limit?: number | null; /** The lifetime of the access keys, in seconds. 900 by default. */ lifetime?: number; /** When the identity ends. */ expiration_date?: string | null };
export type InvitedMember = { id: Id; name: string; email: string; role: Role; grants: readonly (VaultGrant)[]; /** The groups that the member is in. */ group_ids: readonly (Id)[]; state: "invited" | "active"; created_at: Timestamp; updated_at: Timestamp; /** The invitation token, returned only when it is created. The link is {base_url}/invite#TOKEN. */ token: string };
/** A key without its private key material. */
export type Key = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; /** Whether the PEM contains a private or a public key. */ type: "private" | "public"; vault_id: Id; key_type: "RSA" | "EC" | "OKP" | "ML-DSA" | "ML-KEM"; key_size: number; curve: string | null; activation_date: Timestamp | null; expiration_date: Timestamp | null; exportable: boolean; /** Whether the private key is stored, exportable or not. */ has_private_key: boolean; version: number; /** The public key, as SPKI. */ public_pem: string };
export type KeyCreate = { vault_id: Id; name: Name; generate?: KeySpecification; /** PKCS#8, PKCS#1, SEC1 or SPKI. */ pem?: string; /** The passphrase of the PEM, if it has one. */ passphrase?: string; activation_date?: string | null; expiration_date?: string | null; tags?: Tags; /** If false, the private key can never be revealed. */ exportable?: boolean };
export type KeyList = { data: readonly (Key)[]; pagination: Pagination };
/** The restrictions that its holder added to the access key before using it. */
export type KeyNarrowing = { /** The same for all access keys restricted in the same way. */ id: string; /** In the order in which they were added. All of them apply. */ restrictions: readonly ({ readonly [name: string]: unknown })[] };
/** Without a body, a new key of the same type is generated. */
export type KeyRotation = { generate?: KeySpecification; /** PKCS#8, PKCS#1, SEC1 or SPKI. */ pem?: string; /** The passphrase of the PEM, if it has one. */ passphrase?: string };
export type KeySpecification = { key_type: "RSA"; key_size?: 2048 | 3072 | 4096 } | { key_type: "EC"; curve: "P-256" | "P-384" | "P-521" | "secp256k1" } | { key_type: "OKP"; curve: "Ed25519" | "X25519" } | { key_type: "ML-DSA"; key_size: 44 | 65 | 87 } | { key_type: "ML-KEM"; key_size: 512 | 768 | 1024 };
export type KeyUpdate = { name?: Name; activation_date?: string | null; expiration_date?: string | null; tags?: Tags };
export type LogVerification = { /** Null until the first verification has finished. */ checked_at: Timestamp | null; running: boolean; ok: boolean | null; /** The number of entries of this organization. */ entries: { request: number; audit: number }; checkpoints: number; /** What is wrong; run `strongroom audit verify` for details. */ findings: readonly ({ what: string; count: number })[] };
export type Member = { id: Id; name: string; email: string; role: Role; grants: readonly (VaultGrant)[]; /** The groups that the member is in. */ group_ids: readonly (Id)[]; state: "invited" | "active"; created_at: Timestamp; updated_at: Timestamp };
export type MemberCreate = { email: string; role: Role; grants?: readonly (VaultGrant)[] };
export type MemberList = { data: readonly (Member)[]; pagination: Pagination };
export type MemberUpdate = { role?: Role; grants?: readonly (VaultGrant)[]; /** Replaces the roles in these vaults; `none` removes the role. Roles in other vaults don’t change. */ change_grants?: readonly ({ vault_id: Id; role: Role })[] };
/** Unique among the resources of one type in a vault; a deleted resource frees its name. */
export type Name = string;
/** A resource as a names-only access key sees it. */
export type NamedResource = { id: Id; name: string };
export type NamedSecret = { id: Id; name: string };
export type Organization = { id: Id; name: string; plan: "free" | "pro" | "enterprise"; /** Requests per minute; null if unlimited. */ rate_limit: number | null; created_at: Timestamp; updated_at: Timestamp };
export type OrganizationUpdate = { name?: Name; /** Only a signed-in owner can change it, not an API key. */ plan?: "free" | "pro" | "enterprise"; /** Requests per minute on the enterprise plan; 0 is unlimited. Only a signed-in owner can change it. */ enterprise_limit?: number };
/** Parts that the caller may not see are empty. */
export type Overview = { /** Vault requests in the last 24 hours, per hour. */ reads: readonly ({ at: Timestamp; success: number; failure: number })[]; busiest_vaults: readonly ({ id: Id; name: string; reads: number })[]; busiest_keys: readonly ({ id: Id; name: string; reads: number })[]; failed_addresses: readonly ({ ip_address: string; failures: number })[]; /** Resources and credentials that expire in the next 90 days, soonest first, at most 50. */ expiring: readonly ({ id: Id; type: string; name: string; vault_id: Id | null; expires_at: Timestamp })[]; /** API keys and access keys unused for 90 days. */ unused_keys: readonly ({ id: Id; type: string; name: string; vault_id: Id | null; last_used_at: Timestamp | null })[]; webhooks: { total: number; failing: number; disabled: number }; counts: { vaults: number; secrets: number; keys: number; certificates: number }; plan: { name: "free" | "pro" | "enterprise"; limit: number | null; /** Requests in this minute; null for callers that may not see all vaults. */ used: number | null } };
export type Pagination = { total: number; page: number; limit: number };
/** Gives access to the public key of one key, and nothing else. */
export type PublicToken = { id: Id; name: string; expiration_date: Timestamp | null; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp; key_id: Id; vault_id: Id };
export type PublicTokenCreate = { key_id: Id; name?: Name; expiration_date?: string | null };
export type PublicTokenList = { data: readonly (PublicToken)[]; pagination: Pagination };
export type PublicTokenUpdate = { name?: Name; expiration_date?: string | null };
export type RequestLog = { id: Id; created_at: Timestamp; success: boolean; resource_type: "vault"; ip_address: string; route: string; method: string; status: number; vault_id: Id | null; access_key_id: Id | null; narrowing: KeyNarrowing | null; requested: string; tool: string | null; user_agent: string; duration_ms: number; request_id: string; /** The number of refusals, identical except for the time, that the entry stands for; otherwise 1. */ count: number; receipt: string; /** Whether the entry was verified against its chain for this response; an edited entry is an error. False if the preceding entry of its chain is too far away to read for a list; an entry fetched by its id is always verified. */ verified: boolean; /** Why the request was refused, which the caller can’t see. Null if it was not refused, and for entries older than this field. */ reason: "no_credential" | "unknown_credential" | "wrong_kind" | "revoked" | "expired" | "outside_networks" | "wrong_vault" | "wrong_key" | "used_up" | "identity_changed" | "member_changed" | "parent_not_valid" | "vault_deleted" | "rate_limit" | "too_many_failures" | "too_many_calls" | "names_only" | "may_not_use" | "no_use_rule" | "approval_required" | "approval_refused" | "value_in_request" | "use_suspended" | "restricted" | "not_found" | "disabled" | "not_active" | "resource_expired" | "invalid_request" | "not_allowed" | "unavailable" | "internal_error" | null };
export type RequestLogList = { data: readonly (RequestLog)[]; pagination: Pagination };
/** The fields that all types have in common. The other fields are in the collection of each type. */
export type Resource = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; type: "vault" | "secret" | "key" | "certificate"; /** Null for a vault. */ vault_id: Id | null; deleted_at: Timestamp | null };
/** The body of the given type; without `type`, a vault is created. */
export type ResourceCreate = { name: Name; description?: Description; tags?: Tags; type?: "vault" } | { vault_id: Id; name: Name; /** At most 64 KiB. Send binary data as base64, with a content type that says so. */ value: string; content_type?: string; tags?: Tags; enabled?: boolean; activation_date?: string | null; expiration_date?: string | null; type: "secret" } | { vault_id: Id; name: Name; generate?: KeySpecification; /** PKCS#8, PKCS#1, SEC1 or SPKI. */ pem?: string; /** The passphrase of the PEM, if it has one. */ passphrase?: string; activation_date?: string | null; expiration_date?: string | null; tags?: Tags; /** If false, the private key can never be revealed. */ exportable?: boolean; type: "key" } | { vault_id: Id; name: Name; /** The certificate and its chain in any order, with or without its private key. */ pem?: string; /** A PKCS#12 file in base64. */ pkcs12?: string; self_signed?: SelfSigned; passphrase?: string; /** The private key of the certificate, in the same vault. */ key_id?: Id; tags?: Tags; type: "certificate" };
export type ResourceList = { data: readonly (Resource)[]; pagination: Pagination };
/** The body of the resource’s own type. */
export type ResourceUpdate = {  };
/** A key with its PEM: PKCS#8, or SPKI if only the public key is stored. */
export type RevealedKey = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; /** Whether the PEM contains a private or a public key. */ type: "private" | "public"; vault_id: Id; key_type: "RSA" | "EC" | "OKP" | "ML-DSA" | "ML-KEM"; key_size: number; curve: string | null; activation_date: Timestamp | null; expiration_date: Timestamp | null; exportable: boolean; /** Whether the private key is stored, exportable or not. */ has_private_key: boolean; version: number; /** The public key, as SPKI. */ public_pem: string; pem: string };
/** A secret with its value, or with the value of the requested version. */
export type RevealedSecret = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; type: "secret"; vault_id: Id; content_type: string; enabled: boolean; activation_date: Timestamp | null; expiration_date: Timestamp | null; version: number; value: string };
/** The secrets with their values, in the order of the request. */
export type RevealedSecrets = { data: readonly (RevealedSecret)[] };
export type Role = "owner" | "admin" | "editor" | "viewer" | "auditor" | "none";
/** A secret without its value. */
export type Secret = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; type: "secret"; vault_id: Id; content_type: string; enabled: boolean; activation_date: Timestamp | null; expiration_date: Timestamp | null; version: number };
export type SecretCreate = { vault_id: Id; name: Name; /** At most 64 KiB. Send binary data as base64, with a content type that says so. */ value: string; content_type?: string; tags?: Tags; enabled?: boolean; activation_date?: string | null; expiration_date?: string | null };
export type SecretId = { id: Id; identity_id: Id; name: string; expiration_date: Timestamp | null; max_uses: number | null; uses: number; last_used_at: Timestamp | null; created_by: string; created_at: Timestamp; updated_at: Timestamp };
export type SecretIdCreate = { identity_id: Id; name?: Name; /** 30 days from now by default, at most one year. */ expiration_date?: string | null; max_uses?: number | null };
export type SecretIdList = { data: readonly (SecretId)[]; pagination: Pagination };
export type SecretIdUpdate = { name?: Name; /** 30 days from now by default, at most one year. */ expiration_date?: string | null; max_uses?: number | null };
export type SecretList = { data: readonly (Secret)[]; pagination: Pagination };
export type SecretReaders = { version: number; /** When the version was created. */ since: Timestamp; /** False if only the newest entries were searched. */ complete: boolean; /** Newest first. The name is empty if the access key no longer exists. */ data: readonly ({ kind: string; id: string; name: string; reads: number; last_at: Timestamp })[] };
export type SecretReveal = { version?: number };
export type SecretRollback = { version: number };
export type SecretUpdate = { name?: Name; /** At most 64 KiB. Send binary data as base64, with a content type that says so. */ value?: string; content_type?: string; tags?: Tags; enabled?: boolean; activation_date?: string | null; expiration_date?: string | null };
export type SecretUpdateWithId = { name?: Name; /** At most 64 KiB. Send binary data as base64, with a content type that says so. */ value?: string; content_type?: string; tags?: Tags; enabled?: boolean; activation_date?: string | null; expiration_date?: string | null; id: Id };
export type SecretsCompare = { vault_id: Id; items: readonly ({ name: string; /** At most 64 KiB. Send binary data as base64, with a content type that says so. */ value: string })[] };
export type SecretsCopy = { secret_ids: readonly (Id)[]; /** The vault to copy them to. */ vault_id: Id; /** Also moves the originals to the trash of their vaults. */ move?: boolean };
export type SecretsReveal = { secret_ids: readonly (Id)[] };
/** Each item is a body of `POST /v1/secrets`, or a body of `PUT /v1/secrets/{id}` plus the `id`. */
export type SecretsWrite = { items: readonly (SecretCreate | SecretUpdateWithId)[] };
/** Creates a certificate signed by the key that `key_id` names. */
export type SelfSigned = { subject: string; sans?: readonly (string)[]; days?: number };
export type SigningRequest = { pem: string };
export type SigningRequestCreate = { subject: string; sans?: readonly (string)[] };
/** At most 15. Names have up to 128 characters, values up to 256. */
export type Tags = { readonly [name: string]: string };
/** ISO 8601 in UTC, with milliseconds. */
export type Timestamp = string;
export type UseCheck = { secret_id: Id; /** A use rule’s id; by default the first that allows the call. */ rule?: Id; /** GET by default. */ method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"; /** Absolute, normalized, without credentials. */ url: string; headers?: { readonly [name: string]: string }; body?: string; body_base64?: string };
/** Where the value goes: `bearer`, a `header` with an optional `prefix`, `basic` as the password of `username` (null if the value is both), a `query` parameter, a field of a `json` body by its pointer, or a `form` field. */
export type UsePlace = { type: "bearer" } | { type: "header"; name: string; prefix?: string } | { type: "basic"; username: string | null } | { type: "query"; name: string } | { type: "json"; pointer: string } | { type: "form"; field: string };
export type UsePresetList = { presets: readonly ({ id: string; title: string; hosts: readonly (string)[]; methods: readonly ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE")[]; paths: readonly (string)[]; place: UsePlace; request_headers: readonly (string)[] })[] };
export type UseRule = { id: Id; vault_id: Id; secret_id: Id | null; key_id: Id | null; name: string; hosts: readonly (string)[] | null; methods: readonly ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE")[] | null; paths: readonly (string)[] | null; place: UsePlace | null; request_headers: readonly (string)[] | null; response_headers: readonly (string)[] | null; max_request: number | null; max_response: number | null; binary: boolean | null; response: "full" | "status-only" | "store" | null; store: { secret_id: Id; pointer: string } | null; timeout: number | null; operations: readonly ("sign" | "verify" | "decrypt")[] | null; algorithms: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "RSA-OAEP" | "RSA-OAEP-256")[] | null; jwt: { typ?: string; issuer: string; audiences: readonly (string)[]; longest_lifetime: number } | null; approval: "never" | "writes" | "always"; rate_limit: number | null; created_by: string; created_at: Timestamp; updated_at: Timestamp };
/** A rule for a secret has `hosts`, `methods`, `paths` and `place`; a rule for a key has `operations` and `algorithms`. */
export type UseRuleCreate = { secret_id?: Id; key_id?: Id; name: Name; hosts?: readonly (string)[] | null; methods?: readonly ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE")[] | null; paths?: readonly (string)[] | null; place?: UsePlace | null; /** Headers that the agent may set. `accept` and `content-type` by default. */ request_headers?: readonly (string)[] | null; /** Headers that are returned. `content-type` by default; a name may end with `*`. */ response_headers?: readonly (string)[] | null; /** Bytes of the body. 65,536 by default. */ max_request?: number | null; /** Bytes of the decoded body; a longer response is withheld. 262,144 by default. */ max_response?: number | null; /** Whether responses that are not text are returned. Default false. */ binary?: boolean | null; /** `full` returns the response, `status-only` only its status; `store` stores one of its fields in a secret. */ response?: "full" | "status-only" | "store" | null; store?: { secret_id: Id; pointer: string } | null; /** Seconds for the whole call. 30 by default. */ timeout?: number | null; operations?: readonly ("sign" | "verify" | "decrypt")[] | null; algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "RSA-OAEP" | "RSA-OAEP-256")[] | null; jwt?: { typ?: string; issuer: string; audiences: readonly (string)[]; longest_lifetime: number } | null; /** Which calls a person must approve: `never` (none), `writes` (all except GET and HEAD, and every signature), or `always` (the default). */ approval?: "never" | "writes" | "always"; /** Calls per minute under this rule by all access keys together. 60 by default; null for no limit. */ rate_limit?: number | null };
export type UseRuleList = { data: readonly (UseRule)[]; pagination: Pagination };
export type UseRuleUpdate = { name?: Name; hosts?: readonly (string)[] | null; methods?: readonly ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE")[] | null; paths?: readonly (string)[] | null; place?: UsePlace | null; /** Headers that the agent may set. `accept` and `content-type` by default. */ request_headers?: readonly (string)[] | null; /** Headers that are returned. `content-type` by default; a name may end with `*`. */ response_headers?: readonly (string)[] | null; /** Bytes of the body. 65,536 by default. */ max_request?: number | null; /** Bytes of the decoded body; a longer response is withheld. 262,144 by default. */ max_response?: number | null; /** Whether responses that are not text are returned. Default false. */ binary?: boolean | null; /** `full` returns the response, `status-only` only its status; `store` stores one of its fields in a secret. */ response?: "full" | "status-only" | "store" | null; store?: { secret_id: Id; pointer: string } | null; /** Seconds for the whole call. 30 by default. */ timeout?: number | null; operations?: readonly ("sign" | "verify" | "decrypt")[] | null; algorithms?: readonly ("RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "RSA-OAEP" | "RSA-OAEP-256")[] | null; jwt?: { typ?: string; issuer: string; audiences: readonly (string)[]; longest_lifetime: number } | null; /** Which calls a person must approve: `never` (none), `writes` (all except GET and HEAD, and every signature), or `always` (the default). */ approval?: "never" | "writes" | "always"; /** Calls per minute under this rule by all access keys together. 60 by default; null for no limit. */ rate_limit?: number | null };
export type UseVerdict = { allowed: boolean; rule: Id | null; /** Whether a person would have to approve the call. */ approval: boolean; /** Why each rule does not allow the call. */ refusals: readonly ({ rule: Id; name: string; field: string; reason: string })[] };
export type Vault = { id: Id; name: Name; tags: Tags; created_at: Timestamp; updated_at: Timestamp; type: "vault"; description: string };
/** The number of resources in each vault; null for types that the caller may not read. */
export type VaultCounts = { data: readonly ({ vault_id: Id; secrets: number | null; keys: number | null; certificates: number | null })[] };
export type VaultCreate = { name: Name; description?: Description; tags?: Tags };
/** A role in a single vault, in addition to the role in the organization. */
export type VaultGrant = { vault_id: Id; role: GrantedRole };
export type VaultList = { data: readonly (Vault)[]; pagination: Pagination };
/** The vault with its active secrets. */
export type VaultRead = { id: Id; name: string; secrets: readonly (VaultReadSecret)[]; /** With `include=keys`. */ keys?: readonly (VaultReadKey | ExpiredResource)[]; /** With `include=certificates`. */ certificates?: readonly (VaultReadCertificate | ExpiredResource)[] };
export type VaultReadCertificate = { id: Id; name: string; type: "x509"; expires_at: Timestamp; tags: Tags };
export type VaultReadKey = { id: Id; name: string; type: "private" | "public"; key_type: "RSA" | "EC" | "OKP" | "ML-DSA" | "ML-KEM"; key_size: number; activation_date: Timestamp | null; expiration_date: Timestamp | null; tags: Tags };
/** With `secrets=names`, or for a names-only access key: the secrets have no values. */
export type VaultReadNames = { id: Id; name: string; secrets: readonly (NamedSecret)[]; keys?: readonly (VaultReadKey | NamedResource | ExpiredResource)[]; certificates?: readonly (VaultReadCertificate | NamedResource | ExpiredResource)[] };
/** A secret with its value. */
export type VaultReadSecret = { id: Id; name: string; value: string; content_type: string; tags: Tags };
export type VaultUpdate = { name?: Name; description?: Description; tags?: Tags };
export type VaultsCompare = { vault_ids: readonly (Id)[]; page?: number; limit?: number; /** Only names whose secrets differ between the vaults. */ different?: boolean };
export type Version = { version: number; created_at: Timestamp; created_by: string; content_type: string | null; current: boolean };
export type VersionList = { data: readonly (Version)[]; pagination: Pagination };
export type Webhook = { id: Id; /** Defaults to the host of the URL. */ name: string; url: string; events: readonly (string)[]; vault_ids: readonly (Id)[] | null; enabled: boolean; /** Why the service disabled the webhook; null if it did not. */ disabled_reason: "gone" | "failing" | null; /** Since when deliveries have failed; null if the newest attempt succeeded. */ failing_since: Timestamp | null; created_at: Timestamp; updated_at: Timestamp };
export type WebhookCreate = { url: string; events: readonly ("resource.created" | "resource.updated" | "resource.deleted" | "resource.near_expiry" | "resource.expired" | "access_key.created" | "access_key.revoked" | "approval.requested" | "webhook.disabled")[]; /** Only events in these vaults are sent; null for all vaults. */ vault_ids?: readonly (Id)[] | null; name?: Name; enabled?: boolean };
export type WebhookDelivery = { id: Id; webhook_id: Id; event: string; /** The `webhook-id` header; the same in every attempt. */ event_id: Id; resource_id: Id; vault_id: Id | null; state: "pending" | "delivered" | "dead"; attempts: readonly (DeliveryAttempt)[]; next_attempt_at: Timestamp | null; created_at: Timestamp; finished_at: Timestamp | null };
export type WebhookDeliveryList = { data: readonly (WebhookDelivery)[]; pagination: Pagination };
export type WebhookList = { data: readonly (Webhook)[]; pagination: Pagination };
export type WebhookUpdate = { url?: string; events?: readonly ("resource.created" | "resource.updated" | "resource.deleted" | "resource.near_expiry" | "resource.expired" | "access_key.created" | "access_key.revoked" | "approval.requested" | "webhook.disabled")[]; /** Only events in these vaults are sent; null for all vaults. */ vault_ids?: readonly (Id)[] | null; name?: Name; enabled?: boolean };
/** A webhook with its signing secret, which is shown once. */
export type WebhookWithSecret = { id: Id; /** Defaults to the host of the URL. */ name: string; url: string; events: readonly (string)[]; vault_ids: readonly (Id)[] | null; enabled: boolean; /** Why the service disabled the webhook; null if it did not. */ disabled_reason: "gone" | "failing" | null; /** Since when deliveries have failed; null if the newest attempt succeeded. */ failing_since: Timestamp | null; created_at: Timestamp; updated_at: Timestamp; /** The signing secret, returned only when it is created. */ secret: string };
export type Whoami = { /** What the caller authenticated as. */ kind: "api-key" | "member"; id: Id; name: string; organization: { id: Id; name: string }; /** The member who is signed in or to whom the API key belongs; null if it belongs to no member. */ member: { id: Id; email: string } | null; role: "owner" | "admin" | "editor" | "viewer" | "auditor" | "none"; /** The member’s roles in single vaults, granted directly or through groups. */ grants: readonly ({ vault_id: Id; role: "owner" | "admin" | "editor" | "viewer" | "auditor" })[]; scopes: readonly (string)[] | null; vault_ids: readonly (Id)[] | null; expiration_date: Timestamp | null };

export interface Operations {
  /** List resources, newest first. Requires the permission `vaults:read` and `secrets:read` and `keys:read` and `certificates:read`. */
  listResources: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; /** `name=value` */ tag?: string; /** `inactive` is not yet active; `deleted` lists the trash. */ state?: "active" | "inactive" | "expired" | "disabled" | "deleted"; /** Newest first by default. A minus sign reverses the order; resources without a date come last. */ sort?: "name" | "-name" | "state" | "-state" | "expires" | "-expires" | "version" | "-version" | "updated" | "-updated"; type?: "vault" | "secret" | "key" | "certificate" } }; answered: ResourceList };
  /** Create a resource of any type. Requires the permission `vaults:write` or `secrets:write` or `keys:write` or `certificates:write`. */
  createResource: { asked: { body: ResourceCreate }; answered: Resource };
  /** Get a resource of any type. Requires the permission `vaults:read` and `secrets:read` and `keys:read` and `certificates:read`. */
  getResource: { asked: { id: string }; answered: Resource };
  /** Update a resource of any type; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `vaults:write` or `secrets:write` or `keys:write` or `certificates:write`. */
  updateResource: { asked: { id: string; body: ResourceUpdate }; answered: Resource };
  /** Delete a resource of any type; it can be restored for 30 days. Requires the permission `vaults:write` or `secrets:write` or `keys:write` or `certificates:write`. */
  deleteResource: { asked: { id: string; query?: { /** Deletes permanently. Otherwise the resource can be restored for 30 days. */ purge?: "true" | "false" } }; answered: Deletion };
  /** Restore a deleted resource from the trash. Requires the permission `vaults:write` or `secrets:write` or `keys:write` or `certificates:write`. */
  restoreResource: { asked: { id: string }; answered: Resource };
  /** List vaults, newest first. Requires the permission `vaults:read`. */
  listVaults: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; /** `name=value` */ tag?: string; /** `inactive` is not yet active; `deleted` lists the trash. */ state?: "active" | "inactive" | "expired" | "disabled" | "deleted"; /** Newest first by default. A minus sign reverses the order; resources without a date come last. */ sort?: "name" | "-name" | "state" | "-state" | "expires" | "-expires" | "version" | "-version" | "updated" | "-updated" } }; answered: VaultList };
  /** Create a vault. Requires the permission `vaults:write`. */
  createVault: { asked: { body: VaultCreate }; answered: Vault };
  /** Get a vault. Requires the permission `vaults:read`. */
  getVault: { asked: { id: string }; answered: Vault };
  /** Update a vault; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `vaults:write`. */
  updateVault: { asked: { id: string; body: VaultUpdate }; answered: Vault };
  /** Delete a vault; it can be restored for 30 days. Requires the permission `vaults:write`. */
  deleteVault: { asked: { id: string; query?: { /** Deletes permanently. Otherwise the resource can be restored for 30 days. */ purge?: "true" | "false" } }; answered: Deletion };
  /** Count the resources in vaults. Requires the permission `vaults:read`. */
  countVaults: { asked: { query?: { /** Ids of vaults, separated by commas, at most 100. */ vault_ids?: string } }; answered: VaultCounts };
  /** List secrets, newest first. Requires the permission `secrets:read`. */
  listSecrets: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; /** `name=value` */ tag?: string; /** `inactive` is not yet active; `deleted` lists the trash. */ state?: "active" | "inactive" | "expired" | "disabled" | "deleted"; /** Newest first by default. A minus sign reverses the order; resources without a date come last. */ sort?: "name" | "-name" | "state" | "-state" | "expires" | "-expires" | "version" | "-version" | "updated" | "-updated" } }; answered: SecretList };
  /** Create a secret. Requires the permission `secrets:write`. */
  createSecret: { asked: { body: SecretCreate }; answered: Secret };
  /** Get a secret. Requires the permission `secrets:read`. */
  getSecret: { asked: { id: string }; answered: Secret };
  /** Update a secret; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `secrets:write`. */
  updateSecret: { asked: { id: string; body: SecretUpdate }; answered: Secret };
  /** Delete a secret; it can be restored for 30 days. Requires the permission `secrets:write`. */
  deleteSecret: { asked: { id: string; query?: { /** Deletes permanently. Otherwise the resource can be restored for 30 days. */ purge?: "true" | "false" } }; answered: Deletion };
  /** Create or update up to 100 secrets, each with its own outcome. Requires the permission `secrets:write`. */
  writeSecrets: { asked: { body: SecretsWrite }; answered: BulkAnswer };
  /** Reveal a secret’s value; recorded in the audit log before it is returned. Requires the permission `secrets:reveal`. */
  revealSecret: { asked: { id: string; body?: SecretReveal }; answered: RevealedSecret };
  /** List a secret’s versions, newest first. Requires the permission `secrets:read`. */
  listSecretVersions: { asked: { id: string; query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number } }; answered: VersionList };
  /** Roll back to an earlier version’s value, as a new version. Requires the permission `secrets:write`. */
  rollbackSecret: { asked: { id: string; body: SecretRollback }; answered: Secret };
  /** Reveal the values of up to 100 secrets; each is recorded in the audit log. Requires the permission `secrets:reveal`. */
  revealSecrets: { asked: { body: SecretsReveal }; answered: RevealedSecrets };
  /** Copy or move up to 100 secrets to another vault, each with its own outcome. Requires the permission `secrets:reveal` and `secrets:write`. */
  copySecrets: { asked: { body: SecretsCopy }; answered: BulkAnswer };
  /** Compare up to 100 values with those of a vault; recorded in the audit log, up to 1,200 values per minute. Requires the permission `secrets:reveal`. */
  compareSecrets: { asked: { body: SecretsCompare }; answered: ComparedSecrets };
  /** Compare the secrets of up to 8 vaults without revealing them. Requires the permission `secrets:read`. */
  compareVaults: { asked: { body: VaultsCompare }; answered: ComparedVaults };
  /** List keys, newest first. Requires the permission `keys:read`. */
  listKeys: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; /** `name=value` */ tag?: string; /** `inactive` is not yet active; `deleted` lists the trash. */ state?: "active" | "inactive" | "expired" | "disabled" | "deleted"; /** Newest first by default. A minus sign reverses the order; resources without a date come last. */ sort?: "name" | "-name" | "state" | "-state" | "expires" | "-expires" | "version" | "-version" | "updated" | "-updated" } }; answered: KeyList };
  /** Create a key. Requires the permission `keys:write`. */
  createKey: { asked: { body: KeyCreate }; answered: Key };
  /** Get a key. Requires the permission `keys:read`. */
  getKey: { asked: { id: string }; answered: Key };
  /** Update a key; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `keys:write`. */
  updateKey: { asked: { id: string; body: KeyUpdate }; answered: Key };
  /** Delete a key; it can be restored for 30 days. Requires the permission `keys:write`. */
  deleteKey: { asked: { id: string; query?: { /** Deletes permanently. Otherwise the resource can be restored for 30 days. */ purge?: "true" | "false" } }; answered: Deletion };
  /** Reveal a key’s PEM; recorded in the audit log before it is returned. Requires the permission `keys:reveal`. */
  revealKey: { asked: { id: string }; answered: RevealedKey };
  /** Rotate a key: new key material, as a new version. Requires the permission `keys:write`. */
  rotateKey: { asked: { id: string; body?: KeyRotation }; answered: Key };
  /** List a key’s versions, newest first. Requires the permission `keys:read`. */
  listKeyVersions: { asked: { id: string; query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number } }; answered: VersionList };
  /** Create a certificate signing request with a stored key. Requires the permission `certificates:write` and `keys:read`. */
  createSigningRequest: { asked: { id: string; body: SigningRequestCreate }; answered: SigningRequest };
  /** List certificates, newest first. Requires the permission `certificates:read`. */
  listCertificates: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; /** `name=value` */ tag?: string; /** `inactive` is not yet active; `deleted` lists the trash. */ state?: "active" | "inactive" | "expired" | "disabled" | "deleted"; /** Newest first by default. A minus sign reverses the order; resources without a date come last. */ sort?: "name" | "-name" | "state" | "-state" | "expires" | "-expires" | "version" | "-version" | "updated" | "-updated" } }; answered: CertificateList };
  /** Create a certificate. Requires the permission `certificates:write`. */
  createCertificate: { asked: { body: CertificateCreate }; answered: Certificate };
  /** Get a certificate. Requires the permission `certificates:read`. */
  getCertificate: { asked: { id: string }; answered: Certificate };
  /** Update a certificate; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `certificates:write`. */
  updateCertificate: { asked: { id: string; body: CertificateUpdate }; answered: Certificate };
  /** Delete a certificate; it can be restored for 30 days. Requires the permission `certificates:write`. */
  deleteCertificate: { asked: { id: string; query?: { /** Deletes permanently. Otherwise the resource can be restored for 30 days. */ purge?: "true" | "false" } }; answered: Deletion };
  /** List access keys, newest first. Requires the permission `access-keys:read`. */
  listAccessKeys: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; identity_id?: Id } }; answered: AccessKeyList };
  /** Create a vault access key. Requires the permission `access-keys:write` and `vaults:read`. */
  createAccessKey: { asked: { body: AccessKeyCreate }; answered: CreatedAccessKey };
  /** Get a vault access key. Requires the permission `access-keys:read`. */
  getAccessKey: { asked: { id: string }; answered: AccessKey };
  /** Update a vault access key; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `access-keys:write` and `vaults:read`. */
  updateAccessKey: { asked: { id: string; body: AccessKeyUpdate }; answered: AccessKey };
  /** Delete a vault access key. Requires the permission `access-keys:write`. */
  deleteAccessKey: { asked: { id: string }; answered: Deletion };
  /** List public tokens, newest first. Requires the permission `public-tokens:read`. */
  listPublicTokens: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id; key_id?: Id } }; answered: PublicTokenList };
  /** Create a public token. Requires the permission `public-tokens:write` and `keys:read`. */
  createPublicToken: { asked: { body: PublicTokenCreate }; answered: CreatedPublicToken };
  /** Get a public token. Requires the permission `public-tokens:read`. */
  getPublicToken: { asked: { id: string }; answered: PublicToken };
  /** Update a public token; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `public-tokens:write` and `keys:read`. */
  updatePublicToken: { asked: { id: string; body: PublicTokenUpdate }; answered: PublicToken };
  /** Delete a public token. Requires the permission `public-tokens:write`. */
  deletePublicToken: { asked: { id: string }; answered: Deletion };
  /** List api keys, newest first. Requires the permission `api-keys:read`. */
  listApiKeys: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string } }; answered: ApiKeyList };
  /** Create an API key. Requires the permission `api-keys:write`. */
  createApiKey: { asked: { body: ApiKeyCreate }; answered: CreatedApiKey };
  /** Get an API key. Requires the permission `api-keys:read`. */
  getApiKey: { asked: { id: string }; answered: ApiKey };
  /** Update an API key; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `api-keys:write`. */
  updateApiKey: { asked: { id: string; body: ApiKeyUpdate }; answered: ApiKey };
  /** Delete an API key. Requires the permission `api-keys:write`. */
  deleteApiKey: { asked: { id: string }; answered: Deletion };
  /** List members, newest first. Requires the permission `members:read`. */
  listMembers: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id } }; answered: MemberList };
  /** Create a member. Requires the permission `members:write`. */
  createMember: { asked: { body: MemberCreate }; answered: InvitedMember };
  /** Get a member. Requires the permission `members:read`. */
  getMember: { asked: { id: string }; answered: Member };
  /** Update a member; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `members:write`. */
  updateMember: { asked: { id: string; body: MemberUpdate }; answered: Member };
  /** Delete a member. Requires the permission `members:write`. */
  deleteMember: { asked: { id: string }; answered: Deletion };
  /** List groups, newest first. Requires the permission `members:read`. */
  listGroups: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; vault_id?: Id } }; answered: GroupList };
  /** Create a group of members. Requires the permission `members:write`. */
  createGroup: { asked: { body: GroupCreate }; answered: Group };
  /** Get a group of members. Requires the permission `members:read`. */
  getGroup: { asked: { id: string }; answered: Group };
  /** Update a group of members; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `members:write`. */
  updateGroup: { asked: { id: string; body: GroupUpdate }; answered: Group };
  /** Delete a group of members. Requires the permission `members:write`. */
  deleteGroup: { asked: { id: string }; answered: Deletion };
  /** Create a new invitation; the member is signed out and needs it to sign in again. Requires the permission `members:write`. */
  renewInvitation: { asked: { id: string }; answered: InvitedMember };
  /** Get who is calling: organization, member, role and expiry. Requires the permission `organization:read`. */
  whoAmI: { asked: {  }; answered: Whoami };
  /** Get the organization that the API key belongs to. Requires the permission `organization:read`. */
  getOrganization: { asked: {  }; answered: Organization };
  /** Rename the organization or change its plan. Requires the permission `organization:write`. */
  updateOrganization: { asked: { body: OrganizationUpdate }; answered: Organization };
  /** List identities, newest first. Requires the permission `identities:read`. */
  listIdentities: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string } }; answered: IdentityList };
  /** Create an identity. Requires the permission `identities:write` and `vaults:read`. */
  createIdentity: { asked: { body: IdentityCreate }; answered: Identity };
  /** Get an identity. Requires the permission `identities:read`. */
  getIdentity: { asked: { id: string }; answered: Identity };
  /** Update an identity; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `identities:write` and `vaults:read`. */
  updateIdentity: { asked: { id: string; body: IdentityUpdate }; answered: Identity };
  /** Delete an identity. Requires the permission `identities:write`. */
  deleteIdentity: { asked: { id: string }; answered: Deletion };
  /** List secret ids, newest first. Requires the permission `identities:read`. */
  listSecretIds: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; identity_id?: Id } }; answered: SecretIdList };
  /** Create a secret id of an identity. Requires the permission `identities:write` and `vaults:read`. */
  createSecretId: { asked: { body: SecretIdCreate }; answered: CreatedSecretId };
  /** Get a secret id of an identity. Requires the permission `identities:read`. */
  getSecretId: { asked: { id: string }; answered: SecretId };
  /** Update a secret id of an identity; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `identities:write` and `vaults:read`. */
  updateSecretId: { asked: { id: string; body: SecretIdUpdate }; answered: SecretId };
  /** Delete a secret id of an identity. Requires the permission `identities:write`. */
  deleteSecretId: { asked: { id: string }; answered: Deletion };
  /** List use rules, newest first. Requires the permission `use-rules:read`. */
  listUseRules: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string; secret_id?: Id; key_id?: Id; vault_id?: Id } }; answered: UseRuleList };
  /** Create a use rule. Requires the permission `use-rules:write` and `secrets:reveal`. */
  createUseRule: { asked: { body: UseRuleCreate }; answered: UseRule };
  /** Get a use rule. Requires the permission `use-rules:read`. */
  getUseRule: { asked: { id: string }; answered: UseRule };
  /** Update a use rule; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `use-rules:write` and `secrets:reveal`. */
  updateUseRule: { asked: { id: string; body: UseRuleUpdate }; answered: UseRule };
  /** Delete a use rule. Requires the permission `use-rules:write`. */
  deleteUseRule: { asked: { id: string }; answered: Deletion };
  /** Check whether the rules of a secret would allow a call, and why not; nothing is sent. Requires the permission `use-rules:write`. */
  checkUse: { asked: { body: UseCheck }; answered: UseVerdict };
  /** List predefined use rules for well-known services. Requires the permission `use-rules:read`. */
  listUsePresets: { asked: {  }; answered: UsePresetList };
  /** List calls that wait for an approval, newest first; with `state=all`, also all others. Requires the permission `approvals:read`. */
  listApprovals: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; state?: "pending" | "all"; vault_id?: Id } }; answered: ApprovalList };
  /** Get a call that waits for an approval, as it would be made. Requires the permission `approvals:read`. */
  getApproval: { asked: { id: string }; answered: Approval };
  /** List webhooks, newest first. Requires the permission `webhooks:read`. */
  listWebhooks: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; /** Part of a name, case-insensitive. */ q?: string } }; answered: WebhookList };
  /** Create a webhook. Requires the permission `webhooks:write`. */
  createWebhook: { asked: { body: WebhookCreate }; answered: WebhookWithSecret };
  /** Get a webhook. Requires the permission `webhooks:read`. */
  getWebhook: { asked: { id: string }; answered: Webhook };
  /** Update a webhook; omitted fields keep their values, and read-only fields may be sent unchanged. Requires the permission `webhooks:write`. */
  updateWebhook: { asked: { id: string; body: WebhookUpdate }; answered: Webhook };
  /** Delete a webhook. Requires the permission `webhooks:write`. */
  deleteWebhook: { asked: { id: string }; answered: Deletion };
  /** Send a test event to a webhook. Requires the permission `webhooks:write`. */
  testWebhook: { asked: { id: string }; answered: WebhookDelivery };
  /** Create a new signing secret for a webhook; the old one also signs for a day. Requires the permission `webhooks:write`. */
  rotateWebhookSecret: { asked: { id: string }; answered: WebhookWithSecret };
  /** List webhook deliveries, newest first. Requires the permission `webhooks:read`. */
  listWebhookDeliveries: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; /** Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable. */ as_of?: Id; webhook_id?: Id; event?: "resource.created" | "resource.updated" | "resource.deleted" | "resource.near_expiry" | "resource.expired" | "access_key.created" | "access_key.revoked" | "approval.requested" | "webhook.disabled" | "webhook.test"; state?: "pending" | "delivered" | "dead" } }; answered: WebhookDeliveryList };
  /** Get one delivery with its attempts. Requires the permission `webhooks:read`. */
  getWebhookDelivery: { asked: { id: string }; answered: WebhookDelivery };
  /** Redeliver an event under the same id. Requires the permission `webhooks:write`. */
  redeliverEvent: { asked: { id: string }; answered: WebhookDelivery };
  /** List vault requests, newest first. Requires the permission `logs:read`. */
  listRequestLogs: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; vault_id?: Id; access_key_id?: Id; status?: number; ip_address?: string; /** At or after this time. */ from?: string; /** Before this time. */ to?: string } }; answered: RequestLogList };
  /** Export vault requests as a stream of JSON Lines or CSV. Requires the permission `logs:read`. */
  exportRequestLogs: { asked: { query?: { vault_id?: Id; access_key_id?: Id; status?: number; ip_address?: string; /** At or after this time. */ from?: string; /** Before this time. */ to?: string; format?: "jsonl" | "csv" } }; answered: string };
  /** Get one entry of the request log. Requires the permission `logs:read`. */
  getRequestLog: { asked: { id: string }; answered: RequestLog };
  /** List the readers of a secret’s version, and when they last read it. Requires the permission `logs:read` and `secrets:read`. */
  listSecretReaders: { asked: { id: string; query?: { /** The current version by default. */ version?: number } }; answered: SecretReaders };
  /** List changes, reveals and refusals, newest first. Requires the permission `logs:read`. */
  listAuditLogs: { asked: { query?: { /** The page, starting at 1. */ page?: number; /** Records per page. */ limit?: number; action?: string; subject_id?: Id; /** The id of the member, API key or access key that acted. */ actor_id?: string; /** At or after this time. */ from?: string; /** Before this time. */ to?: string } }; answered: AuditLogList };
  /** Export changes, reveals and refusals as a stream of JSON Lines or CSV. Requires the permission `logs:read`. */
  exportAuditLogs: { asked: { query?: { action?: string; subject_id?: Id; /** The id of the member, API key or access key that acted. */ actor_id?: string; /** At or after this time. */ from?: string; /** Before this time. */ to?: string; format?: "jsonl" | "csv" } }; answered: string };
  /** Verify that no log entry was edited, removed or cut off. Requires the permission `logs:read`. */
  verifyLogs: { asked: {  }; answered: LogVerification };
  /** Get one entry of the audit log. Requires the permission `logs:read`. */
  getAuditLog: { asked: { id: string }; answered: AuditLog };
  /** Get an overview of reads, expiring resources and unused keys. Requires the permission `organization:read`. */
  getOverview: { asked: {  }; answered: Overview };
  /** Get the version, database engine, root key provider and log public key. Requires the permission `organization:read`. */
  getAbout: { asked: {  }; answered: About };
  /** Get the health and version of the service. Requires no API key. */
  getHealth: { asked: {  }; answered: Health };
}

export const operations = {
  listResources: 'GET /v1/resources',
  createResource: 'POST /v1/resources',
  getResource: 'GET /v1/resources/{id}',
  updateResource: 'PUT /v1/resources/{id}',
  deleteResource: 'DELETE /v1/resources/{id}',
  restoreResource: 'POST /v1/resources/{id}/restore',
  listVaults: 'GET /v1/vaults',
  createVault: 'POST /v1/vaults',
  getVault: 'GET /v1/vaults/{id}',
  updateVault: 'PUT /v1/vaults/{id}',
  deleteVault: 'DELETE /v1/vaults/{id}',
  countVaults: 'GET /v1/vaults/counts',
  listSecrets: 'GET /v1/secrets',
  createSecret: 'POST /v1/secrets',
  getSecret: 'GET /v1/secrets/{id}',
  updateSecret: 'PUT /v1/secrets/{id}',
  deleteSecret: 'DELETE /v1/secrets/{id}',
  writeSecrets: 'POST /v1/secrets/bulk',
  revealSecret: 'POST /v1/secrets/{id}/reveal',
  listSecretVersions: 'GET /v1/secrets/{id}/versions',
  rollbackSecret: 'POST /v1/secrets/{id}/rollback',
  revealSecrets: 'POST /v1/secrets/reveal',
  copySecrets: 'POST /v1/secrets/copy',
  compareSecrets: 'POST /v1/secrets/compare',
  compareVaults: 'POST /v1/vaults/compare',
  listKeys: 'GET /v1/keys',
  createKey: 'POST /v1/keys',
  getKey: 'GET /v1/keys/{id}',
  updateKey: 'PUT /v1/keys/{id}',
  deleteKey: 'DELETE /v1/keys/{id}',
  revealKey: 'POST /v1/keys/{id}/reveal',
  rotateKey: 'POST /v1/keys/{id}/rotate',
  listKeyVersions: 'GET /v1/keys/{id}/versions',
  createSigningRequest: 'POST /v1/keys/{id}/signing-request',
  listCertificates: 'GET /v1/certificates',
  createCertificate: 'POST /v1/certificates',
  getCertificate: 'GET /v1/certificates/{id}',
  updateCertificate: 'PUT /v1/certificates/{id}',
  deleteCertificate: 'DELETE /v1/certificates/{id}',
  listAccessKeys: 'GET /v1/access-keys',
  createAccessKey: 'POST /v1/access-keys',
  getAccessKey: 'GET /v1/access-keys/{id}',
  updateAccessKey: 'PUT /v1/access-keys/{id}',
  deleteAccessKey: 'DELETE /v1/access-keys/{id}',
  listPublicTokens: 'GET /v1/public-tokens',
  createPublicToken: 'POST /v1/public-tokens',
  getPublicToken: 'GET /v1/public-tokens/{id}',
  updatePublicToken: 'PUT /v1/public-tokens/{id}',
  deletePublicToken: 'DELETE /v1/public-tokens/{id}',
  listApiKeys: 'GET /v1/api-keys',
  createApiKey: 'POST /v1/api-keys',
  getApiKey: 'GET /v1/api-keys/{id}',
  updateApiKey: 'PUT /v1/api-keys/{id}',
  deleteApiKey: 'DELETE /v1/api-keys/{id}',
  listMembers: 'GET /v1/members',
  createMember: 'POST /v1/members',
  getMember: 'GET /v1/members/{id}',
  updateMember: 'PUT /v1/members/{id}',
  deleteMember: 'DELETE /v1/members/{id}',
  listGroups: 'GET /v1/groups',
  createGroup: 'POST /v1/groups',
  getGroup: 'GET /v1/groups/{id}',
  updateGroup: 'PUT /v1/groups/{id}',
  deleteGroup: 'DELETE /v1/groups/{id}',
  renewInvitation: 'POST /v1/members/{id}/invitation',
  whoAmI: 'GET /v1/whoami',
  getOrganization: 'GET /v1/organization',
  updateOrganization: 'PUT /v1/organization',
  listIdentities: 'GET /v1/identities',
  createIdentity: 'POST /v1/identities',
  getIdentity: 'GET /v1/identities/{id}',
  updateIdentity: 'PUT /v1/identities/{id}',
  deleteIdentity: 'DELETE /v1/identities/{id}',
  listSecretIds: 'GET /v1/secret-ids',
  createSecretId: 'POST /v1/secret-ids',
  getSecretId: 'GET /v1/secret-ids/{id}',
  updateSecretId: 'PUT /v1/secret-ids/{id}',
  deleteSecretId: 'DELETE /v1/secret-ids/{id}',
  listUseRules: 'GET /v1/use-rules',
  createUseRule: 'POST /v1/use-rules',
  getUseRule: 'GET /v1/use-rules/{id}',
  updateUseRule: 'PUT /v1/use-rules/{id}',
  deleteUseRule: 'DELETE /v1/use-rules/{id}',
  checkUse: 'POST /v1/use-rules/check',
  listUsePresets: 'GET /v1/use-rules/presets',
  listApprovals: 'GET /v1/approvals',
  getApproval: 'GET /v1/approvals/{id}',
  listWebhooks: 'GET /v1/webhooks',
  createWebhook: 'POST /v1/webhooks',
  getWebhook: 'GET /v1/webhooks/{id}',
  updateWebhook: 'PUT /v1/webhooks/{id}',
  deleteWebhook: 'DELETE /v1/webhooks/{id}',
  testWebhook: 'POST /v1/webhooks/{id}/test',
  rotateWebhookSecret: 'POST /v1/webhooks/{id}/rotate-secret',
  listWebhookDeliveries: 'GET /v1/webhook-deliveries',
  getWebhookDelivery: 'GET /v1/webhook-deliveries/{id}',
  redeliverEvent: 'POST /v1/webhook-deliveries/{id}/redeliver',
  listRequestLogs: 'GET /v1/request-logs',
  exportRequestLogs: 'GET /v1/request-logs/export',
  getRequestLog: 'GET /v1/request-logs/{id}',
  listSecretReaders: 'GET /v1/secrets/{id}/readers',
  listAuditLogs: 'GET /v1/audit-logs',
  exportAuditLogs: 'GET /v1/audit-logs/export',
  verifyLogs: 'GET /v1/audit-logs/verification',
  getAuditLog: 'GET /v1/audit-logs/{id}',
  getOverview: 'GET /v1/overview',
  getAbout: 'GET /v1/about',
  getHealth: 'GET /v1/health',
} as const;
