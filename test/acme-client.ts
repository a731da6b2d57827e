/** A small ACME client for the tests: a double for what certbot and others send, which can also send it wrongly. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

// biome-ignore lint/suspicious/noExplicitAny: bodies of answers are judged by what is read from them
type Json = any;

export interface AcmeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  readonly text: string;
}

interface Binding {
  readonly kid: string;
  readonly hmac_key: string;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');

export interface Forged {
  readonly header?: object;
  readonly key?: KeyObject;
  readonly body?: (sent: Json) => unknown;
  readonly type?: string;
}

export class AcmeClient {
  readonly directory: Json;
  pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  kid = '';

  constructor(directory: Json) {
    this.directory = directory;
  }

  static async at(url: string, profileId: string): Promise<AcmeClient> {
    const answer = await fetch(`${url}/acme/${profileId}/directory`);
    if (answer.status !== 200) throw new Error(`the directory answered ${answer.status}`);
    return new AcmeClient(await answer.json());
  }

  get jwk(): Json {
    return this.pair.publicKey.export({ format: 'jwk' });
  }

  async nonce(): Promise<string> {
    const { headers } = await fetch(this.directory.newNonce, { method: 'HEAD' });
    return headers.get('replay-nonce')!;
  }

  signed(header: object, payload: unknown, key = this.pair.privateKey): Json {
    const head = encode({ alg: 'ES256', ...header });
    const text = payload === null ? '' : encode(payload);
    const signature = sign('sha256', Buffer.from(`${head}.${text}`), { key, dsaEncoding: 'ieee-p1363' });
    return { protected: head, payload: text, signature: signature.toString('base64url') };
  }

  /** Null as payload reads. */
  async post(
    url: string,
    payload: unknown,
    { header = {}, key, body = sent => sent, type }: Forged = {},
  ): Promise<AcmeAnswer> {
    const identified = this.kid === '' ? { jwk: this.jwk } : { kid: this.kid };
    const nonce = await this.nonce();
    const sent = this.signed({ ...identified, nonce, url, ...header }, payload, key);
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': type ?? 'application/jose+json' },
      body: JSON.stringify(body(sent)),
    });
    const text = await answer.text();
    const isJson = /json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : null };
  }

  binding({ kid, hmac_key }: Binding, more: object = {}, jwk: Json = this.jwk): Json {
    const head = encode({ alg: 'HS256', kid, url: this.directory.newAccount, ...more });
    const payload = encode(jwk);
    const secret = Buffer.from(hmac_key, 'base64url');
    const signature = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
    return { protected: head, payload, signature };
  }

  async register(binding: Binding): Promise<AcmeAnswer> {
    const payload = { termsOfServiceAgreed: true, externalAccountBinding: this.binding(binding) };
    const answer = await this.post(this.directory.newAccount, payload);
    this.kid = answer.headers.get('location') ?? '';
    return answer;
  }

  async order(names: readonly string[], more: object = {}): Promise<AcmeAnswer> {
    const identifiers = names.map(value => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value }));
    return this.post(this.directory.newOrder, { identifiers, ...more });
  }

  async finalize(order: AcmeAnswer, csr?: string): Promise<AcmeAnswer> {
    const names = order.body.identifiers as { type: 'dns' | 'ip'; value: string }[];
    const { requestFor } = await import('./authorities-world.ts');
    const pem = csr ?? (await requestFor({ names }));
    const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64url');
    return this.post(order.body.finalize, { csr: der });
  }

  /** A certificate and those above it. */
  async obtain(names: readonly string[], more: object = {}): Promise<string> {
    const done = await this.finalize(await this.order(names, more));
    if (done.status !== 200) throw new Error(done.text);
    return (await this.post(done.body.certificate, null)).text;
  }
}
