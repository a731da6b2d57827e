/** For people and orchestrators: is it alive, is it ready, and which version is it. */
import type { FastifyInstance } from 'fastify';
import type { ReadingSurfaceParts } from './parts.ts';

/** Answered without a credential, even while the service is stopping. */
export const probes: ReadonlySet<string> = new Set(['/v1/health', '/livez', '/readyz']);

export function mountHealth(
  app: FastifyInstance,
  { storeReady, version, draining }: ReadingSurfaceParts,
): void {
  const ready = async (): Promise<boolean> => !draining() && (await storeReady());

  app.get('/v1/health', async () => ({ status: (await ready()) ? 'ok' : 'degraded', version }));
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const isReady = await ready();
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ok' : 'unavailable' });
  });
}
