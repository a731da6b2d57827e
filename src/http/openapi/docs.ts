/**
 * Serves the API documentation for programs (`/v1/openapi.json`) and people (`/docs`). The page and its viewer load
 * only from this service; the content security policy allows no other host, and credentials are not stored.
 */

import { createReadStream, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { once } from '../../base/memo.ts';
import { Failure } from '../../contract/errors.ts';
import type { RouteDescription } from '../routes/route.ts';
import { openApiDocument } from './document.ts';

/** The viewer sets styles on its elements, and needs only its own script. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API – Strongroom</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<script src="/docs/theme.js"></script>
<link rel="stylesheet" href="/docs/viewer.css">
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<header class="bar">
<a class="brand" href="/"><img src="/favicon.svg" alt="" width="24" height="24">Strongroom</a>
<nav aria-label="Main"><a href="/">Dashboard</a><a href="/v1/openapi.json">OpenAPI</a></nav>
</header>
<div id="api"></div>
<noscript>This page needs JavaScript. The OpenAPI document is at /v1/openapi.json.</noscript>
<script src="/docs/viewer.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** Applies the theme chosen in the dashboard, or the system's, before anything is drawn. */
const theme = `const system = matchMedia('(prefers-color-scheme: dark)');
function apply() {
  const chosen = localStorage.getItem('strongroom-theme');
  const isDark = chosen === 'dark' || (chosen !== 'light' && system.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  document.documentElement.classList.toggle('dark-mode', isDark);
}
apply();
system.addEventListener('change', apply);
`;

/** Opens the group of the vault endpoint, which comes first and which most programs use. */
const start = `const ui = window.SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: -1,
  persistAuthorization: false,
  validatorUrl: null,
  onComplete: () => location.hash === '' && ui.layoutActions.show(['operations-tag', 'vault endpoint'], true),
});
`;

export function mountDocs(app: FastifyInstance, routes: readonly RouteDescription[], version: string): void {
  const document = once(() => JSON.stringify(openApiDocument(routes, version)));
  app.get('/v1/openapi.json', async (_request, reply) => send(reply, 'application/json', document()));
  app.get('/docs', async (_request, reply) =>
    send(reply.header('content-security-policy', policy), 'text/html', page),
  );
  app.get('/docs/theme.js', async (_request, reply) => send(reply, 'text/javascript', theme));
  app.get('/docs/start.js', async (_request, reply) => send(reply, 'text/javascript', start));
  app.get('/docs/viewer.js', async (_request, reply) =>
    send(reply, 'text/javascript', viewer('swagger-ui-bundle.js')),
  );
  app.get('/docs/viewer.css', async (_request, reply) => send(reply, 'text/css', viewer('swagger-ui.css')));
}

function send(reply: FastifyReply, type: string, body: unknown): FastifyReply {
  return reply.header('content-type', `${type}; charset=utf-8`).send(body);
}

/** A package contains the viewer's two files; a checkout uses the installed dependency. */
function viewer(file: string) {
  const packed = fileURLToPath(new URL('../../../viewer/', import.meta.url));
  const folder = existsSync(packed) ? packed : installed();
  if (folder === null) throw new Failure('NOT_FOUND');
  return createReadStream(join(folder, file));
}

function installed(): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  } catch {
    return null;
  }
}
