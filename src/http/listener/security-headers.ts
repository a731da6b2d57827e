/** The security headers of every answer. */
import type { IncomingMessage } from 'node:http';

export const securityHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Sent if the service terminates TLS, so that browsers never connect without it again. A proxy sets this itself. */
const strictTransport = { 'Strict-Transport-Security': 'max-age=31536000' } as const;

/** A browser would apply a policy set by `localhost` to every other program on this machine that uses that name. */
const ownName = /^localhost(:|$)/i;

/** Converts the headers once, and not for each answer, to the form in which answers are written. */
export function headersOnEvery<Form>(
  encrypted: boolean,
  formOf: (headers: Readonly<Record<string, string>>) => Form,
): (request: Pick<IncomingMessage, 'headers'>) => Form {
  const usual = formOf(securityHeaders);
  if (!encrypted) return () => usual;
  const strict = formOf({ ...securityHeaders, ...strictTransport });
  return ({ headers }) => (ownName.test(headers.host ?? '') ? usual : strict);
}
