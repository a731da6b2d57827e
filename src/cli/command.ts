/** What every command of the command line offers. */
export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Returns when the command is done. */
  run(args: readonly string[]): Promise<void>;
  help(): string;
}
