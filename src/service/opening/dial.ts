/** How issuers reach the services in which they create credentials: into the networks that the operator opened. */
import { egressInto } from '../../access/egress.ts';
import type { Dial } from '../../domain/issuing/providers.ts';
import { systemResolve } from '../../egress/connections.ts';
import { postgresSessionsWith } from '../../egress/postgres-sessions.ts';
import { redisSessionsWith } from '../../egress/redis-sessions.ts';
import { ProviderFailure } from '../../issuers/provider.ts';

export function dialInto(privateNetworks: readonly string[]): Dial {
  const egress = egressInto(privateNetworks);
  const resolve = systemResolve();
  const refused = (message: string, code: string) => new ProviderFailure(message, code);
  const parts = { egress, resolve, refused };
  return { postgresql: postgresSessionsWith(parts), redis: redisSessionsWith(parts) };
}
