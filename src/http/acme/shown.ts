/** Accounts, orders and authorizations as ACME clients see them. */
import { Failure } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import type { AcmeAccountView, AcmeOrderView } from '../../domain/authorities/acme.ts';

export function shownAccount({ id, state, contacts }: AcmeAccountView, base: string) {
  return { status: state, contact: JSON.parse(contacts) as string[], orders: `${base}/account/${id}/orders` };
}

function identifiersOf({ names }: AcmeOrderView) {
  return (JSON.parse(names) as string[]).map(text => {
    const [type, value] = text.split(' ');
    return { type: type!, value: value! };
  });
}

/** `replaces` is shown as the client named it. */
export function shownOrder(order: AcmeOrderView, base: string, replaces: string | null) {
  const { id, state, expires_at, certificate_id } = order;
  const identifiers = identifiersOf(order);
  return {
    status: state,
    expires: iso(expires_at),
    identifiers,
    authorizations: identifiers.map((_, at) => `${base}/authz/${id}.${at}`),
    finalize: `${base}/order/${id}/finalize`,
    ...(certificate_id !== null && { certificate: `${base}/cert/${id}` }),
    ...(replaces !== null && { replaces }),
  };
}

/** The binding and the profile’s names authorize, so there is nothing to prove for a name. */
export function shownAuthorization(order: AcmeOrderView, at: number) {
  const identifier = identifiersOf(order)[at];
  if (identifier === undefined) throw new Failure('NOT_FOUND');
  const isWildcard = identifier.value.startsWith('*.');
  return {
    identifier: { ...identifier, value: identifier.value.replace(/^\*\./, '') },
    status: 'valid',
    expires: iso(order.expires_at),
    challenges: [],
    ...(isWildcard && { wildcard: true }),
  };
}
