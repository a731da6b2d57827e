/** Turns secrets into the environment of a program, and refuses names and values that can't or must not be in one. */
import { parseEnv } from 'node:util';
import { isVariable } from '../../contract/variable-names.ts';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { ourSecrets, withoutOurs } from '../connection/own-credentials.ts';
import type { Project } from '../connection/project.ts';
import { referenceIn, resolver } from '../connection/references.ts';
import { unknownSecret } from '../connection/secret.ts';
import type { Settings } from '../connection/settings.ts';
import type { Snapshot } from '../connection/vaults.ts';
import { contentOf } from '../terminal/input.ts';
import type { Masked } from '../terminal/mask.ts';
import { note, printable } from '../terminal/terminal.ts';
import type { RunValues } from './run-options.ts';
import type { SecretFile } from './secret-files.ts';
import { type Allowed, refuseUnsafe } from './unsafe-names.ts';
import { viaVariables } from './via.ts';

export interface Given {
  readonly environment: Environment;
  /** The secrets that it gets as files. */
  readonly files: readonly SecretFile[];
  /** The values to mask in its output. */
  readonly secrets: readonly Masked[];
}

type Pair = readonly [name: string, value: string];

/** The secrets of one vault, or of several; of two with the same name, the last one counts. */
export interface Secrets extends Pick<Snapshot, 'secrets'> {
  /** Names that are in several vaults, and must not be chosen. */
  readonly ambiguous?: ReadonlySet<string>;
}

export async function environmentFor(
  settings: Settings,
  values: RunValues,
  snapshot: Secrets | null,
  inherited: Environment,
): Promise<Given> {
  const files = filesIn(snapshot ?? { secrets: [] }, values);
  const asFiles = new Set(values.file.map(({ name }) => `${values.prefix ?? ''}${name}`));
  const all = snapshot === null ? [] : chosen(snapshot, values, settings.project);
  const fromVault = all.filter(([name]) => !asFiles.has(name));
  const { plain, secret } = await fromFile(settings, values);
  const before = withoutOurs(inherited);
  const pairs = [...fromVault.filter(pair => passes(pair, values)), ...secret];
  if (values.strict) refuseReplacing(pairs, before);
  const via = await viaVariables(settings, values, before);
  const added = { ...Object.fromEntries(fromVault), ...Object.fromEntries([...plain, ...secret]) };
  const kept = values.pristine ? {} : before;
  return {
    environment: { ...kept, ...onlyVariables(added), ...(values.preserve ? kept : {}), ...via.variables },
    files,
    secrets: [
      ...pairs.map(([name, value]) => ({ name, value })),
      ...files.map(({ name, value }) => ({ name, value })),
      ...via.secrets,
      ...ourSecrets(settings, inherited),
    ],
  };
}

/** A file is declared by its name, so it needs no other. The variable with its path must be safe too. */
function filesIn(from: Secrets, { file, prefix, ...allowed }: RunValues): SecretFile[] {
  const find = finder(from);
  const files = file.map(({ name, path }) => ({
    name,
    path,
    value: find(name),
    variable: `${prefix ?? ''}${name}_FILE`,
  }));
  refuseUnsafe(
    files.map(({ variable }) => variable),
    allowed,
  );
  return files;
}

/** Refuses a name that does not exist, or that is in several vaults. */
function finder({ secrets, ambiguous }: Secrets): (name: string) => string {
  const byName = new Map(secrets.map(({ name, value }) => [name, value]));
  return asked => {
    const name = asked.normalize('NFC');
    const value = byName.get(name);
    if (value === undefined) throw unknownSecret(asked);
    if (ambiguous?.has(name))
      throw new Refusal(
        `${printable(JSON.stringify(asked))} is in several vaults: --override uses the one of the last vault`,
      );
    return value;
  };
}

function onlyVariables(pairs: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).filter(([name]) => isVariable(name)));
}

/** The selected secrets, under their names as variables. Refuses names that change what is run. */
export function chosen(
  from: Secrets,
  { only, prefix, ...allowed }: Pick<RunValues, 'only' | 'prefix'> & Allowed,
  project: Project | null,
): Pair[] {
  const wanted = only.length > 0 ? only : (project?.names ?? []);
  const find = finder(from);
  const under = (variable: string, name: string): Pair => [variable, find(name)];
  const names = wanted.length === 0 ? new Set(from.secrets.map(({ name }) => name)) : wanted;
  const picked = [...names].map(name => under(name, name));
  const mapped = Object.entries(project?.map ?? {}).map(([variable, name]) => under(variable, name));
  // A mapping of the project file replaces a secret of the same name.
  const named = new Map(
    [...picked, ...mapped].map(([name, value]): Pair => [`${prefix ?? ''}${name}`, value]),
  );
  refuseUnsafe(named.keys(), allowed);
  return [...named];
}

/** A name that can't be a variable is left out with a note, or refused with --strict. */
function passes([name, value]: Pair, { strict }: RunValues): boolean {
  const shown = printable(JSON.stringify(name));
  if (value.includes('\0'))
    throw new Refusal(`${shown} contains a zero byte, which is not possible in an environment variable`);
  if (isVariable(name)) return true;
  if (strict) throw new Refusal(`${shown} can’t be the name of an environment variable`);
  note(`left out ${shown}: it can’t be the name of an environment variable`);
  return false;
}

function refuseReplacing(pairs: readonly Pair[], inherited: Environment): void {
  const found = pairs.find(([name, value]) => inherited[name] !== undefined && inherited[name] !== value);
  if (found !== undefined) throw new Refusal(`${found[0]} is already set to something else`);
}

/** Reads lines like `node --env-file`. Only values that are references are secrets. */
async function fromFile(
  settings: Settings,
  { variables: file, ...allowed }: Pick<RunValues, 'variables'> & Allowed,
): Promise<{ plain: Pair[]; secret: Pair[] }> {
  const raw = file === null ? {} : (parseEnv(contentOf(file)) as Record<string, string>);
  refuseUnsafe(Object.keys(raw), allowed);
  const resolve = resolver(settings);
  const plain: Pair[] = [];
  const secret: Pair[] = [];
  for (const [name, value] of Object.entries(raw)) {
    const reference = referenceIn(value);
    if (reference === null) plain.push([name, value]);
    else secret.push([name, await resolve(reference)]);
  }
  return { plain, secret };
}
