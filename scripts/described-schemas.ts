/**
 * Writes down what each step of the migrations makes of the schema, on both engines: what the product compares
 * databases with. Run it after a step was added: `npm run described-schemas`; a test says when it is due.
 */
import { writeFileSync } from 'node:fs';
import { describedSchemas } from '../test/described-schemas.ts';
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';

await globalSetup();
const text = JSON.stringify(await describedSchemas(await freshDatabase()), null, 2);
writeFileSync(new URL('../src/store/integrity/described-schemas.json', import.meta.url), `${text}\n`);
await globalTeardown();
