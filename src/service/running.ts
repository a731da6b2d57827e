/** A service that was started, as the process that started it sees it. */
export interface Running {
  readonly url: string;
  /** The address of the dashboard. */
  readonly dashboardUrl: string;
  /** The one-time setup link; null once setup is complete. */
  readonly setupUrl: string | null;
  /** The address of the metrics; null if they are not served. */
  readonly metricsUrl: string | null;
  /** Every route that is served, as `GET /v1/vaults/:id`. */
  readonly routes: readonly string[];
  /** Whether it only waits for the root key (see sealed.ts). */
  isSealed(): boolean;
  /** Reloads the TLS certificate without cutting connections. */
  reload(): Promise<void>;
  /** Finishes requests in progress, flushes and signs the log, and closes everything. */
  stop(): Promise<void>;
}
