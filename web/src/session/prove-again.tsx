/**
 * Changing how a person signs in requires fresh proof of identity. A request that is refused without it opens a dialog,
 * and is sent again when the person has confirmed.
 */
import { onProofRequired } from '../api/client.ts';
import { whenOpened } from '../ui/lazily.tsx';
import { useAsking } from './asking.ts';

const ProveDialog = whenOpened(() => import('./prove-dialog.tsx'));

export function ProveAgain() {
  const { asking, settle } = useAsking(onProofRequired);
  return <ProveDialog open={asking} onSettle={settle} />;
}
