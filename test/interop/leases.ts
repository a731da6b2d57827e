/** Short-lived credentials with hvac, from an issuer in a real PostgreSQL. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startLeases } from '../leases-world.ts';
import { globalSetup, globalTeardown } from '../postgres.ts';

const file = fileURLToPath(new URL('hvac_leases.py', import.meta.url));

/** Says what was run, or throws. */
export async function leasesWithHvac(python: string): Promise<string> {
  await globalSetup();
  try {
    const world = await startLeases('sqlite', true);
    try {
      const environment = { VAULT_ADDR: `${world.service.url}/vault`, READER: world.key };
      const options = { env: { ...process.env, ...environment }, timeout: 60_000 };
      return (await promisify(execFile)(python, [file], options)).stdout.trim();
    } finally {
      await world.close();
    }
  } finally {
    await globalTeardown();
  }
}
