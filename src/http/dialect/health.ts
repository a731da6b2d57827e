/**
 * `sys/health`, `sys/seal-status`, `sys/init` and `sys/leader`, which clients and load balancers request first, without
 * a credential. They reveal no more than our own probes do. A service that can't serve requests reports itself as
 * sealed, because every Vault client then knows that it has to wait.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReadingSurfaceParts } from '../surface/surface-parts.ts';
import { contentType } from './forms.ts';
import type { Probe } from './target.ts';

/** The version of the dialect, not of this service: clients compare it with the version that introduced a feature. */
const dialectVersion = '1.21.0';
const clusterName = 'strongroom';

type AnswerHealth = (
  of: Probe,
  request: IncomingMessage,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
) => void;

export function healthWith({ storeReady, draining, now, newId, onError }: ReadingSurfaceParts): AnswerHealth {
  const isSealed = async () => draining() || !(await storeReady());

  return (of, request, response, headers) => {
    isSealed()
      .catch(error => {
        onError(error, '-');
        return true;
      })
      .then(sealed => {
        const content = contentOf(of, sealed, now());
        const status = statusOf(of, request.url!, sealed);
        const body = JSON.stringify(content);
        response
          .writeHead(status, {
            ...headers,
            'Cache-Control': 'no-store',
            'X-Request-Id': newId(),
            'Content-Type': contentType,
            'Content-Length': Buffer.byteLength(body),
            ...(draining() ? { Connection: 'close' } : {}),
          })
          .end(body);
      });
  };
}

function contentOf(of: Probe, sealed: boolean, now: number): object {
  if (of === 'init') return { initialized: true };
  if (of === 'leader') return sealed ? { errors: ['Vault is sealed'] } : leaderForm;
  return of === 'health' ? healthForm(sealed, now) : sealForm(sealed);
}

function statusOf(of: Probe, url: string, sealed: boolean): number {
  if (of === 'health') return healthStatus(url, sealed);
  return of === 'leader' && sealed ? 503 : 200;
}

/** The answer of a Vault without high availability, since all replicas are equal. */
const leaderForm = {
  ha_enabled: false,
  is_self: false,
  active_time: '0001-01-01T00:00:00Z',
  leader_address: '',
  leader_cluster_address: '',
  performance_standby: false,
  performance_standby_last_remote_wal: 0,
};

/** The caller may choose the status for each state. */
function healthStatus(url: string, sealed: boolean): number {
  const parameters = new URL(url, 'http://localhost').searchParams;
  const chosen = String(parameters.get(sealed ? 'sealedcode' : 'activecode'));
  if (/^[2-5]\d\d$/.test(chosen)) return Number(chosen);
  return sealed ? 503 : 200;
}

function healthForm(sealed: boolean, now: number) {
  return {
    initialized: true,
    sealed,
    standby: false,
    performance_standby: false,
    replication_performance_mode: 'disabled',
    replication_dr_mode: 'disabled',
    server_time_utc: Math.floor(now / 1000),
    version: dialectVersion,
    cluster_name: clusterName,
    cluster_id: '',
  };
}

function sealForm(sealed: boolean) {
  return {
    type: 'shamir',
    initialized: true,
    sealed,
    t: 1,
    n: 1,
    progress: 0,
    nonce: '',
    version: dialectVersion,
    build_date: '',
    migration: false,
    recovery_seal: false,
    storage_type: clusterName,
  };
}
