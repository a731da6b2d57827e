/**
 * Asks a client that can send its user to a page to do so, if a person has to approve a call first: with an
 * `input_required` result of 2026-07-28, or an error of 2025-11-25. Opening the page proves nothing: the client repeats
 * the call, which is decided again by the stored approval. Other clients get the page's address in the result.
 */
import type { ApprovalNotice } from '../contract/uses.ts';
import { isRecord, type McpMessage } from './messages.ts';
import { capabilitiesKey, urlElicitationRequired } from './protocol-constants.ts';

/** Whether a client declares that it can send its user to a page. */
export function elicitsByUrl(capabilities: unknown): boolean {
  return (
    isRecord(capabilities) && isRecord(capabilities.elicitation) && isRecord(capabilities.elicitation.url)
  );
}

const message = 'Approve a call with a secret in Strongroom';

/** Null if the client can't send its user to a page, or if the user has already declined. */
export function inputRequired({ params = {} }: McpMessage, { id, url }: ApprovalNotice): object | null {
  const meta = params._meta;
  if (!isRecord(meta) || !elicitsByUrl(meta[capabilitiesKey])) return null;
  const { inputResponses } = params;
  const given = isRecord(inputResponses) ? inputResponses.approval : undefined;
  if (isRecord(given) && given.action !== 'accept') return null;
  const asked = { method: 'elicitation/create', params: { mode: 'url', elicitationId: id, url, message } };
  // The state that the client returns decides nothing: the stored approval does.
  return { resultType: 'input_required', inputRequests: { approval: asked }, requestState: id };
}

export function elicitationError({ id, url }: ApprovalNotice): object {
  const elicitations = [{ mode: 'url', elicitationId: id, url, message }];
  return {
    code: urlElicitationRequired,
    message: 'This request requires more information.',
    data: { elicitations },
  };
}
