/** The flags of `strongroom run`. */
import { flag, names, type readOptions, text, whole } from '../../service/settings/options.ts';
import { serviceOptions } from '../connection/settings.ts';
import { unsafeNames } from './unsafe-names.ts';

const { json: _, ...place } = serviceOptions;

export const runOptions = {
  ...place,
  only: names('pass on only these secrets'),
  prefix: text('P', 'put P before the name of every variable'),
  pristine: flag('don’t pass on the current environment'),
  preserve: flag('keep the value of a variable that is already set'),
  strict: flag(
    'pass on only declared names (--only, or names in the project file), and fail if one can’t be passed on or would replace an existing variable',
  ),
  variables: text(
    'FILE',
    'also set the variables in FILE; values of the form sr://vault/NAME are read from the vault',
  ),
  ...unsafeNames,
  mask: flag('replace values in the output even on a terminal'),
  'no-mask': flag('leave the output as it is (default on a terminal)'),
  watch: flag('restart the program when a value changes'),
  'watch-interval': whole('SECONDS', 'how often to check for changes (default: 10)', 10, 1, 86_400),
  offline: flag('if the service is unavailable, use the values that were read last'),
  'offline-max-age': whole('HOURS', 'the maximum age of those values (default: 24)', 24, 1, 8_760),
  'no-cache': flag('store nothing for --offline'),
};

export type RunValues = ReturnType<typeof readOptions<typeof runOptions>>;
