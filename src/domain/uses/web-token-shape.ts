/** JSON Web Tokens that a key signs: what a rule requires of their claims, and the part that is signed. */
import { invalid } from '../../contract/errors.ts';
import type { UseRule } from '../../contract/use-rules.ts';

type Shape = NonNullable<UseRule['jwt']>;

export interface WantedToken {
  readonly alg: string;
  readonly kid: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The form that the rule requires; null for any claims. */
  readonly shape: Shape | null;
  /** In milliseconds. */
  readonly now: number;
}

/** How far the clocks of two machines may differ, in seconds. */
const leeway = 60;

/** The header and claims in the form that is signed, encoded in base64url once more. */
export function tokenPart({ alg, kid, claims, shape, now }: WantedToken): string {
  if (shape !== null) checkClaims(claims, shape, now / 1000);
  const header = { alg, kid, typ: shape?.typ ?? 'JWT' };
  const parts = [header, claims].map(part => Buffer.from(JSON.stringify(part), 'utf8').toString('base64url'));
  return Buffer.from(parts.join('.'), 'utf8').toString('base64url');
}

function checkClaims({ iss, aud, iat, exp }: WantedToken['claims'], shape: Shape, now: number): void {
  if (iss !== shape.issuer) throw invalid('claims', 'must have the issuer of the rule as iss');
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (audiences.length === 0 || !audiences.every(one => shape.audiences.includes(one))) {
    throw invalid('claims', 'must have only audiences of the rule as aud');
  }
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) {
    throw invalid('claims', 'must have iat and exp, in seconds');
  }
  const [from, to] = [iat as number, exp as number];
  const isNow = Math.abs(from - now) <= leeway;
  if (!isNow || to <= from || to - from > shape.longest_lifetime) {
    throw invalid(
      'claims',
      `must have the current time as iat, and exp at most ${shape.longest_lifetime} seconds later`,
    );
  }
}
