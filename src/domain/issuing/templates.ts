/** What the template of each provider consists of; a field of another provider is refused instead of ignored. */
import { invalid } from '../../contract/errors.ts';
import type { Template } from '../../contract/issuers.ts';
import type { ProviderName } from '../../contract/names.ts';
import type { PostgresTemplate } from '../../issuers/postgresql.ts';
import { type RedisTemplate, refusedRule } from '../../issuers/redis.ts';

interface Templates {
  readonly postgresql: PostgresTemplate;
  readonly redis: RedisTemplate;
}

type Field = keyof Template;

/** The fields of each provider; the first is required. */
const fields: Readonly<Record<ProviderName, readonly [Field, ...Field[]]>> = {
  postgresql: ['member_of', 'connection_limit'],
  redis: ['rules'],
};

export function templateOf<P extends ProviderName>(provider: P, template: Template): Templates[P] {
  const [required] = fields[provider];
  for (const field of Object.keys(template) as Field[])
    if (!fields[provider].includes(field)) throw invalid(`template.${field}`, 'is not one of this provider');
  if (template[required] === undefined) throw invalid(`template.${required}`, 'is required');
  for (const rule of template.rules ?? []) {
    const reason = refusedRule(rule);
    if (reason !== null) throw invalid('template.rules', reason);
  }
  return template as Templates[P];
}
