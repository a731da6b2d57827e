import { type Options, readCommand, type ValuesOf } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';

/** What `strongroom help` prints for a command. */
export interface HelpLine {
  readonly usage: string;
  readonly summary: string;
}

/** What every command provides. */
export interface Command extends HelpLine {
  /** What it does, at the top of its help. */
  readonly about: string;
  /** The text of its help after the flags. */
  readonly more?: string;
  readonly options: Options;
  /** What its first argument names, for completion. */
  readonly completes?:
    | 'secrets'
    | 'keys'
    | 'certificates'
    | 'files'
    | 'groups'
    | 'members'
    | readonly string[];
  /** Returns when the command is done. */
  run(args: readonly string[]): Promise<void>;
}

interface Declaration<O extends Options> extends Omit<Command, 'run'> {
  readonly options: O;
  /** What is said if the first argument is missing. Without it, no argument is required. */
  readonly missing?: string;
  /** The most arguments that it takes: by default only the required one. */
  readonly upTo?: number;
  /** `first` is empty where no argument is required and none was given. */
  run(values: ValuesOf<O>, first: string, others: readonly string[]): Promise<void>;
}

/** A command whose flags and arguments are read before it runs. */
export function commandOf<O extends Options>({ run, missing, upTo, ...help }: Declaration<O>): Command {
  return {
    ...help,
    run: async args => {
      const atMost = upTo ?? (missing === undefined ? 0 : 1);
      const { values, positionals } = readCommand(help.options, args, process.env, atMost);
      const [first, ...others] = positionals;
      if (first === undefined && missing !== undefined) throw new UsageError(missing);
      await run(values, first ?? '', others);
    },
  };
}
