/** The flags of `strongroom run`. */
import { constants } from 'node:os';
import {
  flag,
  names,
  type Option,
  type readOptions,
  repeated,
  text,
  whole,
} from '../../service/settings/options.ts';
import { serviceOptions } from '../connection/settings.ts';
import { leaseIn } from './held-leases.ts';
import { unsafeNames } from './unsafe-names.ts';
import type { Via } from './via.ts';

const { json: _, vault, ...place } = serviceOptions;

/** With `=PATH`, at that path; otherwise in a private folder. */
function fileIn(given: string): { readonly name: string; readonly path: string | null } {
  const at = given.indexOf('=');
  const [name, path] = at < 0 ? [given, null] : [given.slice(0, at), given.slice(at + 1)];
  if (name === '' || path === '') throw new Error('must be of the form NAME or NAME=PATH');
  return { name, path };
}

/** Without a program, the rule has the name of one. */
function viaIn(given: string): Via {
  const at = given.indexOf('=');
  const [program, rule] = at < 0 ? [given, given] : [given.slice(0, at), given.slice(at + 1)];
  if (!/^[a-z][a-z0-9_-]*$/i.test(program) || rule === '')
    throw new Error('must be a use rule named like a program, or of the form PROGRAM=RULE');
  return { program, rule };
}

/** These end or stop a process, and can’t be handled. */
const unusual = new Set(['SIGKILL', 'SIGSTOP']);

const onChange: Option<'restart' | NodeJS.Signals | null> = {
  value: 'restart|signal:HUP',
  help: 'what --watch does with the program after a change: restart it (default), or send it a signal',
  fallback: null,
  parse: given => {
    if (given === 'restart') return given;
    const signal = `SIG${/^signal:(?:SIG)?([A-Z0-9]+)$/.exec(given)?.[1]}`;
    if (!(signal in constants.signals) || unusual.has(signal))
      throw new Error('must be restart, or a signal such as signal:HUP');
    return signal as NodeJS.Signals;
  },
};

/** A budget of the run; none by default. */
function limit(help: string, least: number): Option<number | null> {
  return {
    value: 'NUMBER',
    help,
    fallback: null,
    parse: given => {
      if (!/^\d{1,9}$/.test(given) || Number(given) < least)
        throw new Error(`must be a whole number of at least ${least}, with nine digits at most`);
      return Number(given);
    },
  };
}

export const runOptions = {
  ...place,
  vault: repeated(
    'NAME',
    'the vault, by name or id (default: the vault of the access key); the names in several vaults must be different',
    name => {
      if (name === '') throw new Error('must not be empty');
      return name;
    },
  ),
  override: flag('if a name is in several vaults, use the value of the vault that is named last'),
  mine: flag('use the values that you stored with strongroom mine set instead of those of the vault'),
  file: repeated(
    'NAME[=PATH]',
    'pass on a secret as a file that only you can read: a new file at PATH, or in a private folder; the variable NAME_FILE contains its path',
    fileIn,
  ),
  via: repeated(
    'RULE|PROGRAM=RULE',
    'let the program use a secret that it never gets: set the address and a restricted, short-lived access key for calls through the gateway under this use rule. PROGRAM is one of anthropic, git, github, hugging-face, npm, openai, pypi, stripe, or NAME for NAME_BASE_URL and NAME_API_KEY. No values are passed on, except for --only and --file',
    viaIn,
  ),
  lease: repeated(
    'ISSUER|NAME=ISSUER',
    'obtain a short-lived credential from an issuer and pass it on as NAME_USERNAME, NAME_PASSWORD and NAME_URL; it is renewed while the program runs, and revoked when it ends',
    leaseIn,
  ),
  'via-for': text('DURATION', 'how long that access key is valid at most, such as 8h (default: 12h)'),
  purpose: text('TEXT', 'with --via: what the run is for, as people see it (default: the command)'),
  'max-uses': limit('with --via: how many calls it may make', 1),
  'max-writes': limit('with --via: how many of them may have another method than GET or HEAD', 0),
  'max-bytes': limit('with --via: the size of all bodies and answers together', 1),
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
  'on-change': onChange,
  'watch-interval': whole('SECONDS', 'how often to check for changes (default: 10)', 10, 1, 86_400),
  offline: flag('if the service is unavailable, use the values that were read last'),
  'offline-max-age': whole('HOURS', 'the maximum age of those values (default: 24)', 24, 1, 8_760),
  'no-cache': flag('store nothing for --offline'),
};

export type RunValues = ReturnType<typeof readOptions<typeof runOptions>> & {
  /** The access key of the run that the program belongs to. */
  readonly 'run-key'?: string | null;
};
