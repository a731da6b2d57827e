/**
 * Issuers and conditions for well-known platforms. This is plain data, which the API documentation, the dashboard and
 * the command line all offer.
 */

export interface IdentityPreset {
  readonly name: string;
  /** The display name. */
  readonly title: string;
  /** Parts in capitals must be replaced. */
  readonly issuer: string;
  readonly audience: string;
  readonly subjects: readonly string[];
  readonly claims: Readonly<Record<string, readonly string[]>>;
  /** Whether its keys are usually pasted, because they can't be fetched from outside. */
  readonly pastedKeys: boolean;
  readonly hint: string;
}

export const identityPresets = [
  {
    name: 'github-actions',
    title: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    audience: 'strongroom',
    subjects: ['repo:OWNER/REPOSITORY:ref:refs/heads/main'],
    claims: {},
    pastedKeys: false,
    hint: 'The job needs `permissions: id-token: write`. All repositories on GitHub have the same issuer, so name the owner and the repository; `repository_owner_id` and `repository_id` in the claims don’t change when they are renamed.',
  },
  {
    name: 'gitlab',
    title: 'GitLab CI/CD',
    issuer: 'https://gitlab.com',
    audience: 'strongroom',
    subjects: ['project_path:GROUP/PROJECT:ref_type:branch:ref:main'],
    claims: {},
    pastedKeys: false,
    hint: 'The job requests a token with `id_tokens` and sets its `aud`. All projects on gitlab.com have the same issuer; a self-managed GitLab is its own issuer.',
  },
  {
    name: 'kubernetes',
    title: 'Kubernetes service accounts',
    issuer: 'https://kubernetes.default.svc.cluster.local',
    audience: 'strongroom',
    subjects: ['system:serviceaccount:NAMESPACE:NAME'],
    claims: {},
    pastedKeys: true,
    hint: 'The pod mounts a projected token for this audience. `kubectl get --raw /.well-known/openid-configuration` shows the issuer, and `kubectl get --raw /openid/v1/jwks` prints its keys.',
  },
  {
    name: 'google',
    title: 'Google Cloud',
    issuer: 'https://accounts.google.com',
    audience: 'strongroom',
    subjects: ['SERVICE_ACCOUNT_UNIQUE_ID'],
    claims: { email: ['NAME@PROJECT.iam.gserviceaccount.com'] },
    pastedKeys: false,
    hint: 'The metadata server issues a token for the audience; its subject is the unique id of the service account.',
  },
  {
    name: 'aws',
    title: 'AWS',
    issuer: 'https://UUID.tokens.sts.global.api.aws',
    audience: 'strongroom',
    subjects: ['arn:aws:iam::ACCOUNT:role/ROLE'],
    claims: {},
    pastedKeys: false,
    hint: 'Each account has its own issuer once outbound identity federation is enabled; `aws sts get-web-identity-token` returns a token for the audience.',
  },
  {
    name: 'azure',
    title: 'Azure managed identities',
    issuer: 'https://login.microsoftonline.com/TENANT/v2.0',
    audience: 'APPLICATION_ID',
    subjects: ['OBJECT_ID_OF_THE_MANAGED_IDENTITY'],
    claims: { tid: ['TENANT'] },
    pastedKeys: false,
    hint: 'The audience is the id of an application registered in the tenant; version 1 tokens have the issuer https://sts.windows.net/TENANT/ instead.',
  },
  {
    name: 'spiffe',
    title: 'SPIFFE JWT-SVID',
    issuer: 'https://SPIRE_OIDC_DISCOVERY_PROVIDER',
    audience: 'strongroom',
    subjects: ['spiffe://TRUST_DOMAIN/WORKLOAD'],
    claims: {},
    pastedKeys: false,
    hint: 'If the trust domain’s tokens have no issuer, leave it out and paste the keys of its bundle.',
  },
] as const satisfies readonly IdentityPreset[];
