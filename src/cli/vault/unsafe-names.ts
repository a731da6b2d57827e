/**
 * Checks the names of variables for everything that passes them to another program: `run`, `export`, the action and
 * templates. The names come from a vault or a project file, and neither may change what is run.
 */
import { changesWhatRuns } from '../../contract/variable-names.ts';
import { flag } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';

export const unsafeNames = {
  'allow-unsafe-names': flag('pass on names such as PATH or LD_PRELOAD, which change what is run'),
};

export interface Allowed {
  readonly 'allow-unsafe-names': boolean;
}

export function refuseUnsafe(names: Iterable<string>, allowed: Allowed): void {
  const found = allowed['allow-unsafe-names'] ? undefined : [...names].find(changesWhatRuns);
  if (found !== undefined)
    throw new Refusal(
      `${printable(found)} changes what is run, and is refused: --allow-unsafe-names allows it`,
    );
}
