/**
 * Hostile pages against a signed-in person: on another port of the same host, which browsers treat as the same site, and
 * on another host. They frame, send, open, listen, navigate and ask for passkeys, without success.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { callService } from '../harness.ts';
import {
  addAuthenticator,
  ask,
  type Fresh,
  launch,
  leave,
  open,
  setUp,
  startFresh,
  type Walk,
} from './browser.ts';

let browser: Browser;
let service: Fresh;
let hostile: Server;
let walk: Walk;
/** Another port of the service's host name, and another name of this machine. */
let origins: string[];

const pages = [
  '/',
  '/sign-in',
  '/device',
  '/approvals',
  '/oauth/authorize?client_id=x',
  '/settings/security',
];

before(async () => {
  [browser, service] = await Promise.all([launch(), startFresh(['--oauth', 'offered'])]);
  hostile = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Hostile</title><body>Hello</body>');
  });
  hostile.listen(0, '127.0.0.1');
  await once(hostile, 'listening');
  const { port } = hostile.address() as AddressInfo;
  origins = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
  walk = await open(browser, service.dashboardUrl);
  await addAuthenticator(walk);
  await setUp(walk.page, service);
});
after(async () => {
  await leave(browser);
  await service.stop();
  hostile.closeAllConnections();
  hostile.close();
});

/** Everything of the person that a page could change. */
async function state(): Promise<unknown> {
  const { page } = walk;
  await page.goto('/settings');
  const paths = [
    '/auth/sessions',
    '/auth/passkeys',
    '/auth/device/keys',
    '/auth/oauth/grants',
    '/v1/vaults',
    '/v1/api-keys',
  ];
  const found = [];
  for (const path of paths) {
    const { status, body } = await ask(page, 'GET', path);
    assert.equal(status, 200, path);
    found.push([path, body.data.map(({ id }: { id: string }) => id).sort()]);
  }
  return found;
}

async function onHostile<T>(run: (page: Page, origin: string) => Promise<T>): Promise<void> {
  const before = await state();
  for (const origin of origins) {
    const page = await walk.context.newPage();
    await page.goto(origin);
    await run(page, origin);
    await page.close();
  }
  assert.deepEqual(await state(), before, 'nothing has changed');
}

test('no page can be framed, so no click can be stolen', async () => {
  await onHostile(async page => {
    for (const path of pages) {
      const shown = await page.evaluate(async address => {
        const { document } = globalThis as unknown as { document: Json };
        const frame = document.createElement('iframe');
        frame.src = address;
        const loaded = new Promise(resolve => frame.addEventListener('load', resolve));
        document.body.append(frame);
        await loaded;
        try {
          return frame.contentDocument?.body?.innerText ?? 'another origin';
        } catch {
          return 'another origin';
        }
      }, service.dashboardUrl + path);
      const inside = page.frames().filter(frame => frame.url().startsWith(service.dashboardUrl));
      for (const frame of inside) assert.equal(await frame.locator('#root *').count(), 0, path);
      assert.notEqual(shown, 'Strongroom', path);
    }
  });
});

// biome-ignore lint/suspicious/noExplicitAny: the tests don't include the DOM's types
type Json = any;

test('requests from hostile pages read and change nothing, even with the person’s cookie', async () => {
  const { body: asked } = await callService(service.url, 'POST', '/auth/device', { host: 'hostile' });
  const sent: readonly (readonly [string, string, unknown])[] = [
    ['GET', '/auth/state', undefined],
    ['GET', '/v1/vaults', undefined],
    ['GET', '/auth/approvals/waiting', undefined],
    ['POST', '/v1/vaults', { name: 'hostile' }],
    ['POST', '/v1/api-keys', { name: 'hostile', role: 'owner' }],
    ['POST', '/auth/device/approve', { user_code: asked.user_code, role: 'owner' }],
    ['POST', '/auth/passkey/options', {}],
    ['POST', '/auth/proof/options', {}],
    ['POST', '/auth/sign-out', {}],
  ];
  await onHostile(async page => {
    for (const [method, path, body] of sent)
      for (const [mode, type] of [
        ['cors', 'application/json'],
        ['no-cors', 'text/plain'],
        ['cors', 'text/plain'],
      ] as const) {
        const read = await page.evaluate(
          async ([how, where, what, by, kind]) => {
            try {
              const answer = await fetch(where!, {
                method: how!,
                mode: by as 'cors',
                credentials: 'include',
                ...(what === null ? {} : { body: what!, headers: { 'content-type': kind! } }),
              });
              return answer.type === 'opaque' ? 'opaque' : await answer.text();
            } catch {
              return 'blocked';
            }
          },
          [
            method,
            service.dashboardUrl + path,
            body === undefined ? null : JSON.stringify(body),
            mode,
            type,
          ] as const,
        );
        assert.ok(['blocked', 'opaque'].includes(read), `${method} ${path}: ${read}`);
      }
  });
  service.clock.pass(3_000);
  const polled = await callService(service.url, 'POST', '/auth/device/token', {
    device_code: asked.device_code,
  });
  assert.equal(polled.body.status, 'pending');
});

test('forms that hostile pages submit are refused', async () => {
  await onHostile(async (page, origin) => {
    for (const path of ['/auth/sign-out', '/auth/device/approve', '/v1/vaults', '/auth/passkey'])
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
        await page.goto(origin);
        const answered = page.waitForResponse(answer => answer.request().method() === 'POST');
        await page.evaluate(
          ([action, kind]) => {
            const { document } = globalThis as unknown as { document: Json };
            const form = document.createElement('form');
            Object.assign(form, { action, method: 'POST', enctype: kind });
            const input = document.createElement('input');
            Object.assign(input, { name: '{"name":"hostile","x":"', value: '"}' });
            form.append(input);
            document.body.append(form);
            form.submit();
          },
          [service.dashboardUrl + path, type] as const,
        );
        // From another site, the cookie isn't sent at all.
        const status = (await answered).status();
        assert.ok([401, 403].includes(status), `${path} ${type}: ${status}`);
        await page.waitForURL(service.dashboardUrl + path);
      }
  });
});

test('a hostile page can neither read from nor write to a window that it opened', async () => {
  await onHostile(async page => {
    for (const path of pages) {
      const opened = page.waitForEvent('popup');
      await page.evaluate(address => {
        const target = globalThis as unknown as {
          heard: unknown[];
          opened: Json;
          open: Json;
          addEventListener: Json;
        };
        target.heard = [];
        target.addEventListener('message', (event: { data: unknown }) => target.heard.push(event.data));
        target.opened = target.open(address, 'victim', 'width=400,height=400');
      }, service.dashboardUrl + path);
      const popup = await opened;
      await popup.waitForLoadState('load');
      const seen = await page.evaluate(async () => {
        const target = globalThis as unknown as { heard: unknown[]; opened: Json };
        const tried: string[] = [];
        for (const what of ['document', 'localStorage', 'location.href']) {
          try {
            tried.push(String(what.split('.').reduce((at: Json, part) => at[part], target.opened)));
          } catch {
            tried.push('blocked');
          }
        }
        try {
          target.opened.postMessage({ type: 'approve', token: 'x' }, '*');
          target.opened.history?.back();
        } catch {
          // Not accessible to this page.
        }
        await new Promise(resolve => setTimeout(resolve, 100));
        return { tried, heard: target.heard };
      });
      assert.deepEqual(seen.heard, [], path);
      assert.ok(
        seen.tried.every(what => what === 'blocked' || what === 'undefined' || what === 'null'),
        seen.tried.join(),
      );
      const opener = await popup.evaluate('window.opener === null');
      assert.equal(opener, true, 'the opener is severed');
      await popup.close();
    }
  });
});

test('a passkey for the host, requested on another port, gives that page no session', async () => {
  const { page } = walk;
  await page.bringToFront(); // Browsers offer passkeys only to the page in front.
  await page.goto('/settings/security');
  await ask(page, 'POST', '/auth/proof', { password: 'correct horse battery' });
  const { body: options } = await ask(page, 'POST', '/auth/passkeys/options', {});
  const created = await page.evaluate(async given => {
    const { navigator, PublicKeyCredential } = globalThis as unknown as {
      navigator: Json;
      PublicKeyCredential: Json;
    };
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(given);
    return (await navigator.credentials.create({ publicKey })).toJSON();
  }, options);
  const added = await ask(page, 'POST', '/auth/passkeys', { name: 'Laptop', credential: created });
  assert.equal(added.status, 200, JSON.stringify(added.body));

  const [sameHost] = origins;
  const { host, origin } = new URL(sameHost!);
  const { body: challenge } = await callService(service.dashboardUrl, 'POST', '/auth/passkey/options', {});
  await page.goto(sameHost!);
  const stolen = await page.evaluate(async given => {
    const { navigator, PublicKeyCredential } = globalThis as unknown as {
      navigator: Json;
      PublicKeyCredential: Json;
    };
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(given);
    return (await navigator.credentials.get({ publicKey })).toJSON();
  }, challenge);
  assert.ok(stolen.response.signature, 'the browser signs: only the signed origin reveals the other port');
  for (const headers of [{}, { origin }, { origin, 'x-forwarded-host': host }]) {
    const answer = await callService(
      service.dashboardUrl,
      'POST',
      '/auth/passkey',
      { credential: stolen },
      null,
      headers,
    );
    assert.ok([401, 403].includes(answer.status), answer.text);
    assert.deepEqual(answer.headers.getSetCookie(), []);
  }
});
