/** How a command of the command line is declared: its flags and arguments are read before it runs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { declaredLines } from '../scripts/cli-help.ts';
import { commands } from '../src/cli/commands.ts';
import { credentials } from '../src/cli/connection/own-credentials.ts';
import { helpLines } from '../src/cli/help-lines.ts';
import { commandOf } from '../src/cli/terminal/command.ts';
import { environmentTwin, flag } from '../src/service/settings/options.ts';
import { UsageError } from '../src/service/settings/report.ts';

function declared(more: { missing?: string; upTo?: number }) {
  const ran: unknown[] = [];
  const { run } = commandOf({
    usage: 'do THING',
    summary: 'does it',
    about: 'Does it.',
    options: { twice: flag('do it twice') },
    ...more,
    run: async ({ twice }, first, others) => void ran.push([twice, first, ...others]),
  });
  return { ran, run };
}

it('a command that declares no argument takes none, and runs with its flags', async () => {
  const { ran, run } = declared({});
  await run(['--twice']);
  await run([]);
  assert.deepEqual(ran, [
    [true, ''],
    [false, ''],
  ]);
  await assert.rejects(run(['thing']), UsageError);
});

it('a required argument is asked for by its own sentence, and is one unless more are declared', async () => {
  const { ran, run } = declared({ missing: 'a thing is required' });
  await assert.rejects(run(['--twice']), new UsageError('a thing is required'));
  await run(['thing']);
  await assert.rejects(run(['thing', 'other']), { message: 'the command takes at most 1 argument' });
  assert.deepEqual(ran, [[false, 'thing']]);
});

it('arguments beyond the first arrive in their order, as many as are declared', async () => {
  const { ran, run } = declared({ missing: 'a thing is required', upTo: 3 });
  await run(['a', 'b', 'c']);
  await assert.rejects(run(['a', 'b', 'c', 'd']), { message: 'the command takes at most 3 arguments' });
  assert.deepEqual(ran, [[false, 'a', 'b', 'c']]);
});

it('the lines of the help are those that the commands declare: npm run cli:help writes them', async () => {
  assert.deepEqual(helpLines, await declaredLines());
});

it('no flag takes its value from a variable that contains a credential, which it might print', async () => {
  const loaded = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => [name, (await load()).command.options] as const),
  );
  for (const [name, options] of loaded)
    for (const option of Object.keys(options))
      assert.ok(!(credentials as readonly string[]).includes(environmentTwin(option)), `${name} --${option}`);
});
