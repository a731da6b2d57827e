/**
 * Formats names and values as lines of an environment file that `node --env-file`, bash and `docker run --env-file`
 * read identically. They have no quoting in common (docker has none at all), so a value is written as it is or not at
 * all: there is no line for a value that any of them would truncate, expand or execute.
 */
import { isVariable } from './variable-names.ts';

/** Names reserved by bash: they can't be set there, or don't keep the value they were set to. */
const taken =
  /^(_|BASH\w*|COMP_\w+|COPROC|DIRSTACK|EPOCH(SECONDS|REALTIME)|E?UID|FUNCNAME|GROUPS|HISTCMD|LINENO|MAPFILE|OPTIND|PIPESTATUS|PPID|S?RANDOM|SECONDS|SHELLOPTS|SHLVL)$/;

/**
 * White space, control characters, quotes, `#`, shell metacharacters, and `~` where it stands for a home directory.
 */
const unreadable = /[\s\p{C}\p{Z}"'`#$\\&|;<>()]|(?:^|[:=])~/u;

/** Docker doesn't read longer lines. */
const longestLine = 64 * 1024 - 1;

/** Null if no line is read identically by all three. */
export function envLine(name: string, value: string): string | null {
  const line = `${name}=${value}`;
  if (!isVariable(name) || taken.test(name) || unreadable.test(value)) return null;
  return Buffer.byteLength(line) <= longestLine ? line : null;
}
