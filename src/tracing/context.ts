/**
 * Determines the trace that a request belongs to (W3C Trace Context): the caller's, if the header is valid, otherwise a
 * new one.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Sampler } from './settings.ts';

export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Null if the trace starts here. */
  readonly parentId: string | null;
  readonly state: string | null;
}

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const nothing = /^0+$/;
const longestState = 512;
/** The range of the random part of a trace id, by which all services of a trace make the same sampling decision. */
const range = 2 ** 56;

/** Returns null if the request is not traced. */
export function contextOf(
  headers: IncomingHttpHeaders,
  { followsParent, ratio }: Sampler,
): TraceContext | null {
  const parent = parentIn(headers.traceparent);
  if (parent !== null && followsParent && !parent.isSampled) return null;
  const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
  const isDecided = parent !== null && followsParent;
  if (!isDecided && Number.parseInt(traceId.slice(-14), 16) >= ratio * range) return null;
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, parentId: parent?.spanId ?? null, state: parent && stateIn(headers.tracestate) };
}

function parentIn(header: string | string[] | undefined) {
  const [, version, traceId, spanId, flags, rest] = shape.exec(String(header ?? '')) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (nothing.test(traceId!) || nothing.test(spanId!)) return null;
  return { traceId: traceId!, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/** Passed on unchanged. A state that is too long or malformed is dropped. */
function stateIn(header: string | string[] | undefined): string | null {
  const state = String(header ?? '');
  return state === '' || state.length > longestState || !/^[\x20-\x7e]+$/.test(state) ? null : state;
}
