/** Bounds of what is read and written by itself: at each of them nothing is refused, and one past it something is. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { linesOf } from '../src/backup/contents.ts';
import { recipientsOf } from '../src/backup/recipients.ts';
import { ask } from '../src/cli/connection/remote.ts';
import { write } from '../src/cli/vault/export-formats.ts';
import { parseYaml } from '../src/cli/vault/yaml.ts';
import { envLine } from '../src/contract/env-file.ts';
import { consentBody } from '../src/contract/oauth.ts';
import { pemBlocksIn } from '../src/contract/pem-blocks.ts';
import { issuersWith } from '../src/domain/identities/issuers.ts';
import { MinuteCounter } from '../src/domain/kernel/minute-counter.ts';
import { codeAt, stepAt, stepOf } from '../src/domain/sign-in/totp.ts';
import { insertedInto } from '../src/domain/uses/json-insertion.ts';
import { unescapedViews } from '../src/egress/escapes.ts';
import { foldingFor, formsOf } from '../src/egress/value-forms.ts';
import { BodyLine } from '../src/http/listener/body-line.ts';
import { passphraseIdentity } from '../src/keyring/age/keys.ts';
import { logText } from '../src/logs/entries.ts';
import { parseAlternativeNames } from '../src/material/alternative-names.ts';
import {
  importCertificatePem,
  importPkcs12,
  issueServerCertificate,
  selfSign,
} from '../src/material/certificate.ts';
import { authoritiesIn } from '../src/material/client-certificate.ts';
import { readDer } from '../src/material/der.ts';
import { encodePassphrase, planDerivation, readSalt } from '../src/material/derivation.ts';
import { parseName } from '../src/material/distinguished-name.ts';
import { checkRsaPublic } from '../src/material/key-checks.ts';
import { generateKey, importKey } from '../src/material/key-material.ts';
import { keySetOf, provenClaims } from '../src/material/web-token.ts';
import { listenForScrapes } from '../src/metrics/listener.ts';
import { askService } from '../src/service/doctor/service.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { contextOf } from '../src/tracing/context.ts';
import {
  certificateBag,
  int,
  lockedSafe,
  macData,
  octets,
  pbes2,
  pbkdf2,
  pfx,
  plainSafe,
  scrypt,
  seq,
  unpem,
} from './der-build.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const said = async (work: () => unknown): Promise<string | null> => {
  try {
    await work();
    return null;
  } catch (error) {
    const { message, reason = '' } = error as Error & { reason?: string };
    return `${message} ${reason}`;
  }
};
/** Refused one past it, for this reason, and not at it for this one. */
async function bounded(what: RegExp, at: () => unknown, past: () => unknown): Promise<void> {
  assert.doesNotMatch((await said(at)) ?? '', what);
  assert.match((await said(past)) ?? 'nothing was refused', what);
}
const { pem: files } = vectors;
const text = (length: number) => 'x'.repeat(length);

describe('texts and files', () => {
  it('a line of a backup has 64 MiB, and not one byte more', async () => {
    const piece = Buffer.alloc(1024 * 1024, 0x61);
    async function* pieces(more: number) {
      for (let at = 0; at < 64; at++) yield piece;
      yield piece.subarray(0, more);
    }
    const read = (more: number) => async () => {
      for await (const _ of linesOf(pieces(more)));
    };
    await bounded(/a line that is too long/, read(0), read(1));
  });

  it('the passphrase of a backup has twelve characters, and not one fewer', async () => {
    const taken = (length: number) => () => recipientsOf({ keys: [], passphrase: 'é'.repeat(length) });
    await bounded(/at least 12 characters/, taken(12), taken(11));
  });

  it('a line for docker, and for all three readers, has 65,535 bytes, and not one more', async () => {
    const docker = (length: number) => () =>
      write('docker', [['N', text(length - 2)]], { header: '', name: '' } as never);
    await bounded(/can’t read a line that long/, docker(65_535), docker(65_536));
    assert.equal(envLine('N', text(65_533))?.length, 65_535);
    assert.equal(envLine('N', text(65_534)), null);
  });

  it('an answer to a command has 256 MiB, and not one byte more', async t => {
    const piece = Buffer.alloc(1024 * 1024);
    const server = createServer(async (_, response) => {
      for (let at = 0; at < 256; at++)
        if (!response.write(piece)) await new Promise(done => response.once('drain', done));
      response.end('x');
    }).listen(0, '127.0.0.1');
    t.after(() => server.close().closeAllConnections());
    await new Promise(done => server.once('listening', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    assert.match(
      (await said(() => ask(url, { method: 'GET', path: '/', key: null } as never))) ?? '',
      /too large/,
    );
  });

  it('labels of PEM without an end are a hundred, and behind them nothing is looked for', () => {
    const begun = (count: number) =>
      Array.from({ length: count }, (_, at) => `-----BEGIN L${at}-----\n`).join('') + files.leaf;
    assert.deepEqual([pemBlocksIn(begun(99)).length, pemBlocksIn(begun(100)).length], [1, 0]);
  });

  it('a list of secrets in YAML is a hundred levels deep below its first, and not one more', async () => {
    const nested = (depth: number) => () =>
      parseYaml(Array.from({ length: depth + 1 }, (_, at) => `${' '.repeat(at)}a:\n`).join(''));
    assert.equal(await said(nested(100)), null);
    assert.notEqual(await said(nested(101)), null);
  });

  it('a list of secrets in YAML has 16 MiB, and not one character more', async () => {
    const long = (length: number) => () => parseYaml(`a: ${text(length - 3)}`);
    assert.equal(await said(long(16 * 2 ** 20)), null);
    assert.match((await said(long(16 * 2 ** 20 + 1))) ?? '', /larger than 16 MiB/);
  });

  it('a text in the log has 256 characters, and not one more', () => {
    assert.equal(logText(text(256)).length, 256);
    assert.equal(logText(text(257)).length, 256);
    assert.equal(logText('é'.repeat(257)).length, 256);
  });

  it('the state of a trace has 512 characters, and one more says nothing', () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const state = (tracestate: string) =>
      contextOf({ traceparent, tracestate }, { followsParent: true, ratio: 1 })?.state;
    assert.equal(state(text(512)), text(512));
    assert.equal(state(text(513)), null);
  });

  it('addresses whose failures are counted are 20,000, and the next one takes the place of the first', () => {
    const attempts = new MinuteCounter(() => 0, 1);
    const address = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
    for (let at = 0; at < 20_000; at++) attempts.learn(address(at));
    assert.ok(attempts.blockedFor(address(0)) > 0);
    attempts.learn(address(20_000));
    assert.equal(attempts.blockedFor(address(0)), 0);
    assert.ok(attempts.blockedFor(address(1)) > 0);
  });

  it('the work of a passphrase is 2^20, and not twice that', async () => {
    const stanza = { type: 'scrypt', args: ['A'.repeat(22), '21'], body: Buffer.alloc(32) };
    assert.match((await said(() => passphraseIdentity('x')([stanza]))) ?? '', /work factor is too high/);
  });
});

describe('what is asked for over HTTP', () => {
  it('a consent lasts for thirty days, and not a second longer', async () => {
    const [id] = Object.values(consentBody.meta()!.example as { vault_id: string }).slice(1);
    const consent = (expires_in: number) => () =>
      consentBody.parse({ request: 'a=b', vault_id: id, scopes: ['secrets:read'], expires_in });
    await bounded(/expires_in/, consent(2_592_000), consent(2_592_001));
  });

  it('the answer that the doctor reads has 64 KiB, and not one byte more', async t => {
    const health = JSON.stringify({ version: '1', status: 'ok' });
    const ask = (length: number) => async () => {
      const server = createServer((_, response) => response.end(health.padEnd(length)));
      t.after(() => server.close().closeAllConnections());
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      await askService(readConfig(serveOptions, ['--port', String(port)], {}));
    };
    await bounded(/not Strongroom/, ask(65_536), ask(65_537));
  });

  it('connections to the metrics are 32 at a time, and the next is closed', async t => {
    const { url, close } = await listenForScrapes({ host: '127.0.0.1', port: 0 }, async () => 'x 1\n');
    t.after(close);
    const sockets = Array.from({ length: 33 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    const outcomes = await Promise.all(
      sockets.map(
        socket =>
          new Promise<string>(resolve => {
            socket.on('error', () => {}).once('close', () => resolve('closed'));
            socket.once('data', () => resolve('answered'));
            socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n');
          }),
      ),
    );
    assert.deepEqual(outcomes.toSorted(), [...Array<string>(32).fill('answered'), 'closed']);
  });
});

describe('what is done with a value', () => {
  it('a body that a value goes into is 100 levels deep, and not 101', async () => {
    const nested = (depth: number) => () =>
      insertedInto(Buffer.from(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`), ['b'], '"V"');
    await bounded(/more than 100 levels/, nested(100), nested(101));
  });

  it('escapes of escapes are read three times, and not a fourth', async () => {
    const views: string[] = [];
    for await (const view of unescapedViews(Buffer.from('%25252541'), async () => {}))
      views.push(String(view));
    assert.deepEqual(views, ['%252541', '%2541', '%41']);
  });

  it('a form of a value is looked for from eight characters on', () => {
    const lengths = (value: string) => formsOf(value, foldingFor([value])).map(form => form.text.length);
    assert.ok(
      lengths('k7Qz2Wm').every(length => length >= 8),
      'seven are too few',
    );
    assert.ok(lengths('k7Qz2WmP').includes(8));
  });
});

describe('lines and times', () => {
  it('bodies that are handled at once have 4 MiB together; 200 more wait, and the next is refused', async t => {
    const line = new BodyLine();
    const responses: ServerResponse[] = [];
    t.after(() => {
      for (const response of responses) response.emit('close');
    });
    const enter = (size: number) => {
      const request = new IncomingMessage(new Socket());
      request.headers['content-length'] = String(size);
      const response = new ServerResponse(request);
      responses.push(response);
      return line.enter(request, response, size);
    };
    /** What becomes of it now, without waiting for any time limit. */
    const outcome = (entered: Promise<void> | null) =>
      Promise.race([entered!.then(() => 'admitted', String), setImmediate('waits')]);
    const whole = 4 * 1024 * 1024;
    assert.equal(await outcome(enter(whole - 65_537)), 'admitted');
    assert.equal(await outcome(enter(65_538)), 'waits', 'one byte too much');
    responses.pop()!.emit('close');
    assert.equal(await outcome(enter(65_537)), 'admitted');
    for (let at = 0; at < 200; at++) assert.equal(await outcome(enter(65_537)), 'waits', String(at));
    assert.match(await outcome(enter(65_537)), /UNAVAILABLE|unavailable/i);
  });

  it('a one-time code is taken one step before and after its own, and not two', () => {
    const [seed, now] = [Buffer.alloc(20, 7), 1_800_000_000_000];
    const taken = (steps: number) => stepOf(seed, codeAt(seed, stepAt(now) + steps), now, 0) !== null;
    assert.deepEqual([-2, -1, 0, 1, 2].map(taken), [false, true, true, true, false]);
  });

  it('the keys of an issuer are fetched anew after five minutes, and believed for an hour', async () => {
    const { publicKey } = await generateKeyPair('ES256');
    const keys = { keys: [await exportJWK(publicKey)] };
    const issuer = 'https://issuer.example';
    let [time, fetched, isAway] = [1_000_000, 0, false];
    const fetchDocument = async (url: string) => {
      if (isAway) throw new Error('away');
      if (!url.endsWith('/keys')) fetched++;
      return url.endsWith('/keys') ? keys : { issuer, jwks_uri: `${issuer}/keys` };
    };
    const issuers = issuersWith({ fetchDocument, now: () => time });
    const ask = () => issuers.keysOf('organization', issuer);
    await ask();
    time += 5 * 60_000 - 1;
    await ask();
    assert.equal(fetched, 1);
    time += 1;
    await ask();
    assert.equal(fetched, 2);
    isAway = true;
    time += 60 * 60_000 - 1;
    await ask();
    time += 1;
    await assert.rejects(ask(), /can’t be fetched/);
  });
});

describe('tokens of issuers', () => {
  it('a token of an issuer has 8 KiB, its key set 100 keys, a minute of leeway and two days of life', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = await exportJWK(publicKey);
    const sets = (count: number) => () => keySetOf({ keys: Array(count).fill(jwk) });
    await bounded(/at most 100 keys/, sets(100), sets(101));
    const keys = await keySetOf({ keys: [jwk] });
    const now = 1_800_000_000;
    const rules = { audience: 'us', issuer: 'them', now: now * 1_000 };
    const long = (length: number) => () => provenClaims(text(length), null, rules);
    await bounded(/too long/, long(8192), long(8193));
    const token = (iat: number, exp: number) => async () => {
      const claims = new SignJWT({ sub: 's' }).setIssuer('them').setAudience('us');
      const signed = claims.setIssuedAt(iat).setExpirationTime(exp).setProtectedHeader({ alg: 'ES256' });
      return provenClaims(await signed.sign(privateKey), keys, rules);
    };
    assert.equal(await said(token(now + 60, now + 600)), null);
    await bounded(/future/, token(now + 60, now + 600), token(now + 61, now + 600));
    await bounded(/exp/, token(now, now - 59), token(now, now - 60));
    const life = 48 * 3_600 + 60;
    assert.equal(await said(token(now, now + life)), null);
    await bounded(/two days/, token(now, now + life), token(now, now + life + 1));
  });
});

describe('keys and certificates', () => {
  it('alternative names are 100, of 2,048 characters', async () => {
    const names = (count: number) => () => parseAlternativeNames(Array(count).fill('dns:a'), 'sans');
    await bounded(/more than 100 names/, names(100), names(101));
    const long = (length: number) => () => parseAlternativeNames([`uri:urn:${text(length - 4)}`], 'sans');
    assert.equal(await said(long(2048)), null);
    await bounded(/malformed uri name/, long(2048), long(2049));
  });

  it('a distinguished name has 1,024 characters, 16 parts, and 128 characters in each', async () => {
    const name =
      (...parts: string[]) =>
      () =>
        parseName(parts.join(','), 'subject');
    const parts = (count: number) => Array<string>(count).fill('DC=a');
    await bounded(/more than 16 parts/, name(...parts(16)), name(...parts(17)));
    const lengths = { L: 128, CN: 64, O: 64, OU: 64, C: 2, serialNumber: 64 };
    for (const [part, most] of Object.entries(lengths))
      await bounded(/too long/, name(`${part}=${'X'.repeat(most)}`), name(`${part}=${'X'.repeat(most + 1)}`));
    const longest = [...Array<string>(7).fill(`L=${text(128)}`), `L=${text(1024 - 7 * 131 - 2)}`];
    assert.equal(longest.join(',').length, 1024);
    await bounded(/longer than 1024/, name(...longest), name(...longest.slice(0, -1), `${longest.at(-1)}x`));
  });

  it('the days of a certificate are 36,500', async () => {
    const { pem } = await generateKey({ key_type: 'EC', curve: 'P-256' });
    const sign = (days: number) => () =>
      selfSign({ privatePem: pem, subject: 'CN=x', sans: [], notBefore: new Date(0), days });
    await bounded(/from 1 to 36500/, sign(36_500), sign(36_501));
  });

  it('an authority that signs is one certificate of 64 KiB', async () => {
    const { pem, publicPem } = await generateKey({ key_type: 'EC', curve: 'P-256' });
    const issue = (authorityPem: string) => () =>
      issueServerCertificate({
        ...{ authorityPem, authorityPrivatePem: pem, publicPem, names: ['localhost'] },
        ...{ notBefore: new Date(), days: 1 },
      });
    const filled = (length: number) => `${files.authority}${'\n'.repeat(length - files.authority.length)}`;
    await bounded(/larger than 65536/, issue(filled(65_536)), issue(filled(65_537)));
    await bounded(/more than 1 PEM/, issue(files.authority), issue(files.authority + files.leaf));
  });

  it('certificates in PEM are 32 blocks, of 256 KiB together', async () => {
    const read = (pem: string) => () => importCertificatePem(pem);
    await bounded(/more than 32 PEM/, read(files.leaf.repeat(32)), read(files.leaf.repeat(33)));
    const filled = (length: number) => `${files.leaf}${'\n'.repeat(length - files.leaf.length)}`;
    await bounded(/larger than 262144/, read(filled(262_144)), read(filled(262_145)));
  });

  it('authorities of an identity are 20', async () => {
    const read = (count: number) => () => authoritiesIn(files.authority.repeat(count));
    await bounded(/1 to 20 certificates/, read(20), read(21));
  });

  it('DER is 24 levels deep, and has 20,000 elements', async () => {
    const nested = (depth: number): Buffer => (depth === 0 ? seq() : seq(nested(depth - 1)));
    await bounded(
      /nested too deep/,
      () => readDer(nested(24)),
      () => readDer(nested(25)),
    );
    const wide = (count: number) => () => readDer(seq(...Array<Buffer>(count - 1).fill(int(1))));
    await bounded(/too many elements/, wide(20_000), wide(20_001));
  });

  it('costs of a passphrase: 1,024 characters, 1,024 bytes of salt, 64 MiB for scrypt', async () => {
    const phrase = (length: number) => () => encodePassphrase(text(length));
    await bounded(/longer than 1024/, phrase(1024), phrase(1025));
    const salt = (length: number) => () => readSalt(readDer(octets(Buffer.alloc(length))));
    await bounded(/salt that is too long/, salt(1024), salt(1025));
    const plan = (r: number) => () => planDerivation(readDer(scrypt(2 ** 16, r, 1)), 'pem');
    await bounded(/too much memory/, plan(8), plan(9));
  });

  it('an RSA key has 2,048 to 8,192 bits, and an exponent of 64', async () => {
    const odd = (bits: number) => (1n << BigInt(bits - 1)) | 1n;
    const check = (bits: number, exponent: bigint) => () =>
      checkRsaPublic(readDer(seq(int(odd(bits)), int(exponent))), 'pem');
    await bounded(/2048 to 8192/, check(2048, 65_537n), check(2047, 65_537n));
    await bounded(/2048 to 8192/, check(8192, 65_537n), check(8193, 65_537n));
    await bounded(/at most 64 bits/, check(2048, odd(64)), check(2048, odd(65)));
  });

  it('a key in PEM has 64 KiB, in 4 blocks', async () => {
    const read = (pem: string) => () => importKey(pem);
    const filled = (length: number) => `${files.pkcs8}${'\n'.repeat(length - files.pkcs8.length)}`;
    await bounded(/larger than 65536/, read(filled(65_536)), read(filled(65_537)));
    await bounded(/more than 4 PEM/, read(files.pkcs8.repeat(4)), read(files.pkcs8.repeat(5)));
  });

  it('a PKCS#12 file has 256 KiB and 64 bags', async () => {
    const open = (bytes: Buffer) => () => importPkcs12(bytes, 'x');
    await bounded(/larger than 262144/, open(Buffer.alloc(262_144)), open(Buffer.alloc(262_145)));
    const bags = (count: number) =>
      pfx(
        seq(plainSafe(...Array<Buffer>(count).fill(certificateBag(unpem(files.leaf))))),
        macData(Buffer.alloc(32), Buffer.alloc(8), 1),
      );
    await bounded(/more than 64 bags/, open(bags(64)), open(bags(65)));
  });

  it('a PKCS#12 file asks for three million rounds altogether, and not one more', async () => {
    const locked = (rounds: number) => lockedSafe(pbes2(pbkdf2(rounds)), Buffer.alloc(16));
    const open = (last: number) => () =>
      importPkcs12(
        pfx(
          seq(locked(1_000_000), locked(1_000_000), locked(last)),
          macData(Buffer.alloc(32), Buffer.alloc(8), 1),
        ),
        'x',
      );
    await bounded(/too high in total/, open(999_999), open(1_000_000));
  });
});
