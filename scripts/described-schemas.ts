/**
 * Records the schema after each migration, on both engines, which the product compares databases with. Run
 * `npm run described-schemas` after adding a migration; a test fails if it is out of date.
 */
import { writeFileSync } from 'node:fs';
import { describedSchemas } from '../test/described-schemas.ts';
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';

await globalSetup();
const text = JSON.stringify(await describedSchemas(await freshDatabase()), null, 2);
writeFileSync(new URL('../src/store/integrity/described-schemas.json', import.meta.url), `${text}\n`);
await globalTeardown();
