/** Use rules for well-known services, as a starting point: restrict the paths to what the agent needs. */
import type { UseMethod } from './use-names.ts';
import type { Placement } from './use-rules.ts';

export interface UsePreset {
  readonly id: string;
  readonly title: string;
  readonly hosts: readonly string[];
  readonly methods: readonly UseMethod[];
  readonly paths: readonly string[];
  readonly place: Placement;
  readonly request_headers: readonly string[];
  readonly response_headers?: readonly string[];
  readonly binary?: boolean;
  readonly gateway?: {
    readonly max_request: number;
    readonly max_response: number;
    readonly timeout: number;
  };
}

const mebibyte = 1024 * 1024;
/** For services that send events for as long as a model writes. */
const streaming = { max_request: 32 * mebibyte, max_response: 64 * mebibyte, timeout: 600 };
/** For repositories and packages. */
const files = { max_request: 512 * mebibyte, max_response: 2_048 * mebibyte, timeout: 1_800 };

const usual = ['accept', 'content-type'];
const reading = ['GET'] as const;
const readingAndWriting = ['GET', 'POST'] as const;
const everything = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

type Preset = Omit<UsePreset, 'place' | 'request_headers'> & Partial<UsePreset>;

const presets: readonly Preset[] = [
  {
    id: 'github',
    title: 'GitHub',
    hosts: ['api.github.com'],
    methods: everything,
    paths: ['/repos/OWNER/REPOSITORY/**'],
    request_headers: ['x-github-api-version'],
  },
  {
    id: 'gitlab',
    title: 'GitLab',
    hosts: ['gitlab.com'],
    methods: everything,
    paths: ['/api/v4/projects/PROJECT/**'],
    place: { type: 'header', name: 'private-token' },
  },
  {
    id: 'slack',
    title: 'Slack',
    hosts: ['slack.com'],
    methods: readingAndWriting,
    paths: ['/api/chat.postMessage', '/api/conversations.*'],
  },
  {
    id: 'stripe',
    title: 'Stripe',
    hosts: ['api.stripe.com'],
    methods: reading,
    paths: ['/v1/customers/**', '/v1/charges/**', '/v1/invoices/**'],
    request_headers: ['stripe-version', 'idempotency-key'],
  },
  {
    id: 'openai',
    title: 'OpenAI',
    hosts: ['api.openai.com'],
    methods: readingAndWriting,
    paths: ['/v1/responses', '/v1/chat/completions', '/v1/embeddings', '/v1/models'],
    gateway: streaming,
  },
  {
    id: 'anthropic',
    title: 'Anthropic',
    hosts: ['api.anthropic.com'],
    methods: readingAndWriting,
    paths: ['/v1/messages', '/v1/models'],
    place: { type: 'header', name: 'x-api-key' },
    request_headers: ['anthropic-version', 'anthropic-beta'],
    gateway: streaming,
  },
  {
    id: 'git',
    title: 'Git repositories on GitHub',
    hosts: ['github.com'],
    methods: readingAndWriting,
    paths: ['/OWNER/REPOSITORY.git/**', '/OWNER/REPOSITORY/**'],
    place: { type: 'basic', username: 'x-access-token' },
    request_headers: ['git-protocol'],
    binary: true,
    gateway: files,
  },
  {
    id: 'npm',
    title: 'npm packages',
    hosts: ['registry.npmjs.org'],
    methods: reading,
    paths: ['/**'],
    request_headers: ['npm-command', 'npm-scope'],
    response_headers: ['content-type', 'etag', 'last-modified'],
    binary: true,
    gateway: files,
  },
  {
    id: 'notion',
    title: 'Notion',
    hosts: ['api.notion.com'],
    methods: ['GET', 'POST', 'PATCH'],
    paths: ['/v1/pages/**', '/v1/databases/**', '/v1/search'],
    request_headers: ['notion-version'],
  },
  {
    id: 'linear',
    title: 'Linear',
    hosts: ['api.linear.app'],
    methods: ['POST'],
    paths: ['/graphql'],
    place: { type: 'header', name: 'authorization' },
  },
  {
    id: 'sentry',
    title: 'Sentry',
    hosts: ['sentry.io'],
    methods: ['GET', 'PUT'],
    paths: ['/api/0/organizations/ORGANIZATION/**', '/api/0/projects/ORGANIZATION/**'],
  },
  {
    id: 'cloudflare',
    title: 'Cloudflare',
    hosts: ['api.cloudflare.com'],
    methods: everything,
    paths: ['/client/v4/zones/ZONE/**'],
  },
  {
    id: 'vercel',
    title: 'Vercel',
    hosts: ['api.vercel.com'],
    methods: readingAndWriting,
    paths: ['/v6/deployments', '/v9/projects/**'],
  },
  {
    id: 'hugging-face',
    title: 'Hugging Face',
    hosts: ['huggingface.co'],
    methods: reading,
    paths: ['/api/models/**', '/api/datasets/**'],
  },
  {
    id: 'sendgrid',
    title: 'SendGrid',
    hosts: ['api.sendgrid.com'],
    methods: ['POST'],
    paths: ['/v3/mail/send'],
  },
  {
    id: 'twilio',
    title: 'Twilio',
    hosts: ['api.twilio.com'],
    methods: readingAndWriting,
    paths: ['/2010-04-01/Accounts/ACCOUNT/Messages.json'],
    place: { type: 'basic', username: 'ACCOUNT' },
  },
  {
    id: 'jira',
    title: 'Jira Cloud',
    hosts: ['your-site.atlassian.net'],
    methods: ['GET', 'POST', 'PUT'],
    paths: ['/rest/api/3/**'],
    place: { type: 'basic', username: 'you@example.com' },
  },
];

/** Most take a bearer token, and all of them the usual headers. */
export const usePresets: readonly UsePreset[] = presets.map(
  ({ place = { type: 'bearer' }, request_headers = [], ...preset }) => ({
    ...preset,
    place,
    request_headers: [...usual, ...request_headers],
  }),
);
