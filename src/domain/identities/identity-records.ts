/** The row of an identity: how it is created, changed and presented. */
import type { Egress } from '../../access/egress.ts';
import { invalid } from '../../contract/errors.ts';
import type { Identity, IdentityUpdate, LoginMethod } from '../../contract/identities.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import { authoritiesIn } from '../../material/client-certificate.ts';
import { keySetOf } from '../../material/web-token.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import type { Restrictions } from '../credentials/credential.ts';
import { presentRestrictions } from '../credentials/credential-records.ts';
import type { WrittenBy } from '../kernel/written-by.ts';
import type { ClaimPatterns } from './conditions.ts';

/** What a proof is checked against. */
export interface Trust {
  readonly issuer: string | null;
  readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } | null;
  readonly audience: string | null;
  readonly subjects: readonly string[] | null;
  readonly claims: ClaimPatterns;
  readonly single_use: boolean;
  readonly ca_pem: string | null;
}

/** What the access keys that it is issued can see. */
export type Granted = Restrictions & {
  readonly vault_ids: readonly string[];
  readonly written_by?: WrittenBy;
};

export const noTrust: Trust = {
  issuer: null,
  jwks: null,
  audience: null,
  subjects: null,
  claims: {},
  single_use: false,
  ca_pem: null,
};
const parts = Object.keys(noTrust) as (keyof Trust)[];

/** The fields that each method uses; all others must be empty. */
const takes: Readonly<Record<LoginMethod, readonly (keyof Trust)[]>> = {
  jwt: ['issuer', 'jwks', 'audience', 'subjects', 'claims', 'single_use'],
  certificate: ['ca_pem', 'subjects'],
  secret_id: [],
};

export function trustIn({ trust }: IdentityRow): Trust {
  return JSON.parse(trust) as Trust;
}

export function grantedIn({ narrowing }: IdentityRow): Granted {
  return JSON.parse(narrowing) as Granted;
}

/** Fields that the body omits don't change. */
export function changedTrust(before: Trust, body: IdentityUpdate): Trust {
  const sent = parts.filter(part => body[part] !== undefined).map(part => [part, body[part]]);
  return { ...before, ...Object.fromEntries(sent) };
}

/** Refuses conditions that no one or anyone could meet, and an issuer that can't be reached. */
export async function checkTrust(method: LoginMethod, trust: Trust, egress: Egress): Promise<void> {
  const stray = parts.find(part => !takes[method].includes(part) && !isEmpty(trust[part]));
  if (stray !== undefined) throw invalid(stray, `is not used by the method ${method}`);
  if (method === 'secret_id') return;
  if (trust.subjects === null) throw invalid('subjects', 'is required');
  if (isAnyone(trust)) throw invalid('subjects', 'must be more specific than *, unless claims are');
  if (method === 'certificate') checkAuthorities(trust.ca_pem);
  else await checkIssuer(trust, egress);
}

function isEmpty(value: Trust[keyof Trust]): boolean {
  return value === null || value === false || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** Every customer of a public issuer can get a token from it. */
function isAnyone({ subjects, claims }: Trust): boolean {
  const saysNothing = (pattern: string) => /^\*+$/.test(pattern);
  return subjects!.some(saysNothing) && Object.values(claims).every(patterns => patterns.some(saysNothing));
}

function checkAuthorities(pem: string | null): void {
  if (pem === null) throw invalid('ca_pem', 'is required');
  try {
    authoritiesIn(pem);
  } catch (error) {
    throw invalid('ca_pem', (error as Error).message);
  }
}

async function checkIssuer({ issuer, jwks, audience }: Trust, egress: Egress): Promise<void> {
  if (audience === null) throw invalid('audience', 'is required');
  if (jwks !== null) {
    await keySetOf(jwks).catch(error => {
      throw invalid('jwks', error.message);
    });
    return;
  }
  if (issuer === null) throw invalid('issuer', 'is required without jwks');
  const url = URL.parse(issuer);
  const refusal = url === null ? 'must be a URL' : egress.refusalOf(url);
  if (refusal !== null) throw invalid('issuer', refusal);
  if (url!.search !== '' || url!.hash !== '') throw invalid('issuer', 'must not have a query or a fragment');
}

export function presentIdentity(row: IdentityRow): Identity {
  const granted = grantedIn(row);
  return {
    id: row.id,
    name: row.name,
    method: row.method as LoginMethod,
    ...(JSON.parse(row.trust) as Pick<Identity, keyof Trust>),
    vault_ids: [...granted.vault_ids],
    ...presentRestrictions(granted),
    max_uses: row.max_uses,
    rate_limit: granted.rate_limit ?? null,
    lifetime: row.lifetime,
    expiration_date: isoOrNull(row.expiration_date),
    last_login_at: isoOrNull(row.last_login_at),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
