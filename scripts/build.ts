/** Compiles to plain JavaScript and types under dist/, with the dashboard's pages, for the package. */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { minifySync } from 'rolldown/utils';
import { buildWeb } from './build-web.ts';

rmSync('dist', { recursive: true, force: true });
// The JavaScript has no comments, which are a tenth of the package. Only the client's types can be imported, and they
// keep theirs, for editors.
execFileSync('tsc', ['-p', 'tsconfig.build.json', '--removeComments'], { stdio: 'inherit' });
execFileSync('tsc', ['-p', 'src/client'], { stdio: 'inherit' });
finishTypes();
removeWhitespace();
await buildWeb();
// The relative path from dist/src to the pages is the same as from src: two folders up.
cpSync('web/dist', 'dist/web/dist', { recursive: true });

// The viewer of /docs, with its licence and without the rest of its package.
for (const file of [
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css',
  'LICENSE',
  'NOTICE',
]) {
  cpSync(`node_modules/swagger-ui-dist/${file}`, `dist/viewer/${file}`);
}

/** Whitespace is a tenth of the service’s code. Names stay, for stack traces; the client stays as it is, for debuggers. */
function removeWhitespace(): void {
  for (const file of globSync('dist/src/**/*.js', { exclude: ['dist/src/client/**'] })) {
    const options = { module: true, compress: false, mangle: false };
    const { code, errors } = minifySync(file, readFileSync(file, 'utf8'), options);
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
    writeFileSync(file, code);
  }
}

/** Older compilers look for the file names that are used here. */
function finishTypes(): void {
  for (const file of globSync('dist/src/client/*.d.ts'))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
}
