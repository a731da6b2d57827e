/** A mail server on loopback: it accepts what it is sent, unless a test says otherwise, and keeps it. */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { atTheLatest } from './ending.ts';
import { until } from './receiver.ts';

export interface Received {
  readonly to: string;
  readonly from: string;
  readonly headers: ReadonlyMap<string, string>;
  /** Decoded. */
  readonly text: string;
  readonly raw: string;
}

export interface MailServer {
  readonly port: number;
  readonly mails: Received[];
  /** The credentials of those who signed in. */
  readonly users: string[];
  /** Called with each recipient: an error refuses it. */
  refuse: (to: string) => Error | null;
  received(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const mails: Received[] = [];
  const users: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    ...options,
    onAuth: ({ username, password }, _session, done) => {
      users.push(`${username} ${password}`);
      done(null, { user: username });
    },
    onRcptTo: ({ address }, _session, done) => done(mailServer.refuse(address)),
    onData: (stream, { envelope }, done) => {
      let raw = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        raw += chunk;
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = envelope;
        mails.push({ ...parsed(raw), from: mailFrom ? mailFrom.address : '', to: rcptTo[0]!.address });
        done();
      });
    },
  });
  server.on('error', () => {}); // A client that gives up, as some tests want it to.
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const mailServer: MailServer = {
    port: (server.server.address() as AddressInfo).port,
    mails,
    users,
    refuse: () => null,
    received: async count => {
      await until(
        () => mails.length >= count,
        20_000,
        () => `${mails.length} mails`,
      );
      return mails;
    },
    close: atTheLatest(() => new Promise<void>(resolve => server.close(() => resolve()))),
  };
  return mailServer;
}

function parsed(raw: string): Pick<Received, 'headers' | 'text' | 'raw'> {
  const at = raw.indexOf('\r\n\r\n');
  const unfolded = raw.slice(0, at).replaceAll(/\r\n[ \t]+/g, ' ');
  const headers = new Map(
    unfolded.split('\r\n').map(line => {
      const [name = '', ...rest] = line.split(': ');
      return [name.toLowerCase(), rest.join(': ')] as const;
    }),
  );
  const body = raw.slice(at + 4);
  const text =
    headers.get('content-transfer-encoding') === 'quoted-printable' ? fromQuotedPrintable(body) : body;
  return { headers, raw, text };
}

function fromQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
}
