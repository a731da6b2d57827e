/** Tokens that are wrong in one way each. Whatever they say, they prove nothing. */
import { createHmac, createPublicKey, KeyObject, sign as signBytes } from 'node:crypto';
import type { JWTPayload } from 'jose';
import type { IssuerKey, TokenIssuer } from './token-issuer.ts';

export interface Zoo {
  readonly issuer: TokenIssuer;
  /** Another issuer, with keys of the same names. */
  readonly stranger: TokenIssuer;
  /** What a good token claims now. */
  readonly claims: JWTPayload;
  readonly rsa: IssuerKey;
  readonly ec: IssuerKey;
  readonly ed: IssuerKey;
  /** Published, but not to verify with. */
  readonly unfit: Readonly<Record<'encryption' | 'signing' | 'weak', IssuerKey>>;
}

type Make = (zoo: Zoo) => Promise<string> | string;

const encoded = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const unsigned = (header: unknown, payload: unknown) => `${encoded(header)}.${encoded(payload)}`;

/** A token whose header and payload are any text at all, with a good signature over them. */
function signedAnyway({ rsa }: Zoo, header: unknown, payload: unknown): string {
  const input = unsigned(header, payload);
  const key = { key: keyObject(rsa), padding: 1 };
  return `${input}.${signBytes('sha256', Buffer.from(input), key).toString('base64url')}`;
}

const keyObject = ({ privateKey }: IssuerKey) => KeyObject.from(privateKey as never);
const publicPem = ({ jwk }: IssuerKey) =>
  createPublicKey({ key: jwk as never, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();

function mac(bits: number, { claims, rsa }: Zoo, secret: string | Buffer, header: object = {}): string {
  const input = unsigned({ alg: `HS${bits}`, kid: rsa.kid, ...header }, claims);
  return `${input}.${createHmac(`sha${bits}`, secret).update(input).digest('base64url')}`;
}

const good = ({ issuer, claims }: Zoo) => issuer.sign(claims);
/** With one claim changed; undefined leaves it out. */
const claiming =
  (change: (claims: JWTPayload) => Record<string, unknown>): Make =>
  ({ issuer, claims }) =>
    issuer.sign({ ...claims, ...change(claims) } as JWTPayload);
const heading =
  (header: object): Make =>
  zoo =>
    signedAnyway(zoo, { alg: 'RS256', kid: zoo.rsa.kid, ...header }, zoo.claims);
const by =
  (key: (zoo: Zoo) => IssuerKey, header: object = {}): Make =>
  zoo =>
    zoo.issuer.sign(zoo.claims, header, key(zoo));
const edited =
  (edit: (token: string) => string): Make =>
  async zoo =>
    edit(await good(zoo));
const parts = (edit: (header: string, payload: string, signature: string) => string): Make =>
  edited(token => edit(...(token.split('.') as [string, string, string])));
const flipped = (text: string) => (text[0] === 'A' ? 'B' : 'A') + text.slice(1);

const signatures: Record<string, Make> = {
  'alg none': ({ claims }) => `${unsigned({ alg: 'none' }, claims)}.`,
  'alg none, with a signature': parts(
    (_, payload, signature) => `${encoded({ alg: 'none' })}.${payload}.${signature}`,
  ),
  'alg None': ({ claims }) => `${unsigned({ alg: 'None' }, claims)}.AA`,
  'alg NONE': ({ claims }) => `${unsigned({ alg: 'NONE' }, claims)}.AA`,
  'alg nOnE': ({ claims }) => `${unsigned({ alg: 'nOnE' }, claims)}.AA`,
  'no alg': zoo => signedAnyway(zoo, { kid: zoo.rsa.kid }, zoo.claims),
  'alg as a number': heading({ alg: 256 }),
  'alg as a list': heading({ alg: ['RS256'] }),
  'alg unheard of': heading({ alg: 'XX256' }),
  'alg in lower case': heading({ alg: 'rs256' }),
  'alg with a space': heading({ alg: 'RS256 ' }),
  'alg null': heading({ alg: null }),
  'alg of a curve that is not taken': heading({ alg: 'ES256K' }),
  'the public key as an HMAC secret': zoo => mac(256, zoo, publicPem(zoo.rsa)),
  'the public key as an HMAC secret, no newline': zoo => mac(256, zoo, publicPem(zoo.rsa).trim()),
  'the JWK as an HMAC secret': zoo => mac(256, zoo, JSON.stringify(zoo.rsa.jwk)),
  'the modulus as an HMAC secret': zoo => mac(256, zoo, Buffer.from(zoo.rsa.jwk.n!, 'base64url')),
  HS384: zoo => mac(384, zoo, publicPem(zoo.rsa)),
  HS512: zoo => mac(512, zoo, publicPem(zoo.rsa)),
  'an HMAC with no secret, and a kid that leads nowhere': zoo => mac(256, zoo, '', { kid: '../../dev/null' }),
  'no signature': parts((header, payload) => `${header}.${payload}.`),
  'a signature cut short': edited(token => token.slice(0, -8)),
  'a signature edited': parts((header, payload, signature) => `${header}.${payload}.${flipped(signature)}`),
  'a signature of something else': async zoo => {
    const [, , signature] = (await zoo.issuer.sign({ ...zoo.claims, sub: 'another' })).split('.');
    const [header, payload] = (await good(zoo)).split('.');
    return `${header}.${payload}.${signature}`;
  },
  'a payload edited': parts((header, payload, signature) => {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return `${header}.${encoded({ ...claims, admin: true })}.${signature}`;
  }),
  'a header edited': parts(
    (_, payload, signature) => `${encoded({ alg: 'RS256', kid: 'rsa', typ: 'JWT' })}.${payload}.${signature}`,
  ),
  'ES256 said of an RSA signature': heading({ alg: 'ES256', kid: 'ec' }),
  'PS256 said of a PKCS#1 signature': heading({ alg: 'PS256' }),
  'RS512 by a key for RS256': zoo => {
    const input = unsigned({ alg: 'RS512', kid: zoo.rsa.kid }, zoo.claims);
    return `${input}.${signBytes('sha512', Buffer.from(input), keyObject(zoo.rsa)).toString('base64url')}`;
  },
  'an ECDSA signature of zeros': ({ claims, ec }) =>
    `${unsigned({ alg: 'ES256', kid: ec.kid }, claims)}.${Buffer.alloc(64).toString('base64url')}`,
  'an ECDSA signature in DER': ({ claims, ec }) => {
    const input = unsigned({ alg: 'ES256', kid: ec.kid }, claims);
    return `${input}.${signBytes('sha256', Buffer.from(input), keyObject(ec)).toString('base64url')}`;
  },
  'an Ed25519 signature of zeros': ({ claims, ed }) =>
    `${unsigned({ alg: 'EdDSA', kid: ed.kid }, claims)}.${Buffer.alloc(64).toString('base64url')}`,
};

const keys: Record<string, Make> = {
  'another issuer’s key of the same name': ({ stranger, claims }) => stranger.sign(claims),
  'a key that is not published': heading({ kid: 'nobody' }),
  'no kid, where there are several keys': ({ issuer, claims }) => issuer.sign(claims, { kid: undefined }),
  'a kid that is a number': heading({ kid: 1 }),
  'a kid that is a list': heading({ kid: ['rsa'] }),
  'an empty kid': heading({ kid: '' }),
  'a kid with SQL': heading({ kid: "rsa' OR '1'='1" }),
  'the kid of a key of another type': heading({ kid: 'ec' }),
  'a key for encryption': by(({ unfit }) => unfit.encryption),
  'a key that may only sign': by(({ unfit }) => unfit.signing),
  'a key of 1024 bits': ({ claims, unfit: { weak } }) => {
    const input = unsigned({ alg: 'RS256', kid: weak.kid }, claims);
    return `${input}.${signBytes('sha256', Buffer.from(input), keyObject(weak)).toString('base64url')}`;
  },
  'a key that it brings along': zoo => zoo.stranger.sign(zoo.claims, { jwk: zoo.stranger.keys[0]!.jwk }),
  'a key at an address that it names': zoo =>
    zoo.stranger.sign(zoo.claims, { jku: `${zoo.stranger.url}/keys` }),
  'a certificate at an address that it names': zoo =>
    zoo.stranger.sign(zoo.claims, { x5u: zoo.stranger.url }),
  'a certificate that it brings along': zoo => zoo.stranger.sign(zoo.claims, { x5c: ['AAAA'] }),
};

const forms: Record<string, Make> = {
  'a space': () => ' ',
  'a word': () => 'token',
  'two dots': () => '..',
  'two parts': parts((header, payload) => `${header}.${payload}`),
  'four parts': edited(token => `${token}.AAAA`),
  'five parts, as if encrypted': edited(token => `${token}.AAAA.AAAA`),
  padding: edited(token => `${token}==`),
  'a newline at the end': edited(token => `${token}\n`),
  'a newline inside': parts((header, payload, signature) => `${header}.\n${payload}.${signature}`),
  'the other alphabet of base64': parts((header, payload, signature) =>
    [header, payload, `${Buffer.from(signature, 'base64url').toString('base64').replaceAll('=', '')}+/`].join(
      '.',
    ),
  ),
  'the word Bearer': edited(token => `Bearer ${token}`),
  'encoded dots': edited(token => token.replaceAll('.', '%2E')),
  'quotation marks': edited(token => `"${token}"`),
  'a zero at the end': edited(token => `${token}\0`),
  'the JSON form of a JWS': parts((header, payload, signature) =>
    JSON.stringify({ protected: header, payload, signature }),
  ),
  'more than 8 KiB': claiming(() => ({ padding: 'x'.repeat(7_000) })),
  'a header that is no JSON': zoo => signedAnyway(zoo, 'RS256', zoo.claims),
  'a header that is a list': zoo => signedAnyway(zoo, [{ alg: 'RS256', kid: zoo.rsa.kid }], zoo.claims),
  'a header that is null': zoo => signedAnyway(zoo, 'null', zoo.claims),
  'a payload that is no JSON': zoo => signedAnyway(zoo, { alg: 'RS256', kid: zoo.rsa.kid }, 'claims'),
  'a payload that is a list': zoo => signedAnyway(zoo, { alg: 'RS256', kid: zoo.rsa.kid }, [zoo.claims]),
  'a payload that is a string': zoo => signedAnyway(zoo, { alg: 'RS256', kid: zoo.rsa.kid }, '"claims"'),
  'a payload that is null': zoo => signedAnyway(zoo, { alg: 'RS256', kid: zoo.rsa.kid }, 'null'),
  'a token within a token': async zoo =>
    signedAnyway(zoo, { alg: 'RS256', kid: zoo.rsa.kid, cty: 'JWT' }, await good(zoo)),
  'a critical header that nobody knows': heading({ crit: ['exp'], exp: 1 }),
  'an empty list of critical headers': heading({ crit: [] }),
  'a payload that is not encoded': heading({ crit: ['b64'], b64: false }),
  'the type of a logout token': heading({ typ: 'logout+jwt' }),
  'the type of a proof of possession': heading({ typ: 'dpop+jwt' }),
};

const times: Record<string, Make> = {
  'no exp': claiming(() => ({ exp: undefined })),
  'exp two minutes ago': claiming(({ iat }) => ({ exp: iat! - 120 })),
  'exp in 1970': claiming(() => ({ exp: 1 })),
  'exp below zero': claiming(() => ({ exp: -1 })),
  'exp as text': claiming(({ exp }) => ({ exp: String(exp) })),
  'exp null': claiming(() => ({ exp: null })),
  'exp in a list': claiming(({ exp }) => ({ exp: [exp] })),
  'exp in milliseconds': claiming(({ exp }) => ({ exp: exp! * 1_000 })),
  'exp in a year': claiming(({ exp }) => ({ exp: exp! + 31_536_000 })),
  'exp beyond all numbers': zoo =>
    signedAnyway(
      zoo,
      { alg: 'RS256', kid: zoo.rsa.kid },
      JSON.stringify(zoo.claims).replace(/"exp":\d+/, '"exp":1e999'),
    ),
  'nbf in two minutes': claiming(({ iat }) => ({ nbf: iat! + 120 })),
  'nbf as text': claiming(({ iat }) => ({ nbf: String(iat) })),
  'iat in two minutes': claiming(({ iat }) => ({ iat: iat! + 120 })),
  'iat as text': claiming(({ iat }) => ({ iat: String(iat) })),
};

const claims: Record<string, Make> = {
  'no iss': claiming(() => ({ iss: undefined })),
  'iss with a slash': claiming(({ iss }) => ({ iss: `${iss}/` })),
  'iss in capitals': claiming(({ iss }) => ({ iss: iss!.toUpperCase() })),
  'iss of another': zoo => zoo.issuer.sign({ ...zoo.claims, iss: zoo.stranger.url }),
  'iss in a list': claiming(({ iss }) => ({ iss: [iss] })),
  'iss as a number': claiming(() => ({ iss: 1 })),
  'no aud': claiming(() => ({ aud: undefined })),
  'aud of another': claiming(() => ({ aud: 'vault' })),
  'aud that begins alike': claiming(() => ({ aud: 'strongroom.example' })),
  'aud in capitals': claiming(() => ({ aud: 'STRONGROOM' })),
  'aud empty': claiming(() => ({ aud: '' })),
  'aud of others': claiming(() => ({ aud: ['vault', 'sts'] })),
  'aud an empty list': claiming(() => ({ aud: [] })),
  'aud an object': claiming(() => ({ aud: { strongroom: true } })),
  'aud a number': claiming(() => ({ aud: 1 })),
  'no sub': claiming(() => ({ sub: undefined })),
  'sub empty': claiming(() => ({ sub: '' })),
  'sub a number': claiming(() => ({ sub: 7 })),
  'sub in a list': claiming(({ sub }) => ({ sub: [sub] })),
  'sub of another': claiming(() => ({ sub: 'repo:acme/other:ref:refs/heads/main' })),
  'sub in capitals': claiming(({ sub }) => ({ sub: sub!.toUpperCase() })),
  'sub with more before it': claiming(({ sub }) => ({ sub: `x${sub}` })),
  'sub that ends too early': claiming(() => ({ sub: 'repo:acme/sho' })),
  'sub with a space before it': claiming(({ sub }) => ({ sub: ` ${sub}` })),
  'sub that is the pattern of a pattern': claiming(() => ({ sub: '*' })),
  'a claim that is missing': claiming(() => ({ repository_owner_id: undefined })),
  'a claim of another': claiming(() => ({ repository_owner_id: '8' })),
  'a claim that begins alike': claiming(() => ({ repository_owner_id: '70' })),
  'a claim that is null': claiming(() => ({ repository_owner_id: null })),
  'a claim that is an object': claiming(() => ({ repository_owner_id: { 7: true } })),
  'a claim in a list of lists': claiming(() => ({ repository_owner_id: [['7']] })),
  'a claim in an empty list': claiming(() => ({ repository_owner_id: [] })),
  'a claim in another place': claiming(() => ({ 'kubernetes.io': {}, namespace: 'prod' })),
  'an inner claim of another': claiming(() => ({ 'kubernetes.io': { namespace: 'test' } })),
  'an inner claim in a list': claiming(() => ({ 'kubernetes.io': [{ namespace: 'prod' }] })),
  'an inner claim in a text': claiming(() => ({ 'kubernetes.io': '{"namespace":"prod"}' })),
};

export const wrongTokens: Readonly<Record<string, Make>> = {
  ...signatures,
  ...keys,
  ...forms,
  ...times,
  ...claims,
};
