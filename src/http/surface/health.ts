/**
 * Probes for people and orchestrators: liveness, readiness and version. Operators who have the root key can also check
 * that this is the service of their keyring: it answers a challenge with a proof that only its keyring can compute.
 */
import type { FastifyInstance } from 'fastify';
import { notSealed } from './seal-state.ts';
import type { ReadingSurfaceParts } from './surface-parts.ts';

/** Answered without a credential, even while the service is stopping. */
export const probes: ReadonlySet<string> = new Set(['/v1/health', '/v1/seal', '/livez', '/readyz']);

export const challengeHeader = 'strongroom-challenge';
export const proofHeader = 'strongroom-proof';
const challengeForm = /^[0-9a-f]{32}$/;

export function mountHealth(
  app: FastifyInstance,
  { storeReady, version, draining, proveData }: ReadingSurfaceParts,
): void {
  const ready = async (): Promise<boolean> => !draining() && (await storeReady());

  app.get('/v1/health', async () => ({ status: (await ready()) ? 'ok' : 'degraded', version }));
  app.get('/v1/seal', async () => notSealed);
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (request, reply) => {
    const isReady = await ready();
    const challenge = String(request.headers[challengeHeader]);
    if (challengeForm.test(challenge)) reply.header(proofHeader, proveData(challenge));
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ok' : 'unavailable' });
  });
}
