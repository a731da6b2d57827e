/**
 * How a client that can send its user to a page is asked to, where a person has to approve a call first: by a result
 * of 2026-07-28 that wants more input, or by an error of 2025-11-25. That the user opened the page says nothing: the
 * call comes again, and is judged anew by what is stored. Clients that can't are told by the result itself.
 */
import type { ApprovalNotice } from '../contract/uses.ts';
import { isRecord, type McpMessage } from './messages.ts';
import { capabilitiesKey, urlElicitationRequired } from './protocol-constants.ts';

/** Whether a client says that it sends its user to pages. */
export function elicitsByUrl(capabilities: unknown): boolean {
  return (
    isRecord(capabilities) && isRecord(capabilities.elicitation) && isRecord(capabilities.elicitation.url)
  );
}

const message = 'Approve a call with a secret, on a page of Strongroom';

/** Null where the client can't be asked, or where its user was asked before and did not want to. */
export function inputRequired({ params = {} }: McpMessage, { id, url }: ApprovalNotice): object | null {
  const meta = params._meta;
  if (!isRecord(meta) || !elicitsByUrl(meta[capabilitiesKey])) return null;
  const { inputResponses } = params;
  const given = isRecord(inputResponses) ? inputResponses.approval : undefined;
  if (isRecord(given) && given.action !== 'accept') return null;
  const asked = { method: 'elicitation/create', params: { mode: 'url', elicitationId: id, url, message } };
  // The state is ours to look up: what comes back of it decides nothing.
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
