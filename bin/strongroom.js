#!/usr/bin/env node
// The way in. A package brings compiled JavaScript; a checkout runs its TypeScript as it stands, and keeps what
// the runtime made of it, because stripping types at every start costs a third of the memory that we use.
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const compiled = new URL('../dist/src/main.js', import.meta.url);
const source = new URL('../src/main.ts', import.meta.url);

if (existsSync(source)) {
  const folder = fileURLToPath(new URL('../node_modules/.cache/strongroom', import.meta.url));
  enableCompileCache(folder);
  process.env.NODE_COMPILE_CACHE = folder; // Worker threads look here.
  await import(source.href);
} else {
  await import(compiled.href);
}
