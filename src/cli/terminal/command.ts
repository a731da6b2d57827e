import type { Options } from '../../service/settings/options.ts';

/** What every command provides. */
export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** What it does, at the top of its help. */
  readonly about: string;
  /** The text of its help after the flags. */
  readonly more?: string;
  readonly options: Options;
  /** What its first argument names, for completion. */
  readonly completes?: 'secrets' | 'files' | 'groups' | 'members' | readonly string[];
  /** Returns when the command is done. */
  run(args: readonly string[]): Promise<void>;
}
