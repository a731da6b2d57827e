/**
 * Sends mail through the operator's SMTP server. The connection is encrypted (`smtps:`, or STARTTLS, which must succeed)
 * and the server's certificate is checked, unless the server is on this machine or the operator allows plain text.
 * Messages are plain text: they contain no files, no addresses to fetch, and no headers other than those set here.
 */
import { createTransport } from 'nodemailer';
import { isThisMachine } from '../base/this-machine.ts';

export interface SmtpSettings {
  /** `smtp:` or `smtps:`, without a password. */
  readonly url: string;
  readonly password: string | null;
  readonly from: string;
  /** Whether mail may be sent without encryption. */
  readonly mayBePlain: boolean;
}

export interface Mail {
  /** The same in every attempt. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** `refused`: the server will not accept this mail later either. */
export type MailResult = { readonly outcome: 'sent' | 'failed' | 'refused'; readonly reason: string };

export type MailSender = ReturnType<typeof mailSenderTo>;

const patience = 15_000;
const ports = { 'smtp:': 587, 'smtps:': 465 } as const;

/** How the server is connected to: exported for tests of what is required. */
export function connectionTo({ url, password, mayBePlain }: SmtpSettings) {
  const { protocol, hostname, port, username } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const encrypted = protocol === 'smtps:';
  const near = isThisMachine(host);
  return {
    host,
    port: port === '' ? ports[protocol as keyof typeof ports] : Number(port),
    secure: encrypted,
    requireTLS: !encrypted && !near && !mayBePlain,
    // A relay on this machine usually has no certificate for this name.
    ignoreTLS: !encrypted && near,
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' as const },
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: password ?? '' } }),
  };
}

export function mailSenderTo(settings: SmtpSettings) {
  const transport = createTransport({
    ...connectionTo(settings),
    pool: true,
    maxConnections: 2,
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  });
  const { address } = fromIn(settings.from);
  const host = address.slice(address.lastIndexOf('@') + 1);

  return {
    async send({ id, to, subject, text }: Mail): Promise<MailResult> {
      try {
        await transport.sendMail({
          messageId: `<${id}@${host}>`,
          from: fromIn(settings.from),
          to: { name: '', address: to },
          subject,
          text,
          headers: { 'Auto-Submitted': 'auto-generated' },
          textEncoding: 'quoted-printable',
        });
        return { outcome: 'sent', reason: '' };
      } catch (error) {
        return failureOf(error as SmtpError);
      }
    },

    close: (): void => transport.close(),
  };
}

interface SmtpError extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
}

/** Only about the recipient or the message is a refusal final: a wrong password or sender may be mended. */
function failureOf({ code, command, responseCode }: SmtpError): MailResult {
  const isFinal = (responseCode ?? 0) >= 500 && (command === 'RCPT TO' || command === 'DATA');
  // Messages of errors quote addresses and what the server said.
  const reason = [code ?? 'the connection failed', responseCode].filter(Boolean).join(' ');
  return { outcome: isFinal ? 'refused' : 'failed', reason };
}

/** `Name <address>`, or an address alone. */
export function fromIn(text: string): { readonly name: string; readonly address: string } {
  const [, name, address] = /^(.*?)\s*<([^<>]*)>$/.exec(text) ?? [null, '', text];
  return { name: name!, address: address! };
}
