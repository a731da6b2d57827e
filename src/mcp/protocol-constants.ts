/**
 * The names and codes of the protocol. The SDK also has them, but it is loaded only when a client first asks for more
 * than a tool call, to save memory in the services that never need it.
 */

export const parseError = -32_700;
export const invalidRequest = -32_600;
export const invalidParams = -32_602;
export const internalError = -32_603;
/** Headers that disagree with the body. */
export const headerMismatch = -32_020;
/** The client's user has to open a page first. */
export const urlElicitationRequired = -32_042;
/** For errors without a JSON-RPC code of their own: the HTTP status has the meaning. */
export const serverError = -32_000;
export const sessionNotFound = -32_001;

/** Revisions with sessions, newest first. */
export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
/** The only revision with batches. */
export const batchRevision = '2025-03-26';
/** The revision without sessions. */
export const modernRevision = '2026-07-28';

export const versionKey = 'io.modelcontextprotocol/protocolVersion';
export const clientKey = 'io.modelcontextprotocol/clientInfo';
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const serverKey = 'io.modelcontextprotocol/serverInfo';

/** The server's identity in the protocol. */
export function identityOf(version: string) {
  return { name: 'strongroom', title: 'Strongroom', version };
}

/** The envelope that a client of 2026-07-28 sends in each request. */
export function modernEnvelope(name: string, version: string) {
  return { [versionKey]: modernRevision, [clientKey]: { name, version }, [capabilitiesKey]: {} };
}
