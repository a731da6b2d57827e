/** docs/api.md works as it stands: its commands are run by a shell, in order, against a real service. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Json } from './document.ts';
import { type Service, startService } from './harness.ts';
import { shell } from './shell.ts';

const guide = await readFile(new URL('../docs/api.md', import.meta.url), 'utf8');
const commands = [...guide.matchAll(/```sh\n(curl[\s\S]*?)```/g)].map(match => match[1]!);

/** What a reader takes out of an answer for the commands that follow. */
const takes: [command: RegExp, variables: (answer: Json) => Record<string, string>][] = [
  [/\/v1\/vaults /, answer => ({ VAULT: answer.id })],
  [/\/v1\/secrets \\/, answer => ({ SECRET: answer.id })],
  [/\/v1\/access-keys \\/, answer => ({ ACCESS_KEY: answer.token, ACCESS_KEY_ID: answer.id })],
  [/\/v1\/keys \\/, answer => ({ KEY: answer.id })],
];

describe('docs/api.md', () => {
  let service: Service;

  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  it('every command works, one after the other, and does what the text says', async () => {
    const environment: Record<string, string> = {
      PATH: process.env.PATH!,
      STRONGROOM: service.url,
      API_KEY: service.key,
    };
    const answers: Json[] = [];
    for (const command of commands) {
      const stdout = await shell(command, environment);
      const answer = JSON.parse(stdout);
      assert.equal('error' in answer, false, `${command}\n${stdout}`);
      answers.push(answer);
      const taken = takes.find(([pattern]) => pattern.test(command));
      if (taken !== undefined) Object.assign(environment, taken[1](answer));
    }
    assert.equal(answers.length, commands.length);
    assert.ok(commands.length >= 15);
    const [, , second, revealed, versions, rolled, , read] = answers;
    assert.equal(second.version, 2);
    assert.equal(revealed.value, 'postgres://two');
    assert.equal(versions.data.length, 2);
    assert.equal(rolled.version, 3);
    assert.equal(read.secrets[0].value, 'postgres://one');
    const after = await service.call(
      'GET',
      `/api/v1/vaults/${environment.VAULT}`,
      undefined,
      environment.ACCESS_KEY!,
    );
    assert.equal(after.status, 401);
  });
});
