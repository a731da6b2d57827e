/**
 * What a provider of short-lived credentials does. A provider is pure over a session that was opened for it, knows no
 * records, and may be interrupted anywhere: the name by which it finds a credential again is chosen and recorded before
 * anything is created, and revoking what was never created, or is gone already, succeeds. A provider whose credentials
 * end by themselves, such as access tokens, revokes nothing and can't renew.
 */

/** What an administrator of the service has to do first. */
export interface Problem {
  readonly problem: string;
  /** The statement to run, complete; null if there is none. */
  readonly statement: string | null;
}

/** A credential as its holder gets it, once. */
export interface IssuedData {
  readonly username: string;
  readonly password: string;
  readonly url: string;
}

/** Throws `ProviderFailure` if the service refuses, and any other error if it can't be reached. */
export interface Provider<Session, Template> {
  /** Whether a credential can live longer than it was created for. */
  readonly renewable: boolean;
  /** A name that nobody can guess, in an alphabet that needs no quoting. */
  account(random: (bytes: number) => Buffer): string;
  check(session: Session, template: Template): Promise<Problem[]>;
  /** The service itself ends the credential after `until`, if it can. */
  issue(session: Session, template: Template, account: string, until: number): Promise<Secrets>;
  /** Returns false if the credential doesn't exist any more. */
  renew(session: Session, account: string, until: number): Promise<boolean>;
  /**
   * Resolves once nothing of it is left. Throws `Remains` if it gives no access any more, but could not be removed.
   */
  revoke(session: Session, template: Template, account: string): Promise<void>;
}

export interface Secrets {
  readonly password: string;
}

/** The service refused. The reason contains nothing that is secret. */
export class ProviderFailure extends Error {
  /** The service's own code for the reason, which is safe to show to holders of access keys. */
  readonly code: string;

  constructor(reason: string, code: string) {
    super(reason);
    this.code = code;
  }
}

/** The credential gives no access any more, but is still there. */
export class Remains extends Error {
  constructor(cause: unknown) {
    super('the credential is disabled, but could not be removed', { cause });
  }
}
