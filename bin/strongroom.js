#!/usr/bin/env sh
':' /* # A no-op in a shell, and the start of a comment in JavaScript: a shell starts Node, which then can't act on our arguments.
# Node searches the arguments of a program for --env-file, up to a --, and for its own configuration file, up to the end. Either can load
# code from the current folder before our code runs. So -- comes first, and arguments that could name a configuration file are hidden
# behind a colon. test/node-arguments.test.ts tries every option of Node.
hide=
for arg do
  case $arg in --experimental-* | --*config-file*) hide=: ;; esac
done
if [ "$hide" ]; then
  for arg do
    set -- "$@" ":$arg"
    shift
  done
  set -- :: "$@"
fi
exec node -- "$0" "$@"
*/

// The entry point. A package contains compiled JavaScript; a checkout runs its TypeScript directly and caches the compiled
// code, because stripping types at every start would cost a third of the memory in use. Everything is imported after
// the version check, because an old runtime would fail on a missing export with a stack trace.
const oldest = 24;

if (Number.parseInt(process.versions.node, 10) < oldest) {
  process.stderr.write(`strongroom: requires Node.js ${oldest} or later; this is ${process.versions.node}\n`);
  process.exit(1);
}

const [, , first, ...hidden] = process.argv;
if (first === '::') process.argv.splice(2, Infinity, ...hidden.map(arg => arg.slice(1)));

const { existsSync } = await import('node:fs');
const { enableCompileCache } = await import('node:module');
const { fileURLToPath } = await import('node:url');

const compiled = new URL('../dist/src/main.js', import.meta.url);
const source = new URL('../src/main.ts', import.meta.url);

if (existsSync(source)) {
  const folder = fileURLToPath(new URL('../node_modules/.cache/strongroom', import.meta.url));
  enableCompileCache(folder);
  // For worker threads; a program started by `run` gets the environment unchanged.
  if (process.argv[2] !== 'run') process.env.NODE_COMPILE_CACHE = folder;
  await import(source.href);
} else {
  await import(compiled.href);
}
