/** The drawn paths of a read and of a write name files that exist. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const text = (file: string) => readFileSync(root + file, 'utf8');
const filesIn = (part: string) =>
  [...part.matchAll(/`((?:src|test|docs)\/[^`]+)`/g)].map(([, file]) => file!);

describe('docs/architecture.md', () => {
  const architecture = text('docs/architecture.md');

  it('names files that exist, as CONTRIBUTING.md does', () => {
    const named = [...filesIn(architecture), ...filesIn(text('CONTRIBUTING.md'))];
    assert.deepEqual(
      named.filter(file => !existsSync(root + file)),
      [],
    );
  });

  it('draws both paths in eight steps, each with its file', () => {
    const [planes, ...paths] = architecture.split(/^## /m).slice(1);
    assert.match(planes!, /^Three planes\n/);
    assert.equal(paths.length, 2);
    for (const path of paths) {
      const steps = path.match(/^\| \d .*$/gm) ?? [];
      assert.equal(steps.length, 8);
      for (const step of steps) assert.equal(filesIn(step.split('|')[3]!).length, 1, step);
    }
  });

  it('is linked from CONTRIBUTING.md', () => {
    assert.match(text('CONTRIBUTING.md'), /\]\(docs\/architecture\.md\)/);
  });
});
