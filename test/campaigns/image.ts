/**
 * Builds the image's tree from its Dockerfile, step by step, in an empty folder, with the real registry, and serves from
 * it on a read-only root. `npm run campaign:image`; the tests run the last part alone. It needs root, and a network.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildStage, noBoxBecause, readDockerfile } from '../image.ts';
import { imageServes } from '../image-service.ts';

const obstacle = await noBoxBecause();
if (obstacle !== null) {
  console.error(`not run: ${obstacle}`);
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'strongroom-image-'));
try {
  const built: Record<string, string> = {};
  const stages = readDockerfile();
  for (const [at, stage] of stages.entries()) {
    const root = join(folder, String(at));
    console.log(`stage ${at}, from ${stage.base}`);
    await buildStage(stage, root, built, line => console.log(`  ${line}`));
    built[stage.name] = root;
  }
  const image = join(folder, String(stages.length - 1));
  console.log(execFileSync('du', ['-sh', 'app'], { cwd: image, encoding: 'utf8' }).trim());
  await imageServes(stages.at(-1)!, image);
  console.log('served: ready, on a read-only root, as the image’s user, without capabilities');
} finally {
  rmSync(folder, { recursive: true });
}
