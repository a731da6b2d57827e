/** Counts requests by class and status, and measures their duration. */
import { type RouteClass, routeClasses, statuses } from './catalogue.ts';
import type { Meter } from './meter.ts';

type CountRequest = (status: number, milliseconds: number) => void;

export function requestsOf(meter: Meter, of: RouteClass): CountRequest {
  const taken = meter.histogram('strongroom_request_seconds', { class: of });
  const counterOf = (status: (typeof statuses)[number]) =>
    meter.counter('strongroom_requests_total', { class: of, status });
  const other = counterOf('other');
  const byStatus = new Map(statuses.map(status => [Number(status), counterOf(status)]));
  return (status, milliseconds) => {
    (byStatus.get(status) ?? other)();
    taken(milliseconds / 1000);
  };
}

/** The same, for a router that serves several classes of paths. */
export function requestsByPath(meter: Meter): (path: string, ...counted: Parameters<CountRequest>) => void {
  const counts = new Map(routeClasses.map(of => [of, requestsOf(meter, of)]));
  return (path, ...counted) => counts.get(classOf(path))!(...counted);
}

/** Requests to this path are held until something changes, so their duration says nothing about the service. */
export const heldPath = '/auth/approvals/waiting';

function classOf(path: string): RouteClass {
  if (path.startsWith(heldPath)) return 'held';
  if (path.startsWith('/mcp')) return 'tool';
  if (path.startsWith('/vault/')) return 'dialect';
  if (/^\/(livez|readyz|v1\/health)/.test(path)) return 'health';
  if (path.startsWith('/v1/')) return 'api';
  return /^\/(auth|api\/v1\/login)\b/.test(path) ? 'auth' : 'dashboard';
}
