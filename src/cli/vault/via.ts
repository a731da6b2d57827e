/**
 * `run --via`: the variables by which an unchanged program calls a service through the gateway. It gets the gateway's
 * address, and in place of the service's key an access key that reads no values and soon ends: that of a run, or a
 * restricted one.
 */
import { narrow } from '../../client/narrow.ts';
import { longestRun, usualRun } from '../../contract/run-bounds.ts';
import type { Environment } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import type { Settings } from '../connection/settings.ts';
import { durationIn } from '../terminal/dates.ts';
import type { Masked } from '../terminal/mask.ts';

export interface Via {
  /** One of those below, or the beginning of the names of variables. */
  readonly program: string;
  /** The name or id of a use rule. */
  readonly rule: string;
}

interface ViaOptions {
  readonly via: readonly Via[];
  readonly 'via-for': string | null;
  /** The access key of its run, if it has one. */
  readonly 'run-key'?: string | null;
}

interface Given {
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: readonly Masked[];
}

interface Call {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string;
}

type Variables = (call: Call) => Record<string, string>;

const programs: Readonly<Record<string, Variables>> = {
  anthropic: ({ url, key }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
  github: ({ url, key }) => ({ GITHUB_API_URL: url, GITHUB_TOKEN: key }),
  'hugging-face': ({ url, key }) => ({ HF_ENDPOINT: url, HF_TOKEN: key }),
  npm: ({ url, key }) => ({
    npm_config_registry: `${url}/`,
    [`npm_config_${url.replace(/^https?:/, '')}/:_authToken`]: key,
    // Packages are downloaded from the registry's own address otherwise, and without the key.
    npm_config_replace_registry_host: 'always',
  }),
  openai: ({ url, key }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key }),
  pypi: ({ url, key }) => ({ PIP_INDEX_URL: `${withPassword(url, key)}/simple` }),
  stripe: ({ url, key }) => ({ STRIPE_API_BASE: url, STRIPE_API_KEY: key }),
};

export async function viaVariables(
  { url, accessKey }: Settings,
  values: ViaOptions,
  inherited: Environment,
): Promise<Given> {
  if (values.via.length === 0) return { variables: {}, secrets: [] };
  if (accessKey === null) throw new UsageError('--via requires an access key that may use secrets');
  const expiresInSeconds = lifetimeIn(values['via-for']);
  const key = values['run-key'] ?? (await narrow(accessKey, { namesOnly: true, expiresInSeconds })).token;
  const base = url.replace(/\/+$/, '');
  const calls = values.via.map(via => ({ ...via, url: `${base}/via/${encodeURIComponent(via.rule)}`, key }));
  const settings = calls.filter(({ program }) => program === 'git');
  return {
    variables: {
      ...Object.assign({}, ...calls.filter(({ program }) => program !== 'git').map(variablesOf)),
      ...gitVariables(settings, inherited),
    },
    secrets: [{ name: 'STRONGROOM_ACCESS_KEY', value: key }],
  };
}

/** In seconds. */
export function lifetimeIn(given: string | null): number {
  if (given === null) return usualRun;
  const milliseconds = durationIn(given);
  if (milliseconds === null) throw new UsageError('--via-for must be a duration such as 90s, 10m or 8h');
  const seconds = Math.ceil(milliseconds / 1_000);
  if (seconds > longestRun) throw new UsageError('--via-for must be at most 30 days');
  return seconds;
}

function variablesOf({ program, ...call }: Call & Via): Record<string, string> {
  const known = Object.hasOwn(programs, program) ? programs[program] : undefined;
  if (known !== undefined) return known(call);
  const name = program.toUpperCase().replaceAll('-', '_');
  return { [`${name}_BASE_URL`]: call.url, [`${name}_API_KEY`]: call.key };
}

function withPassword(url: string, password: string): string {
  return url.replace('://', `://strongroom:${password}@`);
}

/** Addresses of GitHub are replaced by the gateway's, after whatever the environment configures already. */
function gitVariables(calls: readonly Call[], inherited: Environment): Record<string, string> {
  if (calls.length === 0) return {};
  const pairs = calls.flatMap(({ url, key }): [string, string][] => [
    [`url.${url}/.insteadOf`, 'https://github.com/'],
    [`url.${url}/.insteadOf`, 'git@github.com:'],
    [
      `http.${url}/.extraHeader`,
      `Authorization: Basic ${Buffer.from(`strongroom:${key}`).toString('base64')}`,
    ],
    [`credential.${url}/.helper`, ''],
  ]);
  const first = Number.parseInt(inherited.GIT_CONFIG_COUNT ?? '0', 10) || 0;
  const named = pairs.flatMap(([key, value], at): [string, string][] => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  // Without a terminal to ask at, a refusal must not wait for a password.
  return {
    GIT_CONFIG_COUNT: String(first + pairs.length),
    GIT_TERMINAL_PROMPT: '0',
    ...Object.fromEntries(named),
  };
}
