// The GitHub action (action.yml): sets the secrets of a vault as variables for the following steps. It runs on the
// runner's own Node and consists of this repository at the commit that `uses:` names. It uses nothing from the
// workspace: no package is installed, the working folder is the action's own, and its environment only has what a login
// needs.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const { env } = process;
const own = fileURLToPath(new URL('..', import.meta.url));
const command = fileURLToPath(new URL('strongroom.js', import.meta.url));

/** Variables that the runner provides, and that a network may require. */
const passed = [
  'ACTIONS_ID_TOKEN_REQUEST_URL',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'GITHUB_ACTIONS',
  'NODE_EXTRA_CA_CERTS',
];
const inputs = ['URL', 'IDENTITY', 'AUDIENCE', 'VAULT', 'ONLY'];
const given = [
  ...passed.map(name => [name, env[name]]),
  ...inputs.map(name => [`STRONGROOM_${name}`, env[`INPUT_${name}`]?.trim()]),
].filter(([, value]) => value);

const file = openSync(env.GITHUB_ENV, 'a');
const { status, error } = spawnSync(process.execPath, ['--', command, 'export', '--format', 'github'], {
  cwd: own,
  env: { HOME: own, ...Object.fromEntries(given) },
  stdio: ['ignore', file, 'inherit'],
});
closeSync(file);
if (error !== undefined) process.stderr.write(`strongroom: ${error.message}\n`);
process.exitCode = status ?? 1;
