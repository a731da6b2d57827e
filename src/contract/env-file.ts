/**
 * Names and values as lines of an environment file, which `node --env-file`, bash and `docker run --env-file` read
 * alike. The three have no quoting in common (docker knows none), so a value is written as it is, or not at all:
 * one that any of them would cut off, expand or run has no line.
 */

import { isVariable } from './variable-names.ts';

/** What bash keeps for itself: it can't be set there, or does not stay what it was set to. */
const taken =
  /^(_|BASH\w*|COMP_\w+|COPROC|DIRSTACK|EPOCH(SECONDS|REALTIME)|E?UID|FUNCNAME|GROUPS|HISTCMD|LINENO|MAPFILE|OPTIND|PIPESTATUS|PPID|S?RANDOM|SECONDS|SHELLOPTS|SHLVL)$/;

/** White space and controls, quotes, `#`, and what a shell acts on; and `~` where it stands for a home. */
const unreadable = /[\s\p{C}\p{Z}"'`#$\\&|;<>()]|(?:^|[:=])~/u;

/** Docker reads no longer line. */
const longestLine = 64 * 1024 - 1;

/** Null where there is no line that all three read alike. */
export function envLine(name: string, value: string): string | null {
  const line = `${name}=${value}`;
  if (!isVariable(name) || taken.test(name) || unreadable.test(value)) return null;
  return Buffer.byteLength(line) <= longestLine ? line : null;
}
