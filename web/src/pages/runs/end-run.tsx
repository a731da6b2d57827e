/** Ends a run, after confirmation. */
import { post } from '../../api/client.ts';
import type { Run } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { note } from '../../ui/toast.tsx';

export function EndRun({ of: { id, purpose, state } }: { of: Run }) {
  const may = useMay();
  const refresh = useRefresh();
  if (state !== 'active' || !may('runs:write')) return null;
  async function end() {
    await post(`/v1/runs/${id}/end`);
    await refresh('runs', 'approvals', 'access-keys');
    note('The run has ended');
  }
  return (
    <ConfirmButton
      look="plain"
      size="small"
      label="End"
      name={`End ${purpose}`}
      title="End this run?"
      text="Its access keys are revoked, and what waits for approval is cancelled. What was sent already is not taken back."
      action="End"
      onConfirm={end}
    />
  );
}
