/** `strongroom runs …`: lists, shows and ends runs. */
import type { Run } from '../../client/api.ts';
import { flag } from '../../service/settings/options.ts';
import { adminIn, inVault, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable, printJson, printList, table } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

type Budget = keyof Run['used'];
const budgets: readonly Budget[] = ['uses', 'writes', 'bytes'];

/** Such as `12/200`; only what was used if there is no limit. */
function usedOf(run: Run, budget: Budget): string {
  const limit = run.budgets[budget];
  return limit === null ? `${run.used[budget] ?? '-'}` : `${run.used[budget]}/${limit}`;
}

export const listCommand = commandOf({
  usage: 'runs list [flags]',
  summary: 'print the runs of agents',
  options: { ...serviceOptions, all: flag('also print those that have ended') },
  about:
    'Prints runs, newest first: id, state, end, uses, writes and purpose. With --vault, only those with an access key for it.',
  run: async values => {
    const state = values.all ? 'all' : 'active';
    const isInVault = values.vault !== null;
    const { admin, id } = isInVault
      ? await inVault(values).then(found => ({ admin: found.admin, id: found.vault.id }))
      : { admin: adminIn(values), id: undefined };
    const all = await listed(admin.listRuns, { state, ...(id === undefined ? {} : { vault_id: id }) });
    printList(values.json, all, run => [
      run.id,
      run.state,
      run.ends_at,
      usedOf(run, 'uses'),
      usedOf(run, 'writes'),
      run.purpose,
    ]);
  },
});

export const showCommand = commandOf({
  usage: 'runs show ID [flags]',
  summary: 'print a run, its budgets and its last requests',
  options,
  about: 'Prints a run with what it used of its budgets, and its last requests, newest first.',
  missing: 'the id of a run is required',
  run: async (values, id) => {
    const admin = adminIn(values);
    const run = await admin.getRun({ id });
    const { data } = await admin.listRequestLogs({ query: { run_id: id, limit: 20 } });
    if (values.json) return printJson({ ...run, requests: data });
    const facts = [
      ['purpose', run.purpose],
      ['state', run.state],
      ['ends', run.ends_at],
      ...budgets.map(budget => [budget, usedOf(run, budget)]),
    ];
    const lines = data.map(({ created_at, status, requested }) => [created_at, String(status), requested]);
    process.stdout.write(`${table(facts)}\n${table(lines)}`);
  },
});

export const endCommand = commandOf({
  usage: 'runs end ID [flags]',
  summary: 'end a run, with everything that it may do',
  options,
  about: 'Ends a run: its access keys are revoked, and what waits for approval is cancelled.',
  missing: 'the id of a run is required',
  run: async (values, id) => {
    const ended = await adminIn(values).endRun({ id });
    done(values.json, ended, `ended ${printable(ended.purpose)}`);
  },
});
