/** The server's timeline on which the log is written, to detect a change of timeline. */
import { publicBytes } from '../../base/bytes.ts';
import { type Engine, type Statement, statement, type Timeline } from '../engine/engine.ts';
import { metaValue, replacingMeta, setMeta } from '../engine/meta.ts';

const key = 'timeline';
const encoded = ({ cluster, number }: Timeline) => publicBytes(Buffer.from(`${cluster} ${number}`));

export function timelines({ db, commit }: Engine) {
  return {
    async read(): Promise<Timeline | null> {
      const found = await metaValue(db, key);
      if (found === undefined) return null;
      const [cluster = '', number] = Buffer.from(found).toString().split(' ');
      return { cluster, number: Number(number) };
    },

    async set(timeline: Timeline): Promise<void> {
      await commit([{ statements: [setMeta(db, key, encoded(timeline))] }]);
    },

    /** Refused as stale if another replica was first. */
    replace: (before: Timeline, after: Timeline): Statement =>
      statement(replacingMeta(db, key, encoded(before), encoded(after)), { expect: 1 }),
  };
}
