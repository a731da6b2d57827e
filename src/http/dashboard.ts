/**
 * Serves the built pages of the dashboard. The files are read once at the start and nothing else is served, so no path
 * can lead to any other file. Any other path that a browser navigates to gets the index page, which does its own
 * routing; a program that requests such a path gets 404. The pages may load nothing from another host.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../contract/errors.ts';

/** The same relative path works in a checkout and in the package, where both folders are under `dist`. */
export const builtPages = fileURLToPath(new URL('../../web/dist', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};
const compressed = new Set(['.html', '.js', '.css', '.svg', '.json', '.webmanifest', '.txt']);
const programs = /^\/(v1|api|auth|oauth|mcp|docs|metrics|livez|readyz|\.well-known)(\/|$)/i;
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');
const missing = Buffer.from(
  '<!doctype html><html lang="en"><title>Strongroom</title><h1>Strongroom</h1>' +
    '<p>The service runs, but its dashboard has not been built. In a checkout, run <code>npm run build:web</code> and start again.</p>',
);

interface Page {
  readonly type: string;
  readonly body: Buffer;
  readonly encodings: Map<string, Promise<Buffer>>;
  readonly compressible: boolean;
}

const brotli = promisify(brotliCompress);
const encoders: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  br: body => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: promisify(gzip) as (body: Buffer) => Promise<Buffer>,
};

type ServePage = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** `serve` handles reads that match no route; `index` serves the index page, for a path with other routes. */
export function dashboard(from: string): Readonly<Record<'serve' | 'index', ServePage>> {
  const pages = readPages(from);
  const index = pages.get('/index.html') ?? pageOf('.html', missing);
  const serve: ServePage = async (request, reply) => {
    const path = request.url.split('?')[0]!;
    if (programs.test(path)) throw new Failure('NOT_FOUND');
    const page = pages.get(path);
    if (page === undefined && !isPage(path, request)) throw new Failure('NOT_FOUND');
    reply.header('cache-control', cacheFor(path, page));
    return send(page ?? index, request, reply);
  };
  return { serve, index: (request, reply) => send(index, request, reply) };
}

/** A missing file does not get the index page: as a script, it would fail with a confusing error. */
function isPage(path: string, { headers }: FastifyRequest): boolean {
  return path === '/' || (extname(path) === '' && String(headers.accept).includes('text/html'));
}

/** Names below /assets contain a hash of the content. */
function cacheFor(path: string, page: Page | undefined): string {
  return page !== undefined && path.startsWith('/assets/')
    ? 'public, max-age=31536000, immutable'
    : 'no-store';
}

async function send(page: Page, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  reply.code(200).header('content-type', page.type).header('content-security-policy', policy);
  reply.header('cross-origin-opener-policy', 'same-origin').header('vary', 'accept-encoding');
  const accepted = String(request.headers['accept-encoding']);
  const encoding = page.compressible
    ? ['br', 'gzip'].find(name => new RegExp(`\\b${name}\\b`).test(accepted))
    : undefined;
  if (encoding === undefined) return reply.send(page.body);
  const body = page.encodings.get(encoding) ?? encoders[encoding]!(page.body);
  page.encodings.set(encoding, body);
  return reply.header('content-encoding', encoding).send(await body);
}

function readPages(from: string): Map<string, Page> {
  const pages = new Map<string, Page>();
  if (!existsSync(from)) return pages;
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const extension = extname(entry.name);
    if (!entry.isFile() || types[extension] === undefined) continue;
    pages.set(`/${relative(from, file).split(sep).join('/')}`, pageOf(extension, readFileSync(file)));
  }
  return pages;
}

function pageOf(extension: string, body: Buffer): Page {
  return { type: types[extension]!, body, encodings: new Map(), compressible: compressed.has(extension) };
}
