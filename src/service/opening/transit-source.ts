/** The root key in the transit engine of another vault, which is called over the network. */
import { EngineFailure, type TransitEngine, transitCalls } from '../../egress/transit-engine.ts';
import { RootKeyError, type RootKeySource, RootKeyUnreachable } from '../../keyring/root-key/root-key.ts';
import { transit } from '../../keyring/root-key/transit.ts';

export function transitAt(engine: TransitEngine): RootKeySource {
  const call = transitCalls(engine);
  return transit((...sent) =>
    call(...sent).catch(error => {
      if (!(error instanceof EngineFailure)) throw error;
      throw new (error.isUnreachable ? RootKeyUnreachable : RootKeyError)(error.message, error.cause);
    }),
  );
}
