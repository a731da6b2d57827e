/** Compiles to plain JavaScript and types under dist/, for the package. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
// The pages lie beside the code in the package as they do in a checkout.
if (existsSync('web/dist')) cpSync('web/dist', 'dist/web/dist', { recursive: true });
