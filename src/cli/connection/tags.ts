/** Tags as flags: `--tag NAME=VALUE`. */
import { repeated } from '../../service/settings/options.ts';

export const tagOption = (help: string) => repeated('NAME=VALUE', help, tagIn);

function tagIn(given: string): readonly [name: string, value: string] {
  const at = given.indexOf('=');
  if (at <= 0) throw new Error('must be of the form NAME=VALUE');
  return [given.slice(0, at), given.slice(at + 1)];
}
