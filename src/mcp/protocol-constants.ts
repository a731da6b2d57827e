/**
 * The protocol's own words and numbers, as its revisions write them. They are the SDK's too, but the SDK is
 * loaded by the first client that asks for more than a tool: it is memory that many services never need.
 */

export const parseError = -32_700;
export const invalidRequest = -32_600;
export const invalidParams = -32_602;
export const internalError = -32_603;
/** Headers that disagree with the body. */
export const headerMismatch = -32_020;
/** The client’s user is to open a page first. */
export const urlElicitationRequired = -32_042;
/** No code of JSON-RPC's own fits: the status says it. */
export const serverError = -32_000;
export const sessionNotFound = -32_001;

/** Revisions with sessions, newest first. */
export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
/** The one that has batches. */
export const batchRevision = '2025-03-26';
/** The revision without. */
export const modernRevision = '2026-07-28';

export const versionKey = 'io.modelcontextprotocol/protocolVersion';
export const clientKey = 'io.modelcontextprotocol/clientInfo';
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const serverKey = 'io.modelcontextprotocol/serverInfo';

/** Who answers. */
export function identityOf(version: string) {
  return { name: 'strongroom', title: 'Strongroom', version };
}

/** What a client of 2026-07-28 says of itself in each request. */
export function modernEnvelope(name: string, version: string) {
  return { [versionKey]: modernRevision, [clientKey]: { name, version }, [capabilitiesKey]: {} };
}
