/**
 * Reads OpenTelemetry's environment variables, which switch traces on. A setting that isn't supported is refused by
 * name, never replaced with another. Error messages don't repeat the values of variables.
 */

export interface TracingSettings {
  /** Where traces go. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How long one delivery may take, in milliseconds. */
  readonly patience: number;
  /** Resource attributes, sent with every batch. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: Sampler;
  /** The size of the queue, in spans. */
  readonly mostWaiting: number;
  readonly mostAtOnce: number;
  /** In milliseconds. */
  readonly sendEvery: number;
}

export interface Sampler {
  /** Whether the caller's sampling decision is followed. */
  readonly followsParent: boolean;
  /** The share of traces to sample: of those that start here, or of all if `followsParent` is false. */
  readonly ratio: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The message names the variable. */
export class BadVariable extends Error {}

/** Returns null if traces are off: no endpoint is set, or they are disabled. */
export function tracingSettingsIn(environment: Environment): TracingSettings | null {
  const given = (...names: string[]) => names.map(name => environment[name]?.trim()).find(text => text);
  if (given('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null;
  const exporter = given('OTEL_TRACES_EXPORTER') ?? 'otlp';
  const own = given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = given('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (exporter === 'none' || (own === undefined && base === undefined)) return null;
  if (exporter !== 'otlp') throw new BadVariable('OTEL_TRACES_EXPORTER must be otlp or none');
  const protocol = given('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/json';
  if (protocol !== 'http/json') throw new BadVariable('OTEL_EXPORTER_OTLP_PROTOCOL must be http/json');
  const number = (fallback: number, ...names: string[]) => numberIn(names[0]!, given(...names), fallback);
  return {
    url: own === undefined ? under(base!) : addressIn('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', own).href,
    headers: pairsIn(
      'OTEL_EXPORTER_OTLP_HEADERS',
      given('OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS'),
    ),
    patience: number(10_000, 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'),
    resource: {
      ...pairsIn('OTEL_RESOURCE_ATTRIBUTES', given('OTEL_RESOURCE_ATTRIBUTES')),
      ...nameIn(given('OTEL_SERVICE_NAME'), given('OTEL_RESOURCE_ATTRIBUTES')),
    },
    sampler: samplerIn(given('OTEL_TRACES_SAMPLER'), given('OTEL_TRACES_SAMPLER_ARG')),
    mostWaiting: number(2_048, 'OTEL_BSP_MAX_QUEUE_SIZE'),
    mostAtOnce: number(512, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
    sendEvery: number(5_000, 'OTEL_BSP_SCHEDULE_DELAY'),
  };
}

function under(base: string): string {
  const url = addressIn('OTEL_EXPORTER_OTLP_ENDPOINT', base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`;
  return url.href;
}

function addressIn(name: string, given: string): URL {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new BadVariable(`${name} must be an address such as http://127.0.0.1:4318, without a password`);
  return url;
}

function numberIn(name: string, given: string | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  if (!/^[1-9]\d{0,6}$/.test(given)) throw new BadVariable(`${name} must be a whole number`);
  return Number(given);
}

/** `name=value,name=value`, with the values percent-encoded. */
function pairsIn(name: string, given: string | undefined): Record<string, string> {
  if (given === undefined) return {};
  try {
    const pairs = given.split(',').map(pair => {
      const [, key, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair)!;
      return [key!, decodeURIComponent(value!)] as const;
    });
    return Object.fromEntries(pairs);
  } catch {
    throw new BadVariable(`${name} must be pairs such as name=value,name=value`);
  }
}

function nameIn(given: string | undefined, attributes = ''): Record<string, string> {
  if (given !== undefined) return { 'service.name': given };
  return /(^|,)\s*service\.name\s*=/.test(attributes) ? {} : { 'service.name': 'strongroom' };
}

function samplerIn(given = 'parentbased_always_on', argument = '1'): Sampler {
  const [, parent, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(given) ?? [];
  if (kind === undefined)
    throw new BadVariable(
      'OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, optionally prefixed with parentbased_',
    );
  const followsParent = parent !== undefined;
  if (kind !== 'traceidratio') return { followsParent, ratio: kind === 'always_on' ? 1 : 0 };
  const ratio = Number(argument);
  if (!(ratio >= 0 && ratio <= 1)) throw new BadVariable('OTEL_TRACES_SAMPLER_ARG must be between 0 and 1');
  return { followsParent, ratio };
}
