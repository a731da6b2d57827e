/** A vault whose secrets are used and never seen: an upstream on loopback that echoes in every form, and an agent's key. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Answer, callService, type EngineName, type Service, startService } from './harness.ts';

export const value = 'ghp_7Qx2mZr9"Lk&4Tn/8Vb+cW1sYd6Hf3Jg0Ae5';
export const secretName = 'GITHUB_TOKEN';

/** How an upstream may write what it was sent. */
export const encodings: Readonly<Record<string, (text: string) => string | Buffer>> = {
  raw: text => text,
  json: text => JSON.stringify({ token: text }),
  'json twice': text => JSON.stringify(JSON.stringify({ token: text })),
  'json escapes': text =>
    `"${[...text].map(char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
  html: text =>
    `<b>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')}</b>`,
  'html numbers': text => [...text].map(char => `&#${char.charCodeAt(0)};`).join(''),
  'html hex': text => [...text].map(char => `&#x${char.charCodeAt(0).toString(16)};`).join(''),
  percent: text => encodeURIComponent(text),
  'percent of all': text =>
    [...Buffer.from(text)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  'percent twice': text => encodeURIComponent(encodeURIComponent(text)),
  form: text => new URLSearchParams({ token: text }).toString(),
  hex: text => Buffer.from(text).toString('hex'),
  'upper hex': text => Buffer.from(text).toString('hex').toUpperCase(),
  'hex dump': text => [...Buffer.from(text)].map(byte => byte.toString(16).padStart(2, '0')).join(' '),
  'escaped bytes': text =>
    [...Buffer.from(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  decimal: text => JSON.stringify([...Buffer.from(text)]),
  octal: text => [...Buffer.from(text)].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  binary: text => [...Buffer.from(text)].map(byte => byte.toString(2).padStart(8, '0')).join(' '),
  base64: text => Buffer.from(text).toString('base64'),
  'base64 behind one': text => Buffer.from(`x${text}`).toString('base64'),
  'base64 behind two': text => Buffer.from(`xy${text}z`).toString('base64'),
  base64url: text => Buffer.from(text).toString('base64url'),
  'base64 in lines': text => Buffer.from(text).toString('base64').replace(/.{8}/g, '$&\r\n'),
  'base64 twice': text => Buffer.from(Buffer.from(text).toString('base64')).toString('base64'),
  'base64 of hex': text => Buffer.from(Buffer.from(text).toString('hex')).toString('base64'),
  'utf-16': text => Buffer.from(text, 'utf16le'),
  'utf-16 the other way': text => Buffer.from(text, 'utf16le').swap16(),
  'base64 of utf-16': text => Buffer.from(text, 'utf16le').toString('base64'),
  'upper case': text => text.toUpperCase(),
  'lower case': text => text.toLowerCase(),
  backwards: text => [...text].reverse().join(''),
  spaced: text => [...text].join(' '),
  'as a list': text => JSON.stringify([...text]),
  'in lines': text => [...text].join('\r\n'),
  'in lines of others': text => [...text].join('\u200b'),
  'spaced by what is not ASCII': text => [...text].join('\u00a0'),
  'padded numbers of HTML': text => [...text].map(char => `&#00000${char.charCodeAt(0)};`).join(''),
  'escapes of all kinds': text =>
    [...text]
      .map((char, at) => {
        const hex = char.charCodeAt(0).toString(16).padStart(2, '0');
        return [`%${hex}`, `\\u00${hex}`, `&#x${hex};`, char][at % 4];
      })
      .join(''),
  base32: text => base32Of(Buffer.from(text)),
  'base32 behind three': text => base32Of(Buffer.from(`xyz${text}z`)),
  'hex of base64': text => Buffer.from(Buffer.from(text).toString('base64')).toString('hex'),
  'first half': text => text.slice(0, Math.ceil(text.length / 2)),
  'second half': text => text.slice(Math.floor(text.length / 2)),
  'most of it': text => text.slice(3, -3),
};

function base32Of(bytes: Buffer): string {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('');
  return bits.replace(
    /.{1,5}/g,
    five => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five.padEnd(5, '0'), 2)]!,
  );
}

export const compressions: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: bytes => bytes,
  gzip: bytes => gzipSync(bytes),
  deflate: bytes => deflateSync(bytes),
  br: bytes => brotliCompressSync(bytes),
  zstd: bytes => zstdCompressSync(bytes),
  'gzip, br': bytes => brotliCompressSync(gzipSync(bytes)),
};

export interface Upstream {
  readonly host: string;
  readonly url: string;
  connections: number;
  readonly requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
  /** Overrides the answer to the paths below `/own`. */
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** What the upstream was sent of the value, wherever it was placed. */
function sentIn({ headers, url = '' }: IncomingMessage, body: string): string {
  const { authorization = '' } = headers;
  if (authorization.startsWith('Basic ')) {
    return Buffer.from(authorization.slice(6), 'base64').toString('utf8').split(':').slice(1).join(':');
  }
  const query = new URL(url, 'http://upstream').searchParams.get('key');
  if (query !== null) return query;
  if (headers['x-api-key'] !== undefined) return String(headers['x-api-key']);
  if (authorization !== '') return authorization.replace(/^Bearer /, '');
  try {
    return JSON.parse(body).auth.token;
  } catch {
    return new URLSearchParams(body).get('token') ?? '';
  }
}

export async function startUpstream(): Promise<Upstream> {
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8');
      const { method = '', url = '', headers } = request;
      upstream.requests.push({ method, url, headers, body });
      const parameters = new URL(url, 'http://upstream').searchParams;
      if (!url.startsWith('/echo')) return upstream.answer(request, body, response);
      const echoed = Buffer.from(encodings[parameters.get('as') ?? 'raw']!(sentIn(request, body)));
      const compression = parameters.get('by') ?? 'identity';
      const bytes = compressions[compression]!(
        Buffer.concat([Buffer.from('it is: '), echoed, Buffer.from(' .')]),
      );
      response.writeHead(Number(parameters.get('status') ?? 200), {
        'content-type': 'text/plain',
        ...(compression === 'identity' ? {} : { 'content-encoding': compression }),
      });
      if (!parameters.has('chunked')) return void response.end(bytes);
      for (const byte of bytes) response.write(Buffer.from([byte]));
      response.end();
    });
  });
  server.on('connection', () => {
    upstream.connections++;
  });
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const upstream: Upstream = {
    host,
    url: `http://${host}`,
    connections: 0,
    requests: [],
    answer: (_request, _body, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end('fine'),
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
  return upstream;
}

export interface UsesWorld {
  readonly service: Service;
  readonly upstream: Upstream;
  readonly vaultId: string;
  readonly secretId: string;
  readonly agent: string;
  readonly agentId: string;
  rule(more?: Record<string, unknown>): Promise<string>;
  use(call: Record<string, unknown>, key?: string | null): Promise<Answer>;
  stop(): Promise<void>;
}

export async function startUsesWorld(engine: EngineName, threads = false, readers = 1): Promise<UsesWorld> {
  const service = await startService({ engine, threads, readers });
  const upstream = await startUpstream();
  const vaultId = (await service.call('POST', '/v1/vaults', { name: 'production' })).body.id;
  const secret = await service.call('POST', '/v1/secrets', { vault_id: vaultId, name: secretName, value });
  const key = { vault_id: vaultId, name: 'agent', names_only: true, may_use: true };
  const { id: agentId, token: agent } = (await service.call('POST', '/v1/access-keys', key)).body;
  let rules = 0;
  return {
    service,
    upstream,
    vaultId,
    secretId: secret.body.id,
    agent,
    agentId,
    rule: async (more = {}) => {
      const { status, body, text } = await service.call('POST', '/v1/use-rules', {
        secret_id: secret.body.id,
        name: `rule ${++rules}`,
        hosts: [upstream.url],
        methods: ['GET', 'POST'],
        paths: ['/echo', '/own/**'],
        place: { type: 'bearer' },
        approval: 'never',
        rate_limit: null,
        ...more,
      });
      if (status !== 200) throw new Error(text);
      return body.id;
    },
    use: (call, token = agent) =>
      callService(
        service.url,
        'POST',
        `/api/v1/vaults/${vaultId}/use`,
        { secret: secretName, ...call },
        token,
      ),
    stop: async () => {
      await service.stop();
      await upstream.close();
    },
  };
}

/** Every form in which the value could be in a text, down to twelve of its letters and digits in a row. */
export function tracesIn(text: string): string[] {
  const bare = (from: string) => from.toLowerCase().replace(/[^a-z0-9]/g, '');
  const [held, plain] = [bare(text), bare(value)];
  const windows = Array.from({ length: plain.length - 11 }, (_, at) => plain.slice(at, at + 12));
  const found = windows.filter(part => held.includes(part));
  const forms = Object.entries(encodings).filter(([, write]) =>
    text.includes(write(value).toString('latin1')),
  );
  return [...found, ...forms.map(([name]) => name)];
}
