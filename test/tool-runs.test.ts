/** `run --via` with a service: the run that it starts, and that it ends. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startRun } from '../src/cli/vault/run-start.ts';
import { viaVariables } from '../src/cli/vault/via.ts';
import { narrow } from '../src/client/narrow.ts';
import { run } from './command.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

const none = { 'via-for': null, purpose: null, 'max-uses': null, 'max-writes': null, 'max-bytes': null };
const via = [{ program: 'openai', rule: 'upstream' }];

describe('the run of run --via', () => {
  let world: UsesWorld;
  before(async () => {
    world = await startUsesWorld('sqlite');
    await world.rule({ name: 'upstream' });
  });
  after(() => world.stop());

  const settings = (accessKey = world.agent) => ({ url: world.service.url, accessKey });
  const newest = async () => (await world.service.call('GET', '/v1/runs?limit=1')).body.data[0];
  const called = (token: string) =>
    fetch(`${world.service.url}/via/upstream/own/x`, { headers: { authorization: `Bearer ${token}` } });

  it('has the command as its purpose, only the rules that are named, and ends with the program', async () => {
    const wishes = { ...none, via, 'max-uses': 2 };
    const own = (await startRun(settings(), wishes, ['python', 'agent.py']))!;
    const found = await newest();
    assert.equal(found.purpose, 'python agent.py');
    assert.deepEqual([found.rules.length, found.budgets.uses, found.state], [1, 2, 'active']);
    const { variables } = await viaVariables(
      settings() as never,
      { via, 'via-for': null, 'run-key': own.token },
      {},
    );
    assert.equal(variables.OPENAI_API_KEY, own.token);
    assert.equal((await called(own.token)).status, 200);
    await own.end();
    assert.equal((await newest()).state, 'ended');
    assert.equal((await called(own.token)).status, 401);
    await own.end(); // It has ended already.
  });

  it('is not there for a restricted access key, unless something was asked for that only a run can do', async () => {
    const { token } = await narrow(world.agent, { expiresInSeconds: 600 });
    assert.equal(await startRun(settings(token), { ...none, via }, ['x']), null);
    await assert.rejects(
      startRun(settings(token), { ...none, via, purpose: 'x' }, ['x']),
      /can’t start a run/,
    );
    await assert.rejects(
      startRun(settings(token), { ...none, via, 'max-uses': 1 }, ['x']),
      /can’t start a run/,
    );
  });

  it('is refused for a rule that is not there', async () => {
    const wishes = { ...none, via: [{ program: 'npm', rule: 'nothing' }] };
    await assert.rejects(startRun(settings(), wishes, ['x']), /rules/);
  });

  it('is listed, shown and ended by commands', async () => {
    const own = (await startRun(settings(), { ...none, via, purpose: 'by hand' }, ['x']))!;
    const { id } = await newest();
    await called(own.token);
    const flags = ['--url', world.service.url];
    const environment = { env: { STRONGROOM_API_KEY: world.service.key } };
    const list = await run(['runs', 'list', ...flags], environment);
    assert.match(list.stdout, new RegExp(`${id}.*active.*1.*0.*by hand`), list.stderr);
    const shown = await run(['runs', 'show', id, ...flags], environment);
    assert.match(shown.stdout, /purpose\s+by hand[\s\S]*secret=used GET/, shown.stderr);
    const ended = await run(['runs', 'end', id, ...flags], environment);
    assert.equal(ended.code, 0, ended.stderr);
    assert.equal((await called(own.token)).status, 401);
  });
});
