/** docs/command-line.md works as it stands: its commands are run by bash, in order, and print what the page says. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { binary, startTool, type Tool } from './tool.ts';

const execute = promisify(execFile);
const guide = readFileSync(new URL('../docs/command-line.md', import.meta.url), 'utf8');
const examples = [...guide.matchAll(/```sh\n([\s\S]*?)```(?:\n```text\n([\s\S]*?)```)?/g)]
  .map(([, script = '', shown]) => ({ script, shown }))
  .filter(({ script }) => !/sr_(vault|api)_\.\.\./.test(script));

describe('docs/command-line.md', () => {
  let tool: Tool;
  before(async () => {
    tool = await startTool({
      DATABASE_URL: 'postgres://app@db.internal/app',
      API_TOKEN: 'correct horse battery',
    });
  });
  after(() => tool.stop());

  it('every example works, one after the other, and prints what the page says', async () => {
    const cwd = join(tool.home, 'project');
    mkdirSync(cwd);
    const env = tool.environment({ STRONGROOM_API_KEY: tool.service.key });
    const strongroom = `strongroom() { '${process.execPath}' -- '${binary}' "$@"; }`;
    for (const { script, shown } of examples) {
      const options = { env, cwd, maxBuffer: 1e8 };
      const { stdout } = await execute('bash', ['-ec', `set -o pipefail\n${strongroom}\n${script}`], options);
      if (shown !== undefined) assert.equal(stdout, shown, script);
    }
    assert.ok(examples.length >= 5);
  });
});
