/** Measures the delay and the utilization of a plane's event loop. */
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Meter } from './meter.ts';
import type { PlaneName } from './planes.ts';

const resolution = 10;

/** `sample` records the time since its previous call. */
export function eventLoopOf(meter: Meter, plane: PlaneName): { sample(): void; stop(): void } {
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  const shares = (['0.5', '0.99', '1'] as const).map(
    share => [Number(share), meter.gauge('strongroom_event_loop_delay_seconds', { plane, share })] as const,
  );
  const busy = meter.gauge('strongroom_event_loop_utilization_ratio', { plane });
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  return {
    sample: () => {
      // The monitor's own timer is always late by at least its resolution.
      for (const [share, set] of shares)
        set(Math.max(0, delay.percentile(share * 100) / 1e9 - resolution / 1000));
      delay.reset();
      const now = performance.eventLoopUtilization();
      busy(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    },
    stop: () => void delay.disable(),
  };
}
