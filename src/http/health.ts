/** For people and orchestrators: is it alive, is it ready, and which version is it. */
import type { FastifyInstance } from 'fastify';
import type { AppParts } from './parts.ts';

/** Answered to whoever asks, even while the service stops. */
export const probes: ReadonlySet<string> = new Set(['/v1/health', '/livez', '/readyz']);

export function mountHealth(app: FastifyInstance, { storeReady, version, draining }: AppParts): void {
  const ready = async (): Promise<boolean> => !draining() && (await storeReady());

  app.get('/v1/health', async () => ({ status: (await ready()) ? 'ok' : 'degraded', version }));
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const isReady = await ready();
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ok' : 'unavailable' });
  });
}
